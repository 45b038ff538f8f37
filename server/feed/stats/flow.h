// Where a feed's time goes: events with their times come in, sums go out. Pure. Times that a
// consumer reports are clipped to what is possible.
// **Ownership**: owned by the engine, with its feeds and sessions.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/base/clock.h"
#include "server/feed/stats/recent.h"
#include "server/feed/stats/time_histogram.h"

namespace penstock::feed {

// Sums since the feed was opened, as in admin.proto's StageTimes.
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

// Distributions for a dataset since the start.
struct FlowTimes {
  TimeHistogram read, decode;  // per sample; rows that are copied in one run count with their mean
  TimeHistogram hand_over;     // from the end of a batch's last row until it is announced
  TimeHistogram copy;          // of a batch to its GPU
  TimeHistogram ready;         // batches: from ready until taken
  TimeHistogram trainer;       // batches: how long the trainer had been asleep when it was full
};

// Sums for a dataset since the start: of its feeds, and of its sessions as seen by the ticks.
struct FlowTotals {
  StageSums stages;
  FlowTimes times;
  base::Duration open{};     // time of all sessions until they finished or ended
  base::Duration filled{};   // of that, weighted by the ready fraction of the window
  base::Duration starved{};  // of that, asleep without a batch
};

// One fill of a slot, identified by its generation.
struct SlotFill {
  uint32_t slot = 0;
  uint64_t generation = 0;

  bool operator==(const SlotFill&) const = default;
};

// Rows that were filled: one by a worker, or a run by a row copier.
struct RowsEnded {
  SlotFill fill;
  uint32_t rows = 1;
  base::TimePoint given{}, ended{};
  base::Duration read{}, decode{};  // parts of the time between
};

// Whose batch it is, for exemplars.
struct BatchOwner {
  uint64_t session = 0;
  std::string trace_id = {};  // of the trace in which the session was opened; empty: none
};

// The memory of figures on which a quick decision is based.
inline constexpr Recent::Seconds kLately{0.3};

// Everything is also added to the dataset's totals, which outlive the feed.
class FeedFlow {
 public:
  FeedFlow() = default;
  // **Requires**: `totals` outlives this.
  explicit FeedFlow(FlowTotals* totals) : totals_(totals) {}

  // How a slot became full: from giving out its first row to the end of its last one.
  struct Filled {
    base::TimePoint begun{}, ended{};
  };

  void Given(const SlotFill& fill, base::TimePoint now);
  void Ended(const RowsEnded& rows);
  // All rows have ended, and a session is told. Returns the history, the first time.
  std::optional<Filled> Full(const SlotFill& fill);
  // All rows of a batch had ended this long before it was announced.
  void HandedOver(base::Duration took);
  // For one session's batch.
  void Copied(base::Duration took);
  void Waited(base::Duration took, const BatchOwner& owner);
  void TrainerWaited(base::Duration took, const BatchOwner& owner);
  // Figures over all its sessions since the last look.
  struct Look {
    uint32_t sessions = 0;
    double occupancy = 0, starved = 0, copying = 0;  // sums over the sessions
    // how busy the daemon's parts were, 0 … 1
    double workers = 0, readers = 0, row_copiers = 0;
  };
  void Seen(const Look& look, base::Duration since);

  const StageSums& sums() const { return sums_; }

  // As sampled by the ticks; fractions between 0 and 1.
  Recent occupancy;          // ready fraction of the windows
  Recent starved;            // fraction of time asleep without a batch
  Recent starving{kLately};  // the same, lately
  Recent copying;  // fraction of time asleep while a full batch was being copied to its GPU
  // How busy the daemon's parts were while it had sessions.
  Recent workers, readers, row_copiers;

 private:
  struct SlotFilling {
    uint64_t generation = 0;
    Filled story;
  };
  // Applies the change to the feed's sums and to the dataset's.
  template <typename Change>
  void Sum(Change change) {
    change(sums_);
    if (totals_ != nullptr) change(totals_->stages);
  }

  std::unordered_map<uint32_t, SlotFilling> filling_;  // by slot
  StageSums sums_;
  FlowTotals* totals_ = nullptr;
};

// The batches of one session, from full until released.
class SessionFlow {
 public:
  struct BatchTimes {
    uint64_t sequence = 0;
    SlotFill fill = {};
    uint64_t epoch = 0, first = 0, step = 0;
    // In this order; zero if it has not happened yet.
    base::TimePoint full{}, ready{}, taken{}, released{};
  };
  enum class BatchMemory { kHost, kDevice };  // kDevice: copied before it is ready
  SessionFlow() = default;
  SessionFlow(BatchMemory memory, BatchOwner owner) : memory_(memory), owner_(std::move(owner)) {}

  const BatchOwner& owner() const { return owner_; }

  void Full(BatchTimes batch);  // without a copy, it is ready at once
  // Numbers of batches on the GPU, and taken. They never decrease.
  void Ready(uint64_t count, base::TimePoint now, FeedFlow& feed);
  void Taken(uint64_t count, base::TimePoint now, FeedFlow& feed);
  // The batch's history; nullopt if it was not taken.
  std::optional<BatchTimes> Released(uint64_t sequence, base::TimePoint now);

  const std::deque<BatchTimes>& batches() const { return batches_; }

 private:
  BatchTimes* Find(uint64_t sequence);

  BatchMemory memory_ = BatchMemory::kHost;
  BatchOwner owner_;
  std::deque<BatchTimes> batches_;  // consecutive sequences; the first one is not released
  uint64_t ready_ = 0, taken_ = 0;
};

}  // namespace penstock::feed
