#include "client/gpu_decode/nvjpeg_decoder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/gpu_decode/filler.h"
#include "common/cuda/registration.h"

namespace penstock::gpu_decode {
namespace {

constexpr int kCpuThreads = 1;  // the CUDA backend's, in the caller's process
constexpr uint64_t kFillerPitch = 256;

}  // namespace

absl::StatusOr<std::shared_ptr<NvjpegDecoder>> NvjpegDecoder::Make(
    std::unique_ptr<DecodeDevice> device, const NvjpegLibrary& library,
    const RowMakerOptions& options) {
  std::shared_ptr<NvjpegDecoder> made(new NvjpegDecoder(std::move(device), library, options));
  const base::MutexLock lock(made->mutex_);
  PENSTOCK_RETURN_IF_ERROR(made->Restart());
  return made;
}

NvjpegDecoder::NvjpegDecoder(std::unique_ptr<DecodeDevice> device, const NvjpegLibrary& library,
                             const RowMakerOptions& options)
    : device_(std::move(device)),
      library_(library),
      options_(options),
      memory_(*device_, options.nvjpeg_bytes),
      handle_(library, options, memory_) {}

NvjpegDecoder::~NvjpegDecoder() {
  const base::MutexLock lock(mutex_);
  static_cast<void>(device_->Synchronize());  // a destructor cannot report an error
  Destroy();
  memory_.device.Release(filler_);
}

absl::StatusOr<std::unique_ptr<NvjpegParser>> NvjpegDecoder::MakeParser() {
  auto parser = std::make_unique<NvjpegParser>(library_, options_, memory_);
  PENSTOCK_RETURN_IF_ERROR(parser->Start());
  return parser;
}

absl::StatusOr<std::string> NvjpegDecoder::Decode(std::span<const DecodeItem> items,
                                                  absl::FunctionRef<void()> meanwhile) {
  const base::MutexLock lock(mutex_);
  if (state_ == nullptr) PENSTOCK_RETURN_IF_ERROR(Restart());
  const absl::Status enqueued = Enqueue(items);
  if (enqueued.ok()) meanwhile();
  // What nvJPEG enqueued before it failed still runs in its memory, so we wait in any case.
  PENSTOCK_RETURN_IF_ERROR(device_->Synchronize());
  if (!enqueued.ok()) PENSTOCK_RETURN_IF_ERROR(Restart());
  return std::string(enqueued.message());
}

void NvjpegDecoder::Destroy() {
  if (state_ != nullptr) library_.calls.destroy_state(state_);
  state_ = nullptr;
  prepared_ = 0;
  handle_.Stop();
}

absl::Status NvjpegDecoder::Restart() {
  Destroy();
  if (filler_ == nullptr)
    filler_ = static_cast<uint8_t*>(memory_.device.Allocate(kFillerSide * kFillerPitch));
  if (filler_ == nullptr)
    return absl::ResourceExhaustedError("the GPU has no memory for a decoder; free some");
  PENSTOCK_RETURN_IF_ERROR(handle_.Start());
  nvjpeg::State state = nullptr;
  PENSTOCK_RETURN_IF_ERROR(handle_.Check(library_.calls.create_state(handle_.get(), &state),
                                         "making a decoder's state"));
  state_ = state;
  return absl::OkStatus();
}

absl::Status NvjpegDecoder::Prepare(size_t images) {
  if (prepared_ == images) return absl::OkStatus();
  prepared_ = 0;
  PENSTOCK_RETURN_IF_ERROR(handle_.Check(
      library_.calls.initialize_batched(handle_.get(), state_, static_cast<int>(images),
                                        kCpuThreads, nvjpeg::kRgbInterleaved),
      absl::StrCat("preparing to decode ", images, " images")));
  prepared_ = images;
  return absl::OkStatus();
}

void NvjpegDecoder::Add(std::span<const std::byte> file, uint8_t* pixels, uint64_t pitch) {
  // nvJPEG copies a file to the GPU by one call, which CUDA refuses across the border.
  if (cuda::ToRegistrationBorder(file.data(), file.size()) < file.size())
    file = across_.emplace_back(file.begin(), file.end());
  data_.push_back(ToNvjpeg(file));
  bytes_.push_back(file.size());
  images_.push_back({.channel = {pixels}, .pitch = {pitch}});
}

absl::Status NvjpegDecoder::Enqueue(std::span<const DecodeItem> items) {
  const size_t images = items.size() == 1 ? 1 : options_.max_chunk;
  PENSTOCK_RETURN_IF_ERROR(Prepare(images));
  data_.clear();
  bytes_.clear();
  images_.clear();
  across_.clear();
  for (const DecodeItem& item : items) Add(item.file, item.pixels, item.pitch);
  while (images_.size() < images) Add(std::as_bytes(std::span(kFillerFile)), filler_, kFillerPitch);
  return handle_.Check(
      library_.calls.decode_batched(handle_.get(), state_, data_.data(), bytes_.data(),
                                    images_.data(), device_->stream()),
      absl::StrCat("decoding ", items.size(), " images"));
}

}  // namespace penstock::gpu_decode
