// Tracks worker deaths for each dataset of each user: a pause before the next attempt, which
// doubles, and a budget of deaths per window. A user who exceeds it fails alone, and may open the
// dataset again once the window has passed. Every cause of death counts, so that deaths that no
// sample is blamed for (a kill from outside, lack of memory) are bounded too.
//
// If many users exceed their budgets at the same time, the cause is not theirs, and nothing is
// delivered any more. Pure: time is an argument. One owner.
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
    workers::RestartBudget::Options budget;  // deaths per window
    base::BackOff::Options back_off;
    // If this many datasets, of as many users, exceed their budgets at the same time, the daemon
    // itself has a problem. A single user cannot cause that.
    uint32_t many = 3;
  };
  explicit WorkerLosses(const Options& options) : options_(options) {}

  // The number of a dataset and user, stable while it is remembered; never 0. `called`: the user's
  // name for the dataset, for messages; empty: the dataset's own name.
  uint64_t AccountOf(const std::string& dataset, uint32_t user, base::TimePoint now,
                     const std::string& called = "");

  // The account is still in use and must not be forgotten.
  void Touch(uint64_t account, base::TimePoint now);
  // A worker died over its samples. Not OK if the budget is exceeded; its feeds fail for this
  // reason.
  absl::Status Died(uint64_t account, const std::string& reason, base::TimePoint now);
  // One of its samples was decoded, so the next pause is the shortest again.
  void WentWell(uint64_t account);
  // Whether its samples wait for a pause to end.
  bool IsPaused(uint64_t account, base::TimePoint now) const;
  bool AnyPaused(base::TimePoint now) const { return now < last_pause_ends_; }

  // Unavailable while its budget is exceeded.
  absl::Status MayOpen(const std::string& dataset, uint32_t user, base::TimePoint now) const;
  // Unavailable once many datasets of many users exceeded theirs; permanent. All users see it, so
  // it names no dataset and no sample.
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
  absl::Status WhyPythonSpent(const Account& account, base::TimePoint now) const;
  void LookForMany(base::TimePoint now);

  const Options options_;
  absl::Status status_;
  std::map<Key, uint64_t> numbers_;
  std::map<uint64_t, Account> accounts_;
  uint64_t next_ = 1;
  base::TimePoint last_pause_ends_{};
};

}  // namespace penstock::feed
