// NVIDIA's JPEG library, loaded at run time: nothing links it, so a client without it still runs.
// **Thread safety**: any thread.
#pragma once

#include <string>

#include "client/gpu_decode/nvjpeg_abi.h"
#include "common/base/status.h"

namespace penstock::gpu_decode {

// The library's functions. A loaded library is never unloaded, so this is a plain value.
struct NvjpegLibrary {
  nvjpeg::Calls calls = {};
  std::string version;  // such as "13.0.1"

  // Loads the library at `path`, or, if that is empty, libnvjpeg.so.13, else libnvjpeg.so.12.
  //
  // **Errors**: FailedPrecondition says what was tried and what to install.
  static absl::StatusOr<NvjpegLibrary> Load(const std::string& path);
};

}  // namespace penstock::gpu_decode
