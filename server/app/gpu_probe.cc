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
    return;
  }
  usable_.store(true, std::memory_order_relaxed);
  PENSTOCK_LOG(kInfo, "gpus", {"count", devices->size()}, {"versions", cuda::Versions()});
}

}  // namespace penstock::app
