// Loaded into a daemon with LD_PRELOAD: breaks its GPU, as a damaged card or driver would. Once the
// file $PENSTOCK_GPU_FAULT exists, a thread launches a kernel in the daemon's context that writes
// to an invalid address. From then on, every CUDA call of the process fails.
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

constexpr char kKernel[] = R"(
.version 7.0
.target sm_52
.address_size 64
.visible .entry fault() {
  .reg .u64 %where;
  .reg .u32 %what;
  mov.u64 %where, 16;
  mov.u32 %what, 1;
  st.global.u32 [%where], %what;
  ret;
}
)";

template <typename Function>
void Call(void* driver, const char* name, auto... arguments) {
  const auto function = reinterpret_cast<Function>(dlsym(driver, name));
  const CUresult result = function == nullptr ? CUDA_ERROR_NOT_FOUND : function(arguments...);
  if (result != CUDA_SUCCESS) std::fprintf(stderr, "gpu fault: %s: %d\n", name, result);
}

void Break() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  Call<decltype(&cuDevicePrimaryCtxRetain)>(driver, "cuDevicePrimaryCtxRetain", &context, 0);
  Call<decltype(&cuCtxSetCurrent)>(driver, "cuCtxSetCurrent", context);
  Call<decltype(&cuModuleLoadData)>(driver, "cuModuleLoadData", &module, kKernel);
  Call<decltype(&cuModuleGetFunction)>(driver, "cuModuleGetFunction", &kernel, module, "fault");
  Call<decltype(&cuLaunchKernel)>(driver, "cuLaunchKernel", kernel, 1u, 1u, 1u, 1u, 1u, 1u, 0u,
                                  nullptr, nullptr, nullptr);
}

void BreakWhenAsked(const char* file) {
  while (access(file, F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  Break();
}

[[gnu::constructor]] void Begin() {
  const char* const file = std::getenv("PENSTOCK_GPU_FAULT");
  if (file == nullptr || std::strcmp(program_invocation_short_name, "penstockd") != 0) return;
  std::thread(BreakWhenAsked, file).detach();
}

}  // namespace
