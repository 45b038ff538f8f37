// A ring of fixed entries from one producer to one consumer, in memory that both processes map.
//
// SpscRing lies in the shared memory, all zero at first. Each side makes one RingProducer or
// RingConsumer over it, which keeps its own counter privately and never believes its own shared
// one; one thread at a time uses it. The peer is not trusted: its counter is copied, then checked,
// and one that cannot be gives kBroken (what the entries say is for the caller to check, after the
// copy). The peer's counter is looked at only when the last look does not suffice, so that the two
// sides rarely share a cache line.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace penstock::shm {

template <typename T, uint32_t kCapacity>
struct SpscRing {
  static_assert(std::is_trivially_copyable_v<T>);
  static_assert(std::has_single_bit(kCapacity));
  static_assert(std::atomic<uint64_t>::is_always_lock_free);

  alignas(64) std::atomic<uint64_t> pushed;  // written by the producer
  alignas(64) std::atomic<uint64_t> popped;  // written by the consumer
  alignas(64) T entries[kCapacity];          // written by the producer
};

enum class RingOutcome {
  kDone,
  kWait,    // full, or empty: later
  kBroken,  // the peer's counter cannot be; for good
};

template <typename T, uint32_t kCapacity>
class RingProducer {
 public:
  explicit RingProducer(SpscRing<T, kCapacity>& ring) : ring_(&ring) {}

  RingOutcome Push(const T& entry) {
    if (pushed_ - popped_ == kCapacity) {
      const uint64_t popped = ring_->popped.load(std::memory_order_acquire);
      if (popped < popped_ || popped > pushed_) return RingOutcome::kBroken;
      popped_ = popped;
      if (pushed_ - popped_ == kCapacity) return RingOutcome::kWait;
    }
    ring_->entries[pushed_ % kCapacity] = entry;
    ring_->pushed.store(++pushed_, std::memory_order_release);
    return RingOutcome::kDone;
  }

  uint64_t pushed() const { return pushed_; }

 private:
  SpscRing<T, kCapacity>* ring_;
  uint64_t pushed_ = 0;
  uint64_t popped_ = 0;  // as last seen
};

template <typename T, uint32_t kCapacity>
class RingConsumer {
 public:
  explicit RingConsumer(SpscRing<T, kCapacity>& ring) : ring_(&ring) {}

  RingOutcome Pop(T& entry) {
    if (pushed_ == popped_) {
      const uint64_t pushed = ring_->pushed.load(std::memory_order_acquire);
      if (pushed < pushed_ || pushed - popped_ > kCapacity) return RingOutcome::kBroken;
      pushed_ = pushed;
      if (pushed_ == popped_) return RingOutcome::kWait;
    }
    entry = ring_->entries[popped_ % kCapacity];
    ring_->popped.store(++popped_, std::memory_order_release);
    return RingOutcome::kDone;
  }

  uint64_t popped() const { return popped_; }

 private:
  SpscRing<T, kCapacity>* ring_;
  uint64_t pushed_ = 0;  // as last seen
  uint64_t popped_ = 0;
};

}  // namespace penstock::shm
