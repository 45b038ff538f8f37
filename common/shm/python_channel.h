// The channel between the daemon and one Python worker, which makes whole batches in slots of the
// pool. The slots' segments reach the worker through the doorway.
//
//   daemon                                     worker
//   writes the samples' ids into the slot
//   pushes MakeRequest{kMake}, and
//   notifies if worker_asleep               →  pops it
//                                              started = its sequence
//                                              row = PackRow(sequence, i)  before each sample
//   pops it                                 ←  (the batch needs more room: kNeedsRoom
//   pushes MakeRequest{kRoom}               →   with the granted bytes)
//                                              writes the batch behind data_offset
//                                              pushes a MakeAnswer, and
//   pops it                                 ←  notifies if daemon_asleep
//
// **Ownership**: one memfd for each worker, made by the daemon, mapped read-write by both sides,
// and never reused. The daemon trusts nothing in it: it keeps its own list of requests in order,
// and an answer must be to the oldest.
//
// Neither side loses a wake-up: see sleep.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/shm/spsc_ring.h"

namespace penstock::shm {

inline constexpr uint64_t kPythonChannelMagic = 0x454B414D4B545350;  // "PSTKMAKE", little endian
inline constexpr uint32_t kPythonChannelVersion = 1;
// Two batches at a worker, and the answer to a kNeedsRoom.
inline constexpr uint32_t kPythonRingCapacity = 4;

enum class MakeKind : uint32_t {
  kMake = 1,  // make this batch
  // The answer to kNeedsRoom, for the same batch. If `granted` is less than it needs, the worker
  // writes an error instead of the batch.
  kRoom = 2,
};

struct MakeRequest {
  uint64_t sequence;  // 1, 2, … for each batch; kRoom has that of its batch
  MakeKind kind;
  uint32_t rows;         // samples of the batch
  uint32_t segment;      // id as sent through the doorway
  uint32_t attempt;      // 0, or how often a worker died over this batch
  uint64_t slot_offset;  // in the segment
  uint64_t granted;      // bytes that may be written, from data_offset
  uint64_t most;         // bytes that the feed allows a batch (max_batch_bytes)
  // What random numbers are drawn from: the epoch, the feed's seed, and the key of row i, which is
  // key_first + i * key_step.
  uint64_t epoch, seed;
  uint64_t key_first, key_step;
  uint32_t stream;       // which part of an iterable dataset; 0 for others
  uint32_t ids_offset;   // in the slot: the samples' ids, uint64 × rows
  uint32_t data_offset;  // in the slot: the batch
  uint32_t reserved;
};
static_assert(sizeof(MakeRequest) == 96 && std::is_trivially_copyable_v<MakeRequest>);
static_assert(std::has_unique_object_representations_v<MakeRequest>);  // no padding
static_assert(offsetof(MakeRequest, slot_offset) == 24 && offsetof(MakeRequest, stream) == 80);

enum class MakeOutcome : uint32_t {
  kDone = 1,       // the batch is in the slot
  kRaised = 2,     // user code raised an exception, which is in the slot instead of the batch
  kNeedsRoom = 3,  // the batch needs `bytes`, more than granted; its worker waits for kRoom
};

struct MakeAnswer {
  uint64_t sequence;
  MakeOutcome outcome;
  uint32_t row;      // kRaised: of the sample that raised; `rows` if it was none of them
  uint64_t bytes;    // written from data_offset on, or needed
  uint32_t made_us;  // how long it took, and when it ended by CLOCK_MONOTONIC; only for status
  uint32_t reserved;
  uint64_t ended_ns;  // and traces
  uint64_t reserved_too;
};
static_assert(sizeof(MakeAnswer) == 48 && std::is_trivially_copyable_v<MakeAnswer>);
static_assert(std::has_unique_object_representations_v<MakeAnswer>);
static_assert(offsetof(MakeAnswer, bytes) == 16 && offsetof(MakeAnswer, ended_ns) == 32);

// The row in hand and its batch in one word, so that both change at once. Of the sequence the lower
// half is kept.
inline constexpr uint64_t PackRow(uint64_t sequence, uint32_t row) { return sequence << 32 | row; }

// The row of this batch that is in hand; `otherwise` if the word is about another batch.
inline constexpr uint32_t RowInHand(uint64_t packed, uint64_t sequence, uint32_t otherwise) {
  return packed >> 32 == (sequence & UINT32_MAX) ? static_cast<uint32_t>(packed) : otherwise;
}

struct alignas(64) PythonChannel {
  // Written by the daemon once, before it sends the channel.
  uint64_t magic;
  uint32_t version;
  uint32_t place, start;  // as in the worker's DoorwayWorker

  // Set by the side that sleeps, cleared by the other side when it notifies.
  alignas(64) std::atomic<uint32_t> worker_asleep;
  alignas(64) std::atomic<uint32_t> daemon_asleep;

  // Written by the worker.
  alignas(64) std::atomic<uint64_t> started;  // sequence of the current or last batch
  std::atomic<uint64_t> row;                  // PackRow
  std::atomic<uint64_t> busy_ns;              // time spent on batches; only for status
  std::atomic<uint32_t> ready;                // 1 once it accepts requests

  SpscRing<MakeRequest, kPythonRingCapacity> requests;
  SpscRing<MakeAnswer, kPythonRingCapacity> answers;
};
static_assert(std::is_standard_layout_v<PythonChannel>);
static_assert(offsetof(PythonChannel, place) == 12 && offsetof(PythonChannel, start) == 16);
static_assert(offsetof(PythonChannel, worker_asleep) == 64);
static_assert(offsetof(PythonChannel, daemon_asleep) == 128);
static_assert(offsetof(PythonChannel, started) == 192 && offsetof(PythonChannel, row) == 200);
static_assert(offsetof(PythonChannel, ready) == 216 && offsetof(PythonChannel, requests) == 256);
static_assert(offsetof(PythonChannel, answers) == 256 + 128 + 96 * kPythonRingCapacity);
static_assert(sizeof(PythonChannel) == 768 + 128 + 48 * kPythonRingCapacity);

}  // namespace penstock::shm
