// A device that lies in host memory and runs the kernels' source on the CPU. With the fake nvJPEG
// (fake_nvjpeg.h), rows are made without a GPU. What is enqueued runs only when the host waits,
// while the fake nvJPEG writes at once, as the engines do: rows are wrong if anything relies on
// their order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "client/gpu_decode/decode_device.h"

namespace penstock::testing {

// What happens on the device, on all its streams, for tests that look at it or break it.
struct DeviceLog {
  std::atomic<size_t> bytes_in_use = 0;
  std::atomic<int> pinned_blocks = 0;
  std::atomic<int> launches = 0;  // of the kernel that makes rows
  std::atomic<int> synchronisations = 0;
  std::atomic<size_t> memory_limit = SIZE_MAX;
  std::atomic<bool> sync_fails = false;
};

// `log` outlives the device. Any thread may make one; one thread uses it.
std::unique_ptr<gpu_decode::DecodeDevice> MakeEmulatedDevice(DeviceLog& log);

}  // namespace penstock::testing
