#include "tests/simulation/promises.h"

#include <algorithm>

namespace penstock::simulation {

using feed::FillEnd;
using workers::OutcomeKind;

bool Window::Count(TimePoint now) {
  while (!counted_.empty() && now - counted_.front() >= options_.window) counted_.pop_front();
  if (counted_.size() >= options_.restarts) return false;
  counted_.push_back(now);
  return true;
}

void Pauses::Fail(TimePoint now, const base::BackOff::Options& back_off) {
  Duration pause = back_off.first;
  for (uint32_t i = 0; i < in_a_row_ && pause < back_off.longest; ++i) pause *= 2;
  ++in_a_row_;
  until_ = now + std::min(pause, back_off.longest);
}

// ---- Worker slots ----

void SlotPromises::Died(bool was_ready, bool is_charged, TimePoint now, Window& budget) {
  failed_starts_ = was_ready ? 0 : failed_starts_ + 1;
  if (!is_charged) Fail(now, budget);
}

void SlotPromises::DidNotStart(TimePoint now, Window& budget) {
  ++failed_starts_;
  Fail(now, budget);
}

void SlotPromises::Fail(TimePoint now, Window& budget) {
  const workers::SupervisorOptions options;
  pauses_.Fail(now, options.back_off);
  if (failed_starts_ > options.budget.restarts || !budget.Count(now)) down_ = true;
}

void SlotPromises::CheckStart(TimePoint now) const {
  Require(!down_, "a worker starts at a worker slot that used up its restarts");
  Require(now >= pauses_.until(), "a worker starts ",
          std::chrono::duration_cast<milliseconds>(pauses_.until() - now).count(),
          " ms before its worker slot's pause is over");
}

// ---- Items ----

Promises::Account& Promises::Of(uint64_t account) {
  return accounts_.try_emplace(account, Account{.budget = Window(options_.budget), .pauses = {}})
      .first->second;
}

void Promises::Given(const workers::WorkItem& item, TimePoint now) {
  const auto strikes = strikes_.find(KeyOf(item));
  Require(strikes == strikes_.end() || strikes->second < 2, "sample ", item.sample,
          ", which killed two workers, is given to a third");
  CheckPause(item.account, now);
}

void Promises::CheckPause(uint64_t account, TimePoint now) {
  Require(now >= Of(account).pauses.until(), "a row of account ", account,
          " is given to a worker in the pause after a death");
}

void Promises::Ended(const workers::WorkItem& item, OutcomeKind kind) {
  if (kind == OutcomeKind::kStrike) ++strikes_[KeyOf(item)];
  if (kind == OutcomeKind::kDone) went_well_.push_back(item.account);
  if (kind != OutcomeKind::kDone && kind != OutcomeKind::kRefused) return;
  if (const auto strikes = strikes_.find(KeyOf(item));
      strikes != strikes_.end() && strikes->second < 2)
    strikes_.erase(strikes);
}

void Promises::Died(const std::vector<workers::WorkerDeath>& deaths, TimePoint now) {
  for (const workers::WorkerDeath& death : deaths) {
    if (death.account == 0) continue;
    Account& account = Of(death.account);
    account.pauses.Fail(now, options_.back_off);
    if (!account.budget.Count(now)) account.spent_until = now + options_.budget.window;
  }
  for (const uint64_t account : std::exchange(went_well_, {})) Of(account).pauses.Succeed();
}

bool Promises::IsSpent(uint64_t account, TimePoint now) const {
  const auto found = accounts_.find(account);
  return found != accounts_.end() && now < found->second.spent_until;
}

void Promises::Cleared(const source::Dataset& dataset) {
  std::erase_if(strikes_, [&](const auto& each) { return std::get<0>(each.first) == &dataset; });
  std::erase_if(replaced_,
                [&](const auto& each) { return std::get<0>(each)->dataset.get() == &dataset; });
}

// ---- Feeds ----

void Promises::FillEnded(const feed::FillOutcome& outcome) {
  if (outcome.end == FillEnd::kNotRead && absl::IsDataLoss(outcome.why))
    must_fail_.push_back(outcome.feed);
  if (outcome.feed->spec.python && !outcome.bad_sample.ok()) {
    const bool is_first =
        replaced_
            .emplace(
                outcome.feed->dataset.get(), outcome.task.epoch, outcome.task.index,
                absl::StrCat("feed ", outcome.feed->id.value(), ": ", outcome.bad_sample.message()))
            .second;
    Require(is_first, outcome.bad_sample.message(), ", although it was replaced before");
  }
  const bool was_bad = outcome.end == FillEnd::kRefused || outcome.quarantine_grew;
  if (!was_bad) return;
  feed::FaultPolicy& policy = outcome.feed->dataset->PolicyOf(outcome.task.user.value());
  if (policy.bad_samples() > policy.max_quarantined()) must_fail_.push_back(outcome.feed);
}

void Promises::CheckFailedFeeds() {
  for (const std::shared_ptr<feed::Feed>& feed : std::exchange(must_fail_, {}))
    Require(!feed->failed.ok(), "feed ", feed->id.value(),
            " goes on, although its dataset was replaced or has too many bad samples");
}

}  // namespace penstock::simulation
