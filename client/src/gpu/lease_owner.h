// Reference-counted owner of the memory that batches point at. The session and each batch that is
// out hold a reference, so that the memory stays mapped. A batch releases its slot through it.
//
// **Thread safety**: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "client/src/core/fork.h"
#include "client/src/gpu/gpu.h"
#include "common/base/status.h"

namespace penstock::client {

class LeaseOwner {
 public:
  // `gpu`: where its batches are, shared with everything on that GPU; null: in host memory.
  explicit LeaseOwner(std::shared_ptr<Gpu> gpu) : generation_(WatchForks()), gpu_(std::move(gpu)) {}
  LeaseOwner(const LeaseOwner&) = delete;
  LeaseOwner& operator=(const LeaseOwner&) = delete;

  void Hold() { holders_.fetch_add(1, std::memory_order_relaxed); }
  void LetGo() {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) End();
  }
  uint32_t holders() const { return holders_.load(std::memory_order_acquire); }
  uint32_t generation() const { return generation_; }  // fork generation at construction
  Gpu* gpu() const { return gpu_.get(); }
  const std::shared_ptr<Gpu>& shared_gpu() const { return gpu_; }

  // Batch number `sequence` is not read any more.
  virtual void Release(uint64_t sequence) = 0;
  // The same, once the stream has reached this point. Call it, like Prepare, only with a GPU.
  virtual absl::Status ReleaseBehind(uint64_t sequence, Stream stream) = 0;
  // Whether the batches that are held now may be held for as long as the trainer likes, because
  // others can still come.
  virtual bool MayLend() const { return false; }
  // From here on the stream may read the batch. Null: any stream may, and the host has waited.
  virtual absl::Status Prepare(uint64_t sequence, const Stream* stream) = 0;

 protected:
  virtual ~LeaseOwner() = default;
  virtual void End() = 0;  // the last reference is gone: deletes this, if it may

 private:
  const uint32_t generation_;
  const std::shared_ptr<Gpu> gpu_;
  std::atomic<uint32_t> holders_{1};
};

// One reference to a lease owner.
template <typename T>
class LeaseOwnerHold {
 public:
  LeaseOwnerHold() = default;
  explicit LeaseOwnerHold(T* counted) : lease_owner_(counted) {}
  LeaseOwnerHold(LeaseOwnerHold&& other) noexcept
      : lease_owner_(std::exchange(other.lease_owner_, nullptr)) {}
  LeaseOwnerHold& operator=(LeaseOwnerHold&& other) noexcept {
    std::swap(lease_owner_, other.lease_owner_);
    return *this;
  }
  ~LeaseOwnerHold() { Reset(); }

  void Reset() {
    if (lease_owner_ != nullptr) std::exchange(lease_owner_, nullptr)->LetGo();
  }
  T* get() const { return lease_owner_; }
  T* operator->() const { return lease_owner_; }
  explicit operator bool() const { return lease_owner_ != nullptr; }

 private:
  T* lease_owner_ = nullptr;
};

}  // namespace penstock::client
