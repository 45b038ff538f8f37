#include "client/gpu_decode/nvjpeg_decoder.h"

#include "client/gpu_decode/filler.h"
#include "common/cuda/registration.h"

namespace penstock::gpu_decode {
namespace {

constexpr int kCpuThreads = 1;  // the CUDA backend's, in the caller's process
constexpr uint64_t kFillerPitch = 256;
constexpr int kAllocated = 0, kNotAllocated = 2;  // as cudaSuccess and cudaErrorMemoryAllocation

int AllocateCounted(void* context, void** memory, size_t bytes, void*) {
  *memory = static_cast<CountedMemory*>(context)->Allocate(bytes);
  return *memory != nullptr ? kAllocated : kNotAllocated;
}

int ReleaseCounted(void* context, void* memory, size_t, void*) {
  static_cast<CountedMemory*>(context)->Release(memory);
  return kAllocated;
}

const unsigned char* Bytes(std::span<const std::byte> file) {
  return reinterpret_cast<const unsigned char*>(file.data());
}

}  // namespace

NvjpegDecoder::NvjpegDecoder(const NvjpegLibrary& library, const RowMakerOptions& options,
                             CountedMemory& memory, CountedMemory& pinned,
                             cuda::StreamHandle stream)
    : library_(library),
      backend_(options.backend == JpegBackend::kEngines ? nvjpeg::kHardware : nvjpeg::kGpuHybrid),
      flags_(options.chroma == JpegChroma::kInterpolated ? nvjpeg::kInterpolatedUpsampling
                                                         : nvjpeg::kNoFlags),
      most_images_(options.max_chunk),
      stream_(stream),
      memory_(memory),
      memory_calls_{AllocateCounted, ReleaseCounted, &memory},
      pinned_calls_{AllocateCounted, ReleaseCounted, &pinned} {}

NvjpegDecoder::~NvjpegDecoder() {
  Destroy();
  memory_.Release(filler_);
}

void NvjpegDecoder::Destroy() {
  if (bitstream_ != nullptr) library_.calls.destroy_bitstream(bitstream_);
  if (state_ != nullptr) library_.calls.destroy_state(state_);
  if (handle_ != nullptr) library_.calls.destroy(handle_);
  bitstream_ = nullptr;
  state_ = nullptr;
  handle_ = nullptr;
  prepared_ = 0;
}

absl::Status NvjpegDecoder::Check(nvjpeg::Code code, absl::string_view what) const {
  if (code == nvjpeg::kSuccess) return absl::OkStatus();
  const std::string message =
      absl::StrCat("nvJPEG ", library_.version, ": ", what, ": ", nvjpeg::ToText(code));
  if (code == nvjpeg::kAllocatorFailure) return absl::ResourceExhaustedError(message);
  if (code == nvjpeg::kArchMismatch) {
    return absl::FailedPreconditionError(
        absl::StrCat(message,
                     "; A100, H100, H200 and later have engines, and a container needs the "
                     "driver capability \"video\"; or decode on the CPU"));
  }
  return absl::InternalError(message);
}

absl::Status NvjpegDecoder::Restart() {
  Destroy();
  if (filler_ == nullptr)
    filler_ = static_cast<uint8_t*>(memory_.Allocate(kFillerSide * kFillerPitch));
  if (filler_ == nullptr)
    return absl::ResourceExhaustedError("the GPU has no memory for a decoder; free some");
  const nvjpeg::Calls& calls = library_.calls;
  PENSTOCK_RETURN_IF_ERROR(
      Check(calls.create(backend_, &memory_calls_, &pinned_calls_, flags_, &handle_),
            "making a decoder"));
  PENSTOCK_RETURN_IF_ERROR(Check(calls.create_state(handle_, &state_), "making a decoder's state"));
  return Check(calls.create_bitstream(handle_, &bitstream_), "making a parser");
}

std::string NvjpegDecoder::Objection(std::span<const std::byte> file, const ImageSize& size) {
  const nvjpeg::Calls& calls = library_.calls;
  if (file.empty()) return "the file is empty";
  if (const nvjpeg::Code code = calls.parse_header(handle_, Bytes(file), file.size(), bitstream_)) {
    return absl::StrCat("nvJPEG cannot parse its header: ", nvjpeg::ToText(code));
  }
  unsigned int width = 0, height = 0;
  if (const nvjpeg::Code code = calls.frame_dimensions(bitstream_, &width, &height)) {
    return absl::StrCat("its header has no size: ", nvjpeg::ToText(code));
  }
  if (width != size.width || height != size.height) {
    return absl::StrCat("its size differs from the one announced: got ", width, " x ", height,
                        ", expected ", size.width, " x ", size.height);
  }
  int unsupported = 0;
  if (const nvjpeg::Code code = calls.batched_supported(handle_, bitstream_, &unsupported)) {
    return absl::StrCat("nvJPEG does not tell whether it decodes it: ", nvjpeg::ToText(code));
  }
  return unsupported == 0 ? "" : "nvJPEG does not decode this kind of JPEG here";
}

absl::Status NvjpegDecoder::Prepare(size_t images) {
  if (prepared_ == images) return absl::OkStatus();
  prepared_ = 0;
  PENSTOCK_RETURN_IF_ERROR(
      Check(library_.calls.initialize_batched(handle_, state_, static_cast<int>(images),
                                              kCpuThreads, nvjpeg::kRgbInterleaved),
            absl::StrCat("preparing to decode ", images, " images")));
  prepared_ = images;
  return absl::OkStatus();
}

void NvjpegDecoder::Add(std::span<const std::byte> file, uint8_t* pixels, uint64_t pitch) {
  // nvJPEG copies a file to the GPU by one call, which CUDA refuses across the border.
  if (cuda::ToRegistrationBorder(file.data(), file.size()) < file.size())
    file = across_.emplace_back(file.begin(), file.end());
  data_.push_back(Bytes(file));
  bytes_.push_back(file.size());
  images_.push_back({.channel = {pixels}, .pitch = {pitch}});
}

absl::Status NvjpegDecoder::Decode(std::span<const DecodeItem> items) {
  const size_t images = items.size() == 1 ? 1 : most_images_;
  PENSTOCK_RETURN_IF_ERROR(Prepare(images));
  data_.clear();
  bytes_.clear();
  images_.clear();
  across_.clear();
  for (const DecodeItem& item : items) Add(item.file, item.pixels, item.pitch);
  while (images_.size() < images) Add(std::as_bytes(std::span(kFillerFile)), filler_, kFillerPitch);
  return Check(library_.calls.decode_batched(handle_, state_, data_.data(), bytes_.data(),
                                             images_.data(), stream_),
               absl::StrCat("decoding ", items.size(), " images"));
}

}  // namespace penstock::gpu_decode
