// Where the time of a feed goes: events with their times come in, sums go out. Pure: no clock; what
// a consumer says is capped here at what it can know. Owned by the engine, with its feeds and
// sessions.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "common/base/clock.h"
#include "server/feed/stats/recent.h"

namespace penstock::feed {

// Sums since the feed was opened; admin.proto's StageTimes.
struct StageSums {
  uint64_t samples = 0;
  base::Duration read{}, queue{}, decode{};
  uint64_t batches = 0;
  base::Duration assemble{};
  uint64_t copies = 0;
  base::Duration copy{};
  uint64_t waits = 0;
  base::Duration consumer{};
};

// Of a dataset, since the start: what its feeds had, and what the ticks saw of its sessions.
struct FlowTotals {
  StageSums stages;
  base::Duration open{};     // each session's time until it finished or ended
  base::Duration filled{};   // of that, weighed by the share of its window that was ready
  base::Duration starved{};  // of that, asleep without a batch
};

// One fill of a slot: generations of a slot follow each other.
struct SlotFill {
  uint32_t slot = 0;
  uint64_t generation = 0;

  bool operator==(const SlotFill&) const = default;
};

// Rows that came back, filled: one of a worker, or a run of a carrier.
struct RowsEnded {
  SlotFill fill;
  uint32_t rows = 1;
  base::TimePoint given{}, ended{};
  base::Duration read{}, decode{};  // of the time between
};

// Whatever a feed sums up, its dataset's totals get, too: they stay when the feed goes.
class FeedFlow {
 public:
  FeedFlow() = default;
  // `totals` outlives what is noted here.
  explicit FeedFlow(FlowTotals* totals) : totals_(totals) {}

  // How a slot became full: from its first row's being given to its last one's end.
  struct Filled {
    base::TimePoint begun{}, ended{};
  };

  void Given(const SlotFill& fill, base::TimePoint now);
  void Ended(const RowsEnded& rows);
  // All of its rows ended, and a session is told. Its story, the first time.
  std::optional<Filled> Full(const SlotFill& fill);
  // Of one session's batch.
  void Copied(base::Duration took);
  void Waited(base::Duration took);
  // All of its sessions, since they were last looked at.
  struct Look {
    uint32_t sessions = 0;
    double occupancy = 0, starved = 0, copying = 0;  // summed up over them
    // How busy the daemon's own were meanwhile, 0 … 1.
    double workers = 0, readers = 0, row_copiers = 0;
  };
  void Seen(const Look& look, base::Duration since);

  const StageSums& sums() const { return sums_; }

  // As the ticks saw its sessions; shares between 0 and 1.
  Recent occupancy;  // of their windows, that was ready
  Recent starved;    // of them, that slept without a batch
  Recent copying;    // of them, that slept while a full batch was on its way to their GPU
  // How busy the daemon's own were while it had sessions.
  Recent workers, readers, row_copiers;

 private:
  struct SlotFilling {
    uint64_t generation = 0;
    Filled story;
  };
  // Lets the change be made to the feed's sums, and to the dataset's.
  template <typename Change>
  void Sum(Change change) {
    change(sums_);
    if (totals_ != nullptr) change(totals_->stages);
  }

  std::unordered_map<uint32_t, SlotFilling> filling_;  // by slot
  StageSums sums_;
  FlowTotals* totals_ = nullptr;
};

// The batches of one session, from being full until they are released.
class SessionFlow {
 public:
  struct BatchTimes {
    uint64_t sequence = 0;
    SlotFill fill;
    uint64_t epoch = 0, first = 0, step = 0;
    // In this order. The last ones are zero while they have not happened.
    base::TimePoint full{}, ready{}, taken{}, released{};
  };
  enum class BatchMemory { kHost, kDevice };  // kDevice: it is copied before it is ready
  SessionFlow() = default;
  explicit SessionFlow(BatchMemory memory) : memory_(memory) {}

  void Full(BatchTimes batch);  // ready at once, without a copy
  // So many are on the GPU; so many are taken. Counts never run backwards.
  void Ready(uint64_t count, base::TimePoint now, FeedFlow& feed);
  void Taken(uint64_t count, base::TimePoint now, FeedFlow& feed);
  // The batch's whole story; nothing for one that was not taken.
  std::optional<BatchTimes> Released(uint64_t sequence, base::TimePoint now);

  const std::deque<BatchTimes>& batches() const { return batches_; }

 private:
  BatchTimes* Find(uint64_t sequence);

  BatchMemory memory_ = BatchMemory::kHost;
  std::deque<BatchTimes> batches_;  // by sequence, without gaps; the first is not released
  uint64_t ready_ = 0, taken_ = 0;
};

}  // namespace penstock::feed
