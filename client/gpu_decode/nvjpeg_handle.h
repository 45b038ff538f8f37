// nvJPEG with an allocator of ours: what its decoder and its parsers are made of.
// **Thread safety**: any thread.
#pragma once

#include <span>

#include "client/gpu_decode/counted_memory.h"
#include "client/gpu_decode/nvjpeg.h"
#include "client/gpu_decode/row_maker.h"
#include "common/base/status.h"

namespace penstock::gpu_decode {

// nvJPEG's memory, whose limit is RowMakerOptions::nvjpeg_bytes for each kind.
struct NvjpegMemory {
  NvjpegMemory(DecodeDevice& device, uint64_t limit_bytes)
      : device(device, CountedMemory::Kind::kDevice, limit_bytes),
        pinned(device, CountedMemory::Kind::kPinned, limit_bytes) {}

  CountedMemory device;
  CountedMemory pinned;
};

class NvjpegHandle {
 public:
  // `memory` outlives the handle. Call Start before anything else.
  NvjpegHandle(const NvjpegLibrary& library, const RowMakerOptions& options, NvjpegMemory& memory);
  NvjpegHandle(const NvjpegHandle&) = delete;
  NvjpegHandle& operator=(const NvjpegHandle&) = delete;
  ~NvjpegHandle() { Stop(); }

  // **Errors**: FailedPrecondition: no engines here; ResourceExhausted: no memory.
  absl::Status Start();
  void Stop();

  nvjpeg::Handle get() const { return handle_; }  // null unless started
  const nvjpeg::Calls& calls() const { return library_.calls; }

  // `what` failed, in words, unless the code is a success.
  absl::Status Check(nvjpeg::Code code, absl::string_view what) const;

 private:
  const NvjpegLibrary library_;
  const nvjpeg::Backend backend_;
  const nvjpeg::Flags flags_;
  nvjpeg::DeviceMemoryCalls memory_calls_;
  nvjpeg::PinnedMemoryCalls pinned_calls_;
  nvjpeg::Handle handle_ = nullptr;
};

inline const unsigned char* ToNvjpeg(std::span<const std::byte> file) {
  return reinterpret_cast<const unsigned char*>(file.data());
}

}  // namespace penstock::gpu_decode
