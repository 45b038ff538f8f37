#include "tests/support/gpu_decode/emulated_device.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/mutex.h"
#include "tests/support/gpu_decode/emulated_cuda.h"
// After the header that emulates their language.
#include "client/gpu_decode/marks.cuh"
#include "client/gpu_decode/rows.cuh"

namespace penstock::testing {
namespace {

using gpu_decode::KernelLaunch;
using gpu_decode::MarksLaunch;

// Fewer blocks than on a GPU, so that they loop.
constexpr uint32_t kBlocksAcross = 3;

class EmulatedDevice final : public gpu_decode::DecodeDevice {
 public:
  explicit EmulatedDevice(DeviceLog& log) : log_(log) {}

  absl::StatusOr<std::unique_ptr<gpu_decode::DecodeDevice>> WithOwnStream() const override {
    return MakeEmulatedDevice(log_);
  }
  cuda::StreamHandle stream() const override { return nullptr; }

  void* Allocate(size_t bytes) override {
    if (bytes > log_.memory_limit - log_.bytes_in_use) return nullptr;
    log_.bytes_in_use += bytes;
    return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  }

  void Release(void* memory, size_t bytes) override {
    log_.bytes_in_use -= bytes;
    std::free(memory);
  }

  void* AllocatePinned(size_t bytes) override {
    ++log_.pinned_blocks;
    return std::malloc(bytes);
  }

  void ReleasePinned(void* memory) override {
    --log_.pinned_blocks;
    std::free(memory);
  }

  absl::Status CopyIn(void* device, const std::byte* host, size_t bytes) override {
    return Enqueue([=] { memcpy(device, host, bytes); });
  }

  absl::Status CopyOut(std::byte* pinned, const void* device, size_t bytes) override {
    return Enqueue([=] { memcpy(pinned, device, bytes); });
  }

  absl::Status Clear(void* device, size_t bytes) override {
    return Enqueue([=] { memset(device, 0, bytes); });
  }

  absl::Status MakeRows(const KernelLaunch& launch) override {
    ++log_.launches;
    return Enqueue([=] {
      const auto run = [&](auto* make) {
        RunEmulated({std::min(launch.max_tiles, kBlocksAcross), launch.row_count},
                    gpu_decode::device::kRowThreads, [&] { make(launch.rows, launch.tables); });
      };
      if (launch.any_plain) run(gpu_decode::device::MakeRows<true>);
      if (launch.any_other) run(gpu_decode::device::MakeRows<false>);
    });
  }

  absl::Status SetMarks(const MarksLaunch& launch) override {
    return Enqueue([=] {
      RunEmulated({kBlocksAcross, launch.count}, gpu_decode::device::kMarkThreads,
                  [&] { gpu_decode::device::SetMarks(launch); });
    });
  }

  absl::Status CountMarks(const MarksLaunch& launch) override {
    return Enqueue([=] {
      RunEmulated({kBlocksAcross, launch.count}, gpu_decode::device::kMarkThreads,
                  [&] { gpu_decode::device::CountMarks(launch); });
    });
  }

  absl::Status Synchronize() override {
    ++log_.synchronisations;
    if (log_.sync_fails) return absl::InternalError("the GPU has failed");
    static base::Mutex one_at_a_time;  // emulated threads share what CUDA's language has once
    const base::MutexLock lock(one_at_a_time);
    for (const auto& work : std::exchange(enqueued_, {})) work();
    return absl::OkStatus();
  }

 private:
  absl::Status Enqueue(std::function<void()> work) {
    enqueued_.push_back(std::move(work));
    return absl::OkStatus();
  }

  DeviceLog& log_;
  std::vector<std::function<void()>> enqueued_;  // until the host waits
};

}  // namespace

std::unique_ptr<gpu_decode::DecodeDevice> MakeEmulatedDevice(DeviceLog& log) {
  return std::make_unique<EmulatedDevice>(log);
}

}  // namespace penstock::testing
