// Decides which GPU a session delivers to, and whether host memory is an alternative. Pure, except
// for `look`, which the caller provides.
//
// **Thread safety**: any thread.
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
  bool or_host = false;                // "auto": fall back to host memory
  std::string reason;                  // why `device` was chosen, or why there is none
};

// The devices of this process, and the one that is current on this thread.
struct VisibleDevices {
  std::vector<cuda::Device> devices;
  int current = 0;
};

// Calls `look` unless the session wants host memory, so that CUDA is not touched without need.
//
// **Errors**: InvalidArgument: the options contradict each other, or name no device; else those of
// `look`.
absl::StatusOr<DeviceChoice> ChooseDevice(
    const SessionOptions& options, const std::function<absl::StatusOr<VisibleDevices>()>& look);

// `look` by means of CUDA.
absl::StatusOr<VisibleDevices> LookForDevices();

}  // namespace penstock::client
