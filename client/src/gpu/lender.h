// Whom a batch gives its slot back to. Counted: the session holds it, and each batch that is out,
// so that what a batch points at stays mapped. Any thread.
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
  // `gpu`: where its batches are; null: in host memory. Shared by all that works on that GPU.
  explicit Lender(std::shared_ptr<Gpu> gpu) : generation_(WatchForks()), gpu_(std::move(gpu)) {}
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;

  void Hold() { holders_.fetch_add(1, std::memory_order_relaxed); }
  void LetGo() {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) End();
  }
  uint32_t holders() const { return holders_.load(std::memory_order_acquire); }
  uint32_t generation() const { return generation_; }  // of forks, when it was made
  Gpu* gpu() const { return gpu_.get(); }
  const std::shared_ptr<Gpu>& shared_gpu() const { return gpu_; }

  // Nobody reads batch number `sequence` any more.
  virtual void Release(uint64_t sequence) = 0;
  // Nobody does once the stream has come this far. Only with a GPU, as Prepare.
  virtual absl::Status ReleaseBehind(uint64_t sequence, Stream stream) = 0;
  // From here on the stream may read the batch; null: any may, and the host has waited for it.
  virtual absl::Status Prepare(uint64_t sequence, const Stream* stream) = 0;

 protected:
  virtual ~Lender() = default;
  virtual void End() = 0;  // the last one let go: deletes this, unless it must not

 private:
  const uint32_t generation_;
  const std::shared_ptr<Gpu> gpu_;
  std::atomic<uint32_t> holders_{1};
};

// One count of a lender.
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
