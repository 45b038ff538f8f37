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

class Lender {
 public:
  // `gpu`: where its batches are, shared with everything on that GPU; null: in host memory.
  explicit Lender(std::shared_ptr<Gpu> gpu) : generation_(WatchForks()), gpu_(std::move(gpu)) {}
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;

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
  // The same, once the stream has reached this point. Only with a GPU; so is Prepare.
  virtual absl::Status ReleaseBehind(uint64_t sequence, Stream stream) = 0;
  // From here on the stream may read the batch. Null: any stream may, and the host has waited.
  virtual absl::Status Prepare(uint64_t sequence, const Stream* stream) = 0;

 protected:
  virtual ~Lender() = default;
  virtual void End() = 0;  // the last reference is gone: deletes this, if it may

 private:
  const uint32_t generation_;
  const std::shared_ptr<Gpu> gpu_;
  std::atomic<uint32_t> holders_{1};
};

// One reference to a lease owner.
template <typename T>
class LenderHold {
 public:
  LenderHold() = default;
  explicit LenderHold(T* counted) : lender_(counted) {}
  LenderHold(LenderHold&& other) noexcept : lender_(std::exchange(other.lender_, nullptr)) {}
  LenderHold& operator=(LenderHold&& other) noexcept {
    std::swap(lender_, other.lender_);
    return *this;
  }
  ~LenderHold() { Reset(); }

  void Reset() {
    if (lender_ != nullptr) std::exchange(lender_, nullptr)->LetGo();
  }
  T* get() const { return lender_; }
  T* operator->() const { return lender_; }
  explicit operator bool() const { return lender_ != nullptr; }

 private:
  T* lender_ = nullptr;
};

}  // namespace penstock::client
