#include "server/app/gpu_probe.h"

#include <pthread.h>

#include <string>

#include "common/cuda/device.h"
#include "common/telemetry/log.h"

namespace penstock::app {

GpuProbe::GpuProbe() : thread_([this] { Ask(); }) {}

GpuProbe::~GpuProbe() { thread_.join(); }

void GpuProbe::Ask() {
  pthread_setname_np(pthread_self(), "gpu probe");
  const absl::StatusOr<std::vector<cuda::Device>> devices = cuda::Devices();
  if (!devices.ok()) {
    PENSTOCK_LOG(kInfo, "no_gpu", {"reason", devices.status().message()});
    count_.store(0, std::memory_order_relaxed);
    return;
  }
  count_.store(static_cast<int64_t>(devices->size()), std::memory_order_relaxed);
  PENSTOCK_LOG(kInfo, "gpus", {"count", devices->size()}, {"versions", cuda::Versions()});
}

}  // namespace penstock::app
