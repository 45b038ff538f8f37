// What nvJPEG says about a file before it decodes it. A parser has nothing in common with a decoder
// but its memory, so it works while the decoder is busy or made anew.
// **Thread safety**: one thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "client/gpu_decode/chunks.h"
#include "client/gpu_decode/nvjpeg_handle.h"
#include "client/gpu_decode/taken_kinds.h"
#include "common/base/status.h"

namespace penstock::gpu_decode {

class NvjpegParser {
 public:
  // As NvjpegHandle. Call Start before anything else.
  NvjpegParser(const NvjpegLibrary& library, const RowMakerOptions& options, NvjpegMemory& memory)
      : handle_(library, options, memory) {}
  NvjpegParser(const NvjpegParser&) = delete;
  NvjpegParser& operator=(const NvjpegParser&) = delete;
  ~NvjpegParser();

  // **Errors**: those of NvjpegHandle::Start.
  absl::Status Start();

  // Why nvJPEG does not decode this file to an image of this size, as far as its header tells;
  // empty if it does. nvJPEG itself is asked only about files with an unusual header or another
  // size than this, and about kinds that it has not taken before.
  std::string Objection(std::span<const std::byte> file, const ImageSize& size);

 private:
  std::string Ask(std::span<const std::byte> file, const ImageSize& size);

  NvjpegHandle handle_;
  TakenKinds taken_;
  nvjpeg::Bitstream bitstream_ = nullptr;
};

}  // namespace penstock::gpu_decode
