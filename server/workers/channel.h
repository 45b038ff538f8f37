// The shared memory between the daemon and one worker process, and what passes through it.
//
//   daemon                                       worker
//   reads a sample into the input arena
//   pushes a DecodeRequest, rings if worker_asleep  →  pops it
//                                                started = its sequence  (before a byte is parsed)
//                                                decodes from the arena into a row of a segment
//   pops it, frees the input                  ←  pushes a Completion, rings if daemon_asleep
//
// One memfd a worker process, never used for another. The daemon trusts nothing that is in it: it
// remembers itself what it asked for, in order, and a completion only says "the oldest is
// finished". Each side announces its sleep by exchanging its flag before it looks at its ring a
// last time; the other exchanges it back after a push, and rings if it was set: no
// wake-up is lost.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/base/fault.h"
#include "common/shm/spsc_ring.h"
#include "server/decode/core/spec.h"

namespace penstock::workers {

inline constexpr uint64_t kChannelMagic = 0x454E414C4E455053;
inline constexpr uint32_t kChannelVersion = 5;
inline constexpr uint32_t kRingCapacity = 16;  // the most that a queue reads ahead, and one in hand

// The descriptors that a worker is born with.
inline constexpr int kSocketNumber = 3;   // SEQPACKET: segments come through it; its end is our end
inline constexpr int kChannelNumber = 4;  // the memfd with this struct
inline constexpr int kWorkNumber = 5;     // listening end of a bell: there are requests
inline constexpr int kDoneNumber = 6;     // eventfd: there are completions

struct DecodeRequest {
  uint64_t sequence;                   // 1, 2, …
  uint64_t input_offset, input_bytes;  // in the arena
  uint64_t row_offset, row_bytes;      // in the segment
  uint32_t segment;
  uint32_t reserved;
  decode::Spec spec;
  decode::DrawKey key;
};
static_assert(sizeof(decode::Spec) == 64 && sizeof(decode::DrawKey) == 24);
static_assert(sizeof(DecodeRequest) == 136 && std::is_trivially_copyable_v<DecodeRequest>);

struct Completion {
  uint64_t sequence;
  base::Fault fault;   // kNone: the row is written
  uint32_t decode_us;  // how long that took, and when it ended, by CLOCK_MONOTONIC: for status
  uint64_t ended_ns;   // and traces only
};
static_assert(sizeof(Completion) == 24 && std::is_trivially_copyable_v<Completion>);

struct alignas(64) Channel {
  // Written by the daemon before the worker starts, never again.
  uint64_t magic;
  uint32_t version;
  uint32_t reserved;
  uint64_t arena_bytes;
  uint64_t memory_bytes;  // the most that the worker may allocate for itself
  decode::SampleLimits limits;

  // Set by its owner, taken back by the other side when it rings.
  alignas(64) std::atomic<uint32_t> worker_asleep;
  alignas(64) std::atomic<uint32_t> daemon_asleep;

  // Written by the worker.
  alignas(64) std::atomic<uint64_t> started;  // the sequence in hand, or of the last one
  std::atomic<uint64_t> busy_ns;              // spent on requests, for status only
  std::atomic<uint32_t> ready;                // 1 once it serves requests

  shm::SpscRing<DecodeRequest, kRingCapacity> requests;
  shm::SpscRing<Completion, kRingCapacity> completions;
};
static_assert(std::is_standard_layout_v<Channel>);
static_assert(offsetof(Channel, limits) == 32 && sizeof(decode::SampleLimits) == 24);
static_assert(offsetof(Channel, worker_asleep) == 64 && offsetof(Channel, daemon_asleep) == 128);
static_assert(offsetof(Channel, started) == 192 && offsetof(Channel, requests) == 256);
static_assert(offsetof(Channel, completions) == 256 + 128 + 136 * kRingCapacity);

// The input arena follows the struct.
inline constexpr size_t kArenaOffset = (sizeof(Channel) + 4095) / 4096 * 4096;

// What comes through the socket.
enum class SegmentVerb : uint32_t {
  kUse = 1,     // with one descriptor: a segment, before the first request that names it
  kForget = 2,  // no request will name it any more
};
struct SegmentMessage {
  SegmentVerb verb;
  uint32_t segment;
  uint64_t bytes;
};
static_assert(sizeof(SegmentMessage) == 16 && std::is_trivially_copyable_v<SegmentMessage>);

// Announces a sleep; the ring must be looked at once more before really sleeping.
inline void FallAsleep(std::atomic<uint32_t>& asleep) {
  asleep.exchange(1, std::memory_order_acq_rel);
}

// After a push: whether the other side announced a sleep, which this call ends.
inline bool EndSleep(std::atomic<uint32_t>& asleep) {
  return asleep.exchange(0, std::memory_order_acq_rel) != 0;
}

}  // namespace penstock::workers
