// Device memory, or pinned host memory, whose bytes are counted and limited.
// **Thread safety**: any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <unordered_map>

#include "client/gpu_decode/decode_device.h"
#include "common/base/check.h"
#include "common/base/mutex.h"

namespace penstock::gpu_decode {

class CountedMemory {
 public:
  enum class Kind { kDevice, kPinned };

  // `device` outlives this object.
  CountedMemory(DecodeDevice& device, Kind kind, uint64_t limit_bytes)
      : device_(device), kind_(kind), limit_(limit_bytes) {}

  // Null if there is no memory, or the limit would be exceeded.
  void* Allocate(size_t bytes) {
    if (!Reserve(bytes)) return nullptr;
    void* const memory =
        kind_ == Kind::kDevice ? device_.Allocate(bytes) : device_.AllocatePinned(bytes);
    if (memory == nullptr) {
      in_use_ -= bytes;
      return nullptr;
    }
    base::MutexLock lock(mutex_);
    sizes_[memory] = bytes;
    return memory;
  }

  void Release(void* memory) {
    if (memory == nullptr) return;
    const size_t bytes = Forget(memory);
    if (kind_ == Kind::kDevice) {
      device_.Release(memory, bytes);
    } else {
      device_.ReleasePinned(memory);
    }
    in_use_ -= bytes;
  }

  uint64_t in_use() const { return in_use_; }
  uint64_t most() const { return most_; }

 private:
  bool Reserve(size_t bytes) {
    uint64_t used = in_use_;
    do {
      if (bytes > limit_ - used) return false;
    } while (!in_use_.compare_exchange_weak(used, used + bytes));
    uint64_t most = most_;
    while (most < used + bytes && !most_.compare_exchange_weak(most, used + bytes)) {
    }
    return true;
  }

  size_t Forget(void* memory) {
    base::MutexLock lock(mutex_);
    const auto found = sizes_.find(memory);
    PENSTOCK_CHECK(found != sizes_.end());
    const size_t bytes = found->second;
    sizes_.erase(found);
    return bytes;
  }

  DecodeDevice& device_;
  const Kind kind_;
  const uint64_t limit_;
  std::atomic<uint64_t> in_use_ = 0;
  std::atomic<uint64_t> most_ = 0;
  base::Mutex mutex_;
  std::unordered_map<void*, size_t> sizes_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::gpu_decode
