#include "tests/bench/copy_decode.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/decode/core/placement.h"
#include "tests/bench/harness/measure.h"

namespace penstock::bench {
namespace {

constexpr size_t kMostFiles = 256;

decode::DrawKey KeyOf(size_t row) { return {.seed = 1, .epoch = 0, .sample = row}; }

}  // namespace

absl::StatusOr<std::unique_ptr<CopyDecode>> CopyDecode::Make(const Photographs& photographs) {
  std::unique_ptr<CopyDecode> made(new CopyDecode);
  PENSTOCK_RETURN_IF_ERROR(made->Prepare(photographs));
  return made;
}

absl::Status CopyDecode::Prepare(const Photographs& photographs) {
  PENSTOCK_ASSIGN_OR_RETURN(stream_, cuda::Stream::Make(cuda::StreamPriority::kLow));
  gpu_decode::RowMakerOptions options;
  options.stream = stream_.get();
  PENSTOCK_ASSIGN_OR_RETURN(gpu_decode::RowMaker maker, gpu_decode::RowMaker::Make(options));
  maker_ = std::make_unique<gpu_decode::RowMaker>(std::move(maker));
  const size_t bytes = decode::PixelBytes(spec_) * kRows;
  PENSTOCK_ASSIGN_OR_RETURN(rows_, cuda::PinnedMemory::Make(bytes));
  PENSTOCK_ASSIGN_OR_RETURN(target_, cuda::DeviceMemory::Make(bytes));
  PENSTOCK_ASSIGN_OR_RETURN(const auto loaded, photographs.Load(kMostFiles));
  PENSTOCK_RETURN_IF_ERROR(Pin(loaded));
  return KeepWhatBothDecode();
}

absl::Status CopyDecode::Pin(const std::vector<std::vector<std::byte>>& loaded) {
  size_t bytes = 0;
  for (const std::vector<std::byte>& file : loaded) bytes += file.size();
  PENSTOCK_ASSIGN_OR_RETURN(pinned_, cuda::PinnedMemory::Make(bytes));
  std::byte* at = pinned_.data();
  for (const std::vector<std::byte>& file : loaded) {
    if (!decoder_.ReadSize(file, spec_)) {
      ++left_out_;
      continue;
    }
    std::memcpy(at, file.data(), file.size());
    files_.emplace_back(at, file.size());
    at += file.size();
  }
  return absl::OkStatus();
}

absl::Status CopyDecode::KeepWhatBothDecode() {
  std::vector<std::span<const std::byte>> kept;
  std::vector<gpu_decode::RowInput> inputs;
  for (size_t i = 0; i < files_.size(); ++i) inputs.push_back(Input(i));
  PENSTOCK_ASSIGN_OR_RETURN(const auto outcomes,
                            maker_->MakeRows({inputs, spec_.height, spec_.width,
                                              reinterpret_cast<uint8_t*>(target_.data())}));
  const std::span<std::byte> row(rows_.data(), decode::PixelBytes(spec_));
  for (size_t i = 0; i < files_.size(); ++i) {
    if (outcomes[i].result == gpu_decode::RowResult::kOk &&
        decoder_.DecodeRow(files_[i], spec_, KeyOf(i), row) == base::Fault::kNone)
      kept.push_back(files_[i]);
  }
  left_out_ += files_.size() - kept.size();
  files_ = std::move(kept);
  if (!files_.empty()) return absl::OkStatus();
  return absl::DataLossError("no photograph is decoded by both the CPU and the GPU");
}

gpu_decode::RowInput CopyDecode::Input(size_t row) const {
  const std::span<const std::byte> file = files_[row % files_.size()];
  decode::Decoder decoder((decode::SampleLimits()));
  const auto size = decoder.ReadSize(file, spec_);  // was read before
  const decode::Draw draw = DrawFor(spec_, KeyOf(row), size->width, size->height);
  const decode::Placement placement = Place(spec_, draw);
  return {.jpeg = {.file = file,
                   .width = size->width,
                   .height = size->height,
                   .left = placement.crop.x,
                   .top = placement.crop.y,
                   .x = placement.x,
                   .y = placement.y,
                   .flip = placement.flip,
                   .interpolation = placement.interpolation}};
}

absl::StatusOr<double> CopyDecode::GpuRate(int batches) {
  std::vector<gpu_decode::RowInput> inputs;
  for (size_t row = 0; row < kRows; ++row) inputs.push_back(Input(row));
  const gpu_decode::RowBatch batch = {inputs, spec_.height, spec_.width,
                                      reinterpret_cast<uint8_t*>(target_.data())};
  const Stopwatch watch(Time::kWall);
  for (int i = 0; i < batches; ++i) {
    PENSTOCK_ASSIGN_OR_RETURN(const auto outcomes, maker_->MakeRows(batch));
    for (const gpu_decode::RowOutcome& outcome : outcomes) {
      if (outcome.result != gpu_decode::RowResult::kOk)
        return absl::DataLossError(absl::StrCat("decoded before, and now: ", outcome.why));
    }
  }
  return batches * static_cast<double>(kRows) / watch.Seconds();
}

absl::StatusOr<double> CopyDecode::CpuRate(int batches) {
  const size_t bytes = decode::PixelBytes(spec_);
  const Stopwatch watch(Time::kWall);
  for (int i = 0; i < batches; ++i) {
    for (size_t row = 0; row < kCpuRows; ++row) {
      const base::Fault fault = decoder_.DecodeRow(files_[row % files_.size()], spec_, KeyOf(row),
                                                   {rows_.data() + row * bytes, bytes});
      if (fault != base::Fault::kNone)
        return absl::DataLossError(absl::StrCat("decoded before, and now ", FaultName(fault)));
    }
    PENSTOCK_RETURN_IF_ERROR(
        cuda::CopyToDevice(target_.data(), rows_.data(), kCpuRows * bytes, stream_.get()));
    PENSTOCK_RETURN_IF_ERROR(cuda::Synchronize(stream_.get()));
  }
  return batches * static_cast<double>(kCpuRows) / watch.Seconds();
}

}  // namespace penstock::bench
