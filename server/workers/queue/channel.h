// The shared memory between the daemon and one worker process, and the protocol.
//
//   daemon                                         worker
//   reads a sample into the input arena, behind its recipe
//   pushes a DecodeRequest, and
//   notifies if worker_asleep                 →  pops it
//                                                started = its sequence  (before a byte is parsed)
//                                                unpacks and decodes into rows of a segment
//                                                pushes a Completion, and
//   pops it, frees the input                  ←  notifies if daemon_asleep
//
// Each worker process has its own memfd, which is never reused. The daemon trusts nothing in it: it
// keeps its own list of requests in order, and a completion only means that the oldest one is
// finished.
//
// Neither side loses a wake-up: see common/shm/sleep.h. A wake-up costs as much as a short item, so
// after a series of short items each side notifies the other of several at once (Announcements),
// and always before it waits for the other. What it holds back while it reads or decodes something
// long is announced by the runner's next tick.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "common/base/fault.h"
#include "common/base/target.h"
#include "common/shm/spsc_ring.h"
#include "server/decode/core/spec.h"

namespace penstock::workers {

inline constexpr uint64_t kChannelMagic = 0x454E414C4E455053;
// The most items that a queue reads ahead, plus the one that the worker has in progress.
inline constexpr uint32_t kRingCapacity = 16;

// When one side notifies the other of what it has pushed. Items that are not short, and the first
// ones that are, are announced at once. **Thread safety**: none.
class Announcements {
 public:
  static constexpr std::chrono::microseconds kShort{200};
  // Short items in a series before any is held back, and those that are announced together.
  static constexpr uint32_t kSeries = kRingCapacity / 2;

  // An item that took so long was pushed. Returns whether to notify the other side now.
  bool Note(std::chrono::nanoseconds took) {
    short_items_ = took < kShort ? short_items_ + 1 : 0;
    ++held_back_;
    if (short_items_ > kSeries && held_back_ < kSeries) return false;
    held_back_ = 0;
    return true;
  }
  // Returns whether anything was held back, of which the other side must be notified now.
  bool Take() { return std::exchange(held_back_, 0) > 0; }

 private:
  uint32_t short_items_ = 0;  // since the last one that was not short
  uint32_t held_back_ = 0;
};

// The descriptors that a worker inherits.
// SEQPACKET: receives segments; when it closes, the worker exits.
inline constexpr int kSocketNumber = 3;
inline constexpr int kChannelNumber = 4;  // the memfd with this struct
inline constexpr int kWorkNumber = 5;     // receiving end of a notifier: there are requests
inline constexpr int kDoneNumber = 6;     // eventfd: there are completions; at most one each

// Whether the worker enters a sandbox (workers.sandbox). It does if the channel's memory is zero.
enum class SandboxMode : uint32_t { kOn = 0, kOff = 1 };

inline constexpr uint64_t kNowhere = UINT64_MAX;

struct DecodeRequest {
  uint64_t sequence;  // 1, 2, …
  // In the arena. Behind each other: MoreImage of further images, TargetPlace of targets, the
  // recipe, the samples, the masks, the rooms for the decoded image and for checkpoints.
  uint64_t input_offset, input_bytes;
  // In the segment; a row of 0 bytes: there is no image.
  uint64_t row_offset, row_bytes;
  uint32_t segment;
  // A recipe (server/unpack/recipe.h) of this size precedes the samples; 0: the rest is the image.
  uint32_t recipe_bytes;
  uint32_t more_images = 0;       // further rows of the same image
  uint32_t targets = 0;           // of the image
  uint32_t checkpoint_room = 0;   // at the input's end, for checkpoints of the image …
  uint32_t checkpoint_bytes = 0;  // … of which so many, from an earlier request, are in it
  uint64_t image_room = 0;        // before that, for the decoded image (decode/core/image_room.h)
  // The image's bytes, if it lies where its row begins: a place in which it may stay
  // (decode/core/place.h). 0: it is in the input.
  uint64_t image_in_row = 0;
  // In the segment, of height and width of the image as int32; kNowhere: not wanted.
  uint64_t size_offset = kNowhere;
  decode::Spec spec;
  decode::DrawKey key;
};
static_assert(sizeof(decode::Spec) == 96 + sizeof(augment::TransformRecipe) &&
              sizeof(decode::DrawKey) == 32);
static_assert(sizeof(DecodeRequest) == 216 + sizeof(augment::TransformRecipe) &&
              std::is_trivially_copyable_v<DecodeRequest>);

// With the request's size, so that a struct in it that has grown is another version, too.
inline constexpr uint32_t kChannelVersion = 16u << 16 | sizeof(DecodeRequest);
static_assert(sizeof(DecodeRequest) < 1u << 16);

// One more row of the request's image. Its draws are those of the view with its number, from 1 on.
struct MoreImage {
  uint64_t row_offset, row_bytes;  // in the request's segment
  decode::Spec spec;
};
static_assert(std::is_trivially_copyable_v<MoreImage>);
inline constexpr uint32_t kMostMoreImages = 15;

// A target of the request's image. Its row holds what is stored, but for masks.
struct TargetPlace {
  base::TargetSpec spec;
  uint64_t row_offset, row_bytes;  // in the request's segment
  uint64_t count_offset;  // there, of the number of items as int32; kNowhere: a fixed number
  uint64_t file_bytes;    // of a mask that is behind the image; 0: within the sample
  uint32_t item_bytes;    // of one item; 0 for masks
  uint32_t numbers;       // of a point
};
static_assert(sizeof(TargetPlace) == 136 && std::is_trivially_copyable_v<TargetPlace>);

inline constexpr uint32_t kSameCheckpoints = UINT32_MAX;

struct Completion {
  uint64_t sequence;
  base::Fault fault;   // kNone: the rows have been written
  uint32_t decode_us;  // decoding time, and its end by CLOCK_MONOTONIC; only for status
  uint64_t ended_ns;   // and traces
  uint32_t row = 0;    // of the sample with the fault, in the request
  // How many there are now in the request's room; 0: they were wrong; kSameCheckpoints: nothing
  // new.
  uint32_t checkpoint_bytes = kSameCheckpoints;
  uint64_t image_bytes = 0;  // in the request's room
};
static_assert(sizeof(Completion) == 40 && std::is_trivially_copyable_v<Completion>);

struct alignas(64) Channel {
  // Written by the daemon before the worker starts, then constant.
  uint64_t magic;
  uint32_t version;
  SandboxMode sandbox;
  uint64_t arena_bytes;
  uint64_t memory_bytes;  // limit for the worker's own allocations
  decode::SampleLimits limits;

  // Set by the side that sleeps, cleared by the other side when it notifies.
  alignas(64) std::atomic<uint32_t> worker_asleep;
  alignas(64) std::atomic<uint32_t> daemon_asleep;

  // Written by the worker.
  alignas(64) std::atomic<uint64_t> started;  // sequence of the current or last request
  std::atomic<uint64_t> busy_ns;              // time spent on requests; only for status
  std::atomic<uint32_t> ready;                // 1 once it accepts requests

  shm::SpscRing<DecodeRequest, kRingCapacity> requests;
  shm::SpscRing<Completion, kRingCapacity> completions;
};
static_assert(std::is_standard_layout_v<Channel>);
static_assert(offsetof(Channel, limits) == 32 && sizeof(decode::SampleLimits) == 24);
static_assert(offsetof(Channel, worker_asleep) == 64 && offsetof(Channel, daemon_asleep) == 128);
static_assert(offsetof(Channel, started) == 192 && offsetof(Channel, requests) == 256);
static_assert(offsetof(Channel, completions) == 256 + 128 + sizeof(DecodeRequest) * kRingCapacity);

// The input arena follows the struct.
inline constexpr size_t kArenaOffset = (sizeof(Channel) + 4095) / 4096 * 4096;

// The messages on the socket.
enum class SegmentVerb : uint32_t {
  kUse = 1,     // with one descriptor: a segment; sent before the first request that uses it
  kForget = 2,  // no more requests will use it
};
struct SegmentMessage {
  SegmentVerb verb;
  uint32_t segment;
  uint64_t bytes;
};
static_assert(sizeof(SegmentMessage) == 16 && std::is_trivially_copyable_v<SegmentMessage>);

}  // namespace penstock::workers
