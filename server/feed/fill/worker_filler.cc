#include "server/feed/fill/worker_filler.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "common/telemetry/log.h"
#include "server/feed/core/give_way.h"

namespace penstock::feed {
namespace {

// After a user waited for a worker slot, contention is assumed for this long.
constexpr base::Duration kContention = std::chrono::seconds(1);

std::vector<SlotHolder> ToHolders(std::span<const workers::SlotHolding> holdings,
                                  const Core& core) {
  std::vector<SlotHolder> holders;
  for (const workers::SlotHolding& each : holdings)
    holders.push_back({.user = UserId(each.user),
                       .worker_slots = each.worker_slots,
                       .giving_way = each.giving_way,
                       .set_aside = each.set_aside,
                       .spent = core.Spent(FillPath::kWorkers, UserId(each.user))});
  return holders;
}

FillTimes ToFillTimes(const workers::Times& times) {
  return {.given = times.given,
          .read_begin = times.read_begin,
          .read_end = times.read_end,
          .ended = times.ended,
          .read = times.read_end - times.read_begin - times.held_up,
          .decode = times.decode};
}

}  // namespace

WorkerFiller::WorkerFiller(workers::RowDecoders& workers, Core& core, const pool::Pool& pool,
                           const WorkerLosses::Options& losses, AccountFailed account_failed,
                           const KeptMoves::Keepers& keepers)
    : workers_(workers),
      core_(core),
      pool_(pool),
      account_failed_(std::move(account_failed)),
      kept_(keepers),
      losses_(losses) {}

Turn WorkerFiller::TurnOf(UserId user) const {
  const uint32_t most = WorkerSlotsOfAUser();
  if (workers_.HeadroomFor(user.value(), most) > 0) return Turn::kNow;
  for (const workers::SlotHolding& each : workers_.Holdings())
    if (each.user == user.value() && HasAll(each, most)) return Turn::kNot;
  return Turn::kLater;
}

// Whether the user must wait for its own items only. Workers that were set aside are among those
// that it may have.
bool WorkerFiller::HasAll(const workers::SlotHolding& holding, uint32_t most) const {
  if (holding.set_aside > 0) most = std::min(most, workers_.count());
  return holding.worker_slots + holding.set_aside >= most;
}

uint32_t WorkerFiller::WorkerSlotsOfAUser() const {
  if (max_workers_per_user_ >= 1) return UINT32_MAX;
  return std::max(1u, static_cast<uint32_t>(workers_.count() * max_workers_per_user_));
}

bool WorkerFiller::MayRead(UserId user, const Feed& feed, bool aside, base::TimePoint now) const {
  if (losses_.AnyPaused(now) && losses_.IsPaused(feed.account, now)) return false;
  return (!aside || workers_.MayReadAside()) && rows_.MayRead(user, aside);
}

std::optional<FillOutcome> WorkerFiller::Begin(FillJob job) {
  absl::StatusOr<workers::WorkItem> item = rows_.Begin(job.task, job.feed, *job.place, job.aside);
  if (!item.ok())
    return FillOutcome{.task = job.task,
                       .feed = std::move(job.feed),
                       .end = FillEnd::kLost,
                       .feed_failed = item.status()};
  item->given = job.given;
  if (kept_.Take(*item, rows_.PlaceOf(item->id, pool_), job.given)) return std::nullopt;
  workers_.Submit(*item, WorkerSlotsOfAUser());
  return std::nullopt;
}

std::vector<FillOutcome> WorkerFiller::Collect(base::TimePoint now) {
  const std::vector<workers::Outcome> outcomes = workers_.Collect(now);
  NoteDeaths(now);
  std::vector<FillOutcome> ended;
  ended.reserve(outcomes.size());
  for (const workers::Outcome& outcome : outcomes) {
    const bool done = outcome.kind == workers::OutcomeKind::kDone;
    if (done) losses_.WentWell(rows_.AccountOf(outcome.id));
    if (done && kept_.Put(outcome, rows_.PlaceOf(outcome.id, pool_))) continue;
    ended.push_back(End(outcome));
  }
  for (const KeptMoves::Ended& move : kept_.Collect(now)) {
    ended.push_back(End(move.outcome));
    ended.back().kept = move.taken;
  }
  return ended;
}

FillOutcome WorkerFiller::End(const workers::Outcome& outcome) {
  FillOutcome ended = rows_.End(outcome, pool_);
  ended.worker = outcome.worker;
  ended.times = ToFillTimes(outcome.times);
  return ended;
}

void WorkerFiller::TakeOverdue(base::TimePoint, NoteOverdueRead note) {
  for (const uint64_t item : workers_.TakeOverdue()) rows_.Overdue(item, note);
}

void WorkerFiller::NoteDeaths(base::TimePoint now) {
  for (const workers::WorkerDeath& death : workers_.TakeDeaths()) {
    PENSTOCK_LOG(kWarning, "worker_died", {"worker", death.number}, {"user", death.user},
                 {"pid", death.pid}, {"reason", death.reason});
    if (!death.words.empty())
      PENSTOCK_LOG(kWarning, "worker_last_words", {"worker", death.number}, {"user", death.user},
                   {"pid", death.pid}, {"words", death.words});
    if (death.forbidden_call)
      PENSTOCK_LOG(kError, "forbidden_call", {"worker", death.number}, {"user", death.user},
                   {"pid", death.pid}, {"signal", SIGSYS}, {"reason", death.reason});
    if (death.account == 0) continue;
    const absl::Status spent = losses_.Died(death.account, death.reason, now);
    if (!spent.ok()) account_failed_(death.account, spent);
  }
}

void WorkerFiller::NoteOccupied(std::span<const workers::SlotHolding> holdings) {
  core_.Occupied(FillPath::kWorkers, [&](UserId user) {
    for (const workers::SlotHolding& each : holdings)
      if (each.user == user.value()) return each.uncharged;
    return base::Duration::zero();
  });
}

void WorkerFiller::GivenOut(base::TimePoint now) {
  kept_.Submit();
  const std::vector<workers::SlotHolding> holdings = workers_.Holdings();
  NoteOccupied(holdings);
  const std::vector<SlotHolder> holders = ToHolders(holdings, core_);
  const std::optional<UserId> claimant = core_.Claimant(FillPath::kWorkers);
  if (claimant || holders.size() > 1) contended_until_ = now + kContention;
  workers_.SetContended(now < contended_until_);
  if (!claimant) return workers_.NobodyWaits();
  SlotHolder waiting = {.user = *claimant, .spent = core_.Spent(FillPath::kWorkers, *claimant)};
  for (const SlotHolder& holder : holders)
    if (holder.user == *claimant) waiting = holder;
  if (const auto gives = WhoGivesWay(waiting, holders)) workers_.GiveWay(gives->value());
}

}  // namespace penstock::feed
