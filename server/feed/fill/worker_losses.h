// Whose samples workers die over, and what follows: for each dataset of each user a pause before
// the next attempt, which doubles, and a budget of deaths in a window. Who has spent it fails
// alone, and may open again once the window has passed. Whatever killed the worker counts, so that
// what no sample is blamed for (a kill from outside, for want of memory) has a bound, too.
//
// Only where datasets of many users spend their budgets at once it is not theirs: then nothing is
// delivered any more. Pure: time comes in as an argument. One owner.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "common/base/back_off.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/workers/restart.h"

namespace penstock::feed {

class WorkerLosses {
 public:
  struct Options {
    workers::RestartBudget::Options budget;  // deaths, in a window
    base::BackOff::Options back_off;
    // So many datasets, of so many users, have spent their budgets at once: it is the daemon's
    // trouble. More than one user can bring about.
    uint32_t many = 3;
  };
  explicit WorkerLosses(const Options& options) : options_(options) {}

  // The number of a dataset and user: the same as long as there is a trace of it. Never 0.
  // `called`: what the user calls the dataset, and is told of it; empty: by its own name.
  uint64_t AccountOf(const std::string& dataset, uint32_t user, base::TimePoint now,
                     const std::string& called = "");

  // Somebody still has it: it is not forgotten.
  void Touch(uint64_t account, base::TimePoint now);
  // A worker died over its samples. Not OK: the budget is spent, and its feeds fail for this
  // reason.
  absl::Status Died(uint64_t account, const std::string& reason, base::TimePoint now);
  // A sample of it was decoded: the next pause is the shortest again.
  void WentWell(uint64_t account);
  // Its samples wait for the pause to end.
  bool IsPaused(uint64_t account, base::TimePoint now) const;
  bool AnyPaused(base::TimePoint now) const { return now < last_pause_ends_; }

  // Unavailable while its budget is spent.
  absl::Status MayOpen(const std::string& dataset, uint32_t user, base::TimePoint now) const;
  // Unavailable once many datasets of many users have spent theirs; for good. Everybody is told of
  // it, so that it names nobody's dataset and no sample.
  const absl::Status& status() const { return status_; }
  size_t accounts() const { return accounts_.size(); }

 private:
  using Key = std::pair<std::string, uint32_t>;  // a dataset and a user
  struct Account {
    Key key;
    std::string called;
    workers::RestartBudget budget;
    base::BackOff back_off;
    base::TimePoint paused_until{}, spent_until{}, last_used{};
    std::string reason;
  };
  void Forget(base::TimePoint now);
  absl::Status WhySpent(const Account& account, base::TimePoint now) const;
  void LookForMany(base::TimePoint now);

  const Options options_;
  absl::Status status_;
  std::map<Key, uint64_t> numbers_;
  std::map<uint64_t, Account> accounts_;
  uint64_t next_ = 1;
  base::TimePoint last_pause_ends_{};
};

}  // namespace penstock::feed
