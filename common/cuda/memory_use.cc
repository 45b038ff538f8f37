#include "common/cuda/memory_use.h"

#include <dlfcn.h>

#include <memory>

namespace penstock::cuda {
namespace {

// As in nvml.h; the numbers are part of the library's ABI.
using Handle = void*;
struct Memory {
  unsigned long long total, free, used;
};
using InitFunction = int (*)();
using FindFunction = int (*)(const char* uuid, Handle* device);
using MemoryFunction = int (*)(Handle device, Memory* memory);

struct Close {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, Close>;

template <typename Function>
Function Find(const Library& library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library.get(), name));
}

}  // namespace

absl::StatusOr<uint64_t> UsedBytes(const Uuid& uuid) {
  const Library library(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr) return absl::UnavailableError("there is no libnvidia-ml.so.1");
  const auto init = Find<InitFunction>(library, "nvmlInit_v2");
  const auto find = Find<FindFunction>(library, "nvmlDeviceGetHandleByUUID");
  const auto memory_of = Find<MemoryFunction>(library, "nvmlDeviceGetMemoryInfo");
  const auto shutdown = Find<InitFunction>(library, "nvmlShutdown");
  if (init == nullptr || find == nullptr || memory_of == nullptr || shutdown == nullptr)
    return absl::UnavailableError("libnvidia-ml.so.1 lacks a function");
  if (const int failed = init(); failed != 0)
    return absl::UnavailableError(absl::StrCat("nvmlInit_v2 failed with ", failed));
  Handle device = nullptr;
  Memory memory = {};
  int failed = find(uuid.ToString().c_str(), &device);
  if (failed == 0) failed = memory_of(device, &memory);
  shutdown();
  if (failed != 0)
    return absl::UnavailableError(absl::StrCat("NVML says ", failed, " of ", uuid.ToString()));
  return memory.used;
}

}  // namespace penstock::cuda
