// Which GPU a session shall deliver to, and whether it may do without. Pure but for the list of
// devices, which is the caller's. Any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/cuda/device.h"
#include "penstock/penstock.h"

namespace penstock::client {

struct DeviceChoice {
  std::optional<cuda::Device> device;  // none: host memory
  bool or_host = false;                // "auto": host memory where the GPU cannot be delivered to
  std::string reason;                  // of `device`, or why there is none, in words
};

// What is visible, and what is current on this thread.
struct VisibleDevices {
  std::vector<cuda::Device> devices;
  int current = 0;
};

// `look` is asked unless the session wants host memory: then CUDA is not touched. InvalidArgument:
// the options contradict each other, or name no device; else as `look`.
absl::StatusOr<DeviceChoice> ChooseDevice(
    const SessionOptions& options, const std::function<absl::StatusOr<VisibleDevices>()>& look);

// By CUDA.
absl::StatusOr<VisibleDevices> LookForDevices();

}  // namespace penstock::client
