#include "client/gpu_decode/nvjpeg.h"

#include <dlfcn.h>

#include <vector>

namespace penstock::gpu_decode {
namespace {

constexpr char kRemedy[] =
    "install nvJPEG (the Python package nvidia-nvjpeg or nvidia-nvjpeg-cu12, or the CUDA toolkit's "
    "libnvjpeg), give its path, or decode on the CPU";

std::string LoaderError() {
  const char* error = dlerror();
  return error != nullptr ? error : "unknown error";
}

// RTLD_NODELETE: nvJPEG keeps CUDA state that must not disappear before CUDA itself ends.
void* Open(const std::string& name, std::vector<std::string>& errors) {
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) errors.push_back(LoaderError());
  return library;
}

absl::StatusOr<void*> OpenFirst(const std::string& path) {
  const std::vector<std::string> names =
      path.empty() ? std::vector<std::string>{"libnvjpeg.so.13", "libnvjpeg.so.12"}
                   : std::vector<std::string>{path};
  std::vector<std::string> errors;
  for (const std::string& name : names) {
    if (void* const library = Open(name, errors)) return library;
  }
  std::string tried;
  for (const std::string& error : errors) absl::StrAppend(&tried, tried.empty() ? "" : "; ", error);
  return absl::FailedPreconditionError(
      absl::StrCat("nvJPEG cannot be loaded: ", tried, "; ", kRemedy));
}

// Looks functions up and remembers the first that is missing.
class SymbolReader {
 public:
  explicit SymbolReader(void* library) : library_(library) {}

  template <typename Function>
  void Read(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }

  const std::string& missing() const { return missing_; }

 private:
  void* const library_;
  std::string missing_;
};

absl::StatusOr<nvjpeg::Calls> ReadCalls(void* library) {
  nvjpeg::Calls calls = {};
  SymbolReader reader(library);
  reader.Read("nvjpegGetProperty", calls.get_property);
  reader.Read("nvjpegCreateExV2", calls.create);
  reader.Read("nvjpegDestroy", calls.destroy);
  reader.Read("nvjpegJpegStateCreate", calls.create_state);
  reader.Read("nvjpegJpegStateDestroy", calls.destroy_state);
  reader.Read("nvjpegJpegStreamCreate", calls.create_bitstream);
  reader.Read("nvjpegJpegStreamDestroy", calls.destroy_bitstream);
  reader.Read("nvjpegJpegStreamParseHeader", calls.parse_header);
  reader.Read("nvjpegJpegStreamGetFrameDimensions", calls.frame_dimensions);
  reader.Read("nvjpegDecodeBatchedSupported", calls.batched_supported);
  reader.Read("nvjpegDecodeBatchedInitialize", calls.initialize_batched);
  reader.Read("nvjpegDecodeBatched", calls.decode_batched);
  if (reader.missing().empty()) return calls;
  return absl::FailedPreconditionError(
      absl::StrCat("nvJPEG has no function ", reader.missing(), ": it is too old; ", kRemedy));
}

absl::StatusOr<std::string> ReadVersion(const nvjpeg::Calls& calls) {
  std::string version;
  for (const auto property : {nvjpeg::kMajorVersion, nvjpeg::kMinorVersion, nvjpeg::kPatchLevel}) {
    int value = 0;
    if (const nvjpeg::Code code = calls.get_property(property, &value)) {
      return absl::FailedPreconditionError(
          absl::StrCat("nvJPEG does not tell its version: ", nvjpeg::ToText(code)));
    }
    absl::StrAppend(&version, version.empty() ? "" : ".", value);
  }
  return version;
}

}  // namespace

absl::StatusOr<NvjpegLibrary> NvjpegLibrary::Load(const std::string& path) {
  NvjpegLibrary loaded;
  PENSTOCK_ASSIGN_OR_RETURN(void* const library, OpenFirst(path));
  PENSTOCK_ASSIGN_OR_RETURN(loaded.calls, ReadCalls(library));
  PENSTOCK_ASSIGN_OR_RETURN(loaded.version, ReadVersion(loaded.calls));
  return loaded;
}

namespace nvjpeg {

const char* ToText(Code code) {
  switch (code) {
    case kSuccess:
      return "success";
    case kNotInitialized:
      return "not initialized";
    case kInvalidParameter:
      return "invalid parameter";
    case kBadJpeg:
      return "bad JPEG";
    case kJpegNotSupported:
      return "JPEG not supported";
    case kAllocatorFailure:
      return "out of memory";
    case kExecutionFailed:
      return "execution failed";
    case kArchMismatch:
      return "this GPU has no JPEG engines that this process may use";
    case kInternalError:
      return "internal error";
    case kImplementationNotSupported:
      return "implementation not supported";
    case kIncompleteBitstream:
      return "incomplete bitstream";
  }
  return "unknown error";
}

}  // namespace nvjpeg
}  // namespace penstock::gpu_decode
