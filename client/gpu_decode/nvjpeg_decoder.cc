#include "client/gpu_decode/nvjpeg_decoder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/gpu_decode/filler.h"
#include "common/base/divide.h"
#include "common/cuda/registration.h"

namespace penstock::gpu_decode {
namespace {

constexpr int kCpuThreads = 1;  // the CUDA backend's, in the caller's process
constexpr uint64_t kFillerPitch = 256;
// nvJPEG gives each of an H200's seven engines two images of a call at once. The thread that calls
// it spins until there is room for the next ones, so calls have no more.
constexpr uint64_t kMostOfCall = 14;

// The images of each call of a chunk: as many calls as are needed, all equally large.
uint64_t ImagesOfCall(uint64_t max_chunk) {
  return base::DivideUp(max_chunk, base::DivideUp(max_chunk, kMostOfCall));
}

}  // namespace

absl::StatusOr<std::shared_ptr<NvjpegDecoder>> NvjpegDecoder::Make(const DecodeDevice& device,
                                                                   const NvjpegLibrary& library,
                                                                   const RowMakerOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<DecodeDevice> first, device.WithOwnStream());
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<DecodeDevice> second, device.WithOwnStream());
  std::shared_ptr<NvjpegDecoder> made(
      new NvjpegDecoder(std::move(first), std::move(second), library, options));
  const base::MutexLock lock(made->mutex_);
  PENSTOCK_RETURN_IF_ERROR(made->Restart());
  return made;
}

NvjpegDecoder::NvjpegDecoder(std::unique_ptr<DecodeDevice> first,
                             std::unique_ptr<DecodeDevice> second, const NvjpegLibrary& library,
                             const RowMakerOptions& options)
    : library_(library),
      options_(options),
      memory_(*first, options.nvjpeg_bytes),
      handle_(library, options, memory_),
      lanes_{Lane{.device = std::move(first)}, Lane{.device = std::move(second)}} {}

NvjpegDecoder::~NvjpegDecoder() {
  const base::MutexLock lock(mutex_);
  static_cast<void>(AwaitAll());  // a destructor cannot report an error
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
  if (!is_made_) PENSTOCK_RETURN_IF_ERROR(Restart());
  const absl::Status begun = Begin(items, meanwhile);
  // What nvJPEG enqueued before it failed still runs in its memory, so we wait in any case.
  PENSTOCK_RETURN_IF_ERROR(AwaitAll());
  if (!begun.ok()) PENSTOCK_RETURN_IF_ERROR(Restart());
  return std::string(begun.message());
}

// Makes the calls, by turns on the lanes.
absl::Status NvjpegDecoder::Begin(std::span<const DecodeItem> items,
                                  absl::FunctionRef<void()> meanwhile) {
  if (items.size() == 1) {
    PENSTOCK_RETURN_IF_ERROR(Enqueue(items, 1, lanes_.front()));
    meanwhile();
    return absl::OkStatus();
  }
  const size_t images = ImagesOfCall(options_.max_chunk);
  for (size_t call = 0; !items.empty(); ++call) {
    if (call == lanes_.size()) meanwhile();
    const auto now = items.first(std::min(images, items.size()));
    PENSTOCK_RETURN_IF_ERROR(Enqueue(now, images, lanes_.at(call % lanes_.size())));
    items = items.subspan(now.size());
    if (items.empty() && call < lanes_.size()) meanwhile();
  }
  return absl::OkStatus();
}

void NvjpegDecoder::Destroy() {
  for (Lane& lane : lanes_) {
    if (lane.state != nullptr) library_.calls.destroy_state(lane.state);
    lane.state = nullptr;
    lane.prepared = 0;
  }
  is_made_ = false;
  handle_.Stop();
}

absl::Status NvjpegDecoder::Restart() {
  Destroy();
  if (filler_ == nullptr)
    filler_ = static_cast<uint8_t*>(memory_.device.Allocate(kFillerSide * kFillerPitch));
  if (filler_ == nullptr)
    return absl::ResourceExhaustedError("the GPU has no memory for a decoder; free some");
  PENSTOCK_RETURN_IF_ERROR(handle_.Start());
  for (Lane& lane : lanes_) {
    nvjpeg::State state = nullptr;
    PENSTOCK_RETURN_IF_ERROR(handle_.Check(library_.calls.create_state(handle_.get(), &state),
                                           "making a decoder's state"));
    lane.state = state;
  }
  is_made_ = true;
  return absl::OkStatus();
}

absl::Status NvjpegDecoder::Prepare(Lane& lane, size_t images) {
  if (lane.prepared == images) return absl::OkStatus();
  lane.prepared = 0;
  PENSTOCK_RETURN_IF_ERROR(handle_.Check(
      library_.calls.initialize_batched(handle_.get(), lane.state, static_cast<int>(images),
                                        kCpuThreads, nvjpeg::kRgbInterleaved),
      absl::StrCat("preparing to decode ", images, " images")));
  lane.prepared = images;
  return absl::OkStatus();
}

void NvjpegDecoder::Lane::Add(std::span<const std::byte> file, uint8_t* pixels, uint64_t pitch) {
  // nvJPEG copies a file to the GPU by one call, which CUDA refuses across the border.
  if (cuda::ToRegistrationBorder(file.data(), file.size()) < file.size())
    file = across.emplace_back(file.begin(), file.end());
  data.push_back(ToNvjpeg(file));
  bytes.push_back(file.size());
  images.push_back({.channel = {pixels}, .pitch = {pitch}});
}

absl::Status NvjpegDecoder::Lane::Await() {
  if (is_busy) PENSTOCK_RETURN_IF_ERROR(device->Synchronize());
  is_busy = false;
  return absl::OkStatus();
}

// Waits for all lanes, whatever happened to the first.
absl::Status NvjpegDecoder::AwaitAll() {
  absl::Status all;
  for (Lane& lane : lanes_) all.Update(lane.Await());
  return all;
}

absl::Status NvjpegDecoder::Enqueue(std::span<const DecodeItem> items, size_t images, Lane& lane) {
  PENSTOCK_RETURN_IF_ERROR(lane.Await());  // asleep, where nvJPEG would spin
  PENSTOCK_RETURN_IF_ERROR(Prepare(lane, images));
  lane.data.clear();
  lane.bytes.clear();
  lane.images.clear();
  lane.across.clear();
  for (const DecodeItem& item : items) lane.Add(item.file, item.pixels, item.pitch);
  while (lane.images.size() < images)
    lane.Add(std::as_bytes(std::span(kFillerFile)), filler_, kFillerPitch);
  lane.is_busy = true;
  return handle_.Check(
      library_.calls.decode_batched(handle_.get(), lane.state, lane.data.data(), lane.bytes.data(),
                                    lane.images.data(), lane.device->stream()),
      absl::StrCat("decoding ", items.size(), " images"));
}

}  // namespace penstock::gpu_decode
