// A single-producer, single-consumer ring of fixed-size entries in memory that two processes map.
//
// SpscRing is the shared memory, initially all zero. Each side makes one RingProducer or
// RingConsumer over it, which keeps its own counter privately and never reads it back from shared
// memory. It does not trust its peer: it copies the peer's counter, then checks it, and returns
// kBroken if the value is impossible. Callers check the entries themselves, after the copy. Each
// side reads the peer's counter only when the last value read no longer suffices, so that the two
// sides rarely contend for a cache line.
//
// **Thread safety**: each RingProducer or RingConsumer is used by one thread at a time.
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
  kWait,    // full (Push) or empty (Pop): try later
  kBroken,  // the peer's counter is impossible; permanent
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
