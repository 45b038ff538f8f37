// What the daemon promises about samples that kill workers, users whose samples do, worker slots
// whose workers do not start, and datasets with too many bad samples. Counted here apart from the
// daemon's own bookkeeping, so that a mistake there shows.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/feed/fill/filler.h"
#include "server/feed/fill/rows.h"
#include "server/workers/supervisor_options.h"
#include "server/workers/work.h"
#include "server/workers/worker_view.h"
#include "tests/simulation/events.h"

namespace penstock::simulation {

// At most so many restarts in any window.
class Window {
 public:
  explicit Window(const workers::RestartBudget::Options& options) : options_(options) {}
  // False: there were as many already.
  bool Count(TimePoint now);
  Duration length() const { return options_.window; }

 private:
  const workers::RestartBudget::Options options_;
  std::deque<TimePoint> counted_;
};

// Pauses that double with each failure in a row.
class Pauses {
 public:
  void Fail(TimePoint now, const base::BackOff::Options& back_off);
  void Succeed() { in_a_row_ = 0; }
  TimePoint until() const { return until_; }

 private:
  uint32_t in_a_row_ = 0;
  TimePoint until_{};
};

// One worker slot. Its failures are those that no account pays for.
class SlotPromises {
 public:
  // `budget`: shared by all slots.
  void Died(bool was_ready, bool is_charged, TimePoint now, Window& budget);
  void DidNotStart(TimePoint now, Window& budget);
  void Decoded() { pauses_.Succeed(); }
  // Throws if no worker may be started there now.
  void CheckStart(TimePoint now) const;

 private:
  void Fail(TimePoint now, Window& budget);

  Pauses pauses_;
  uint32_t failed_starts_ = 0;
  bool down_ = false;  // for good
};

class Promises {
 public:
  // ---- The decoders' items ----
  // Throws if the sample or its account must not be given to a worker now.
  void Given(const workers::WorkItem& item, TimePoint now);
  void Ended(const workers::WorkItem& item, workers::OutcomeKind kind);
  // The same for a batch of Python workers.
  void CheckPause(uint64_t account, TimePoint now);
  void WentWell(uint64_t account) { went_well_.push_back(account); }
  // The deaths since, and then what ended before: the order in which the daemon learns of them.
  void Died(const std::vector<workers::WorkerDeath>& deaths, TimePoint now);
  // An operator cleared the dataset's quarantine.
  void Cleared(const source::Dataset& dataset);

  // ---- Feeds ----
  // Throws if the feed should fail for this outcome and does not.
  void FillEnded(const feed::FillOutcome& outcome);
  // After the pass in which they ended.
  void CheckFailedFeeds();
  // Whether it cost so many workers that its sessions must be over.
  bool IsSpent(uint64_t account, TimePoint now) const;

 private:
  struct Account {
    Window budget;
    Pauses pauses;
    TimePoint spent_until{};
  };
  using Sample = std::tuple<const source::Dataset*, uint32_t, uint64_t>;  // of a user
  static Sample KeyOf(const workers::WorkItem& item) {
    return {item.dataset, item.user, item.sample};
  }
  Account& Of(uint64_t account);

  const workers::SupervisorOptions options_ = {};
  std::map<uint64_t, Account> accounts_;
  std::map<Sample, uint32_t> strikes_;
  std::vector<uint64_t> went_well_;  // accounts, since the last deaths
  // Samples that were replaced, by epoch and first position of their batch, and what was said.
  std::set<std::tuple<const feed::DatasetState*, uint64_t, uint64_t, std::string>> replaced_;
  std::vector<std::shared_ptr<feed::Feed>> must_fail_;  // by the end of this pass
};

}  // namespace penstock::simulation
