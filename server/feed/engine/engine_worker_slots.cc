// Who decodes for whom: rows are given to the user who has had the least, worker slots change hands
// between users, and the deaths of workers are paid by those over whose samples they die.
#include <algorithm>
#include <vector>

#include "common/telemetry/log.h"
#include "server/feed/core/give_way.h"
#include "server/feed/engine/engine.h"

namespace penstock::feed {
namespace {

// So long after somebody waited for a post it is still expected that somebody will.
constexpr base::Duration kContention = std::chrono::seconds(1);

std::vector<SlotHolder> HoldersOf(const workers::Supervisor& workers, const Core& core) {
  std::vector<SlotHolder> holders;
  for (const workers::Supervisor::Holding& each : workers.Holdings())
    holders.push_back({.user = UserId(each.user),
                       .worker_slots = each.worker_slots,
                       .giving_way = each.giving_way,
                       .spent = core.Spent(FillPath::kWorkers, UserId(each.user))});
  return holders;
}

}  // namespace

bool Engine::SubmitRows() {
  bool busy = false;
  const auto turn = [this](UserId user) { return TurnOf(user); };
  while (const std::optional<Next> next = NextToRead(FillPath::kWorkers, turn)) {
    busy = true;
    SubmitRow(*next);
  }
  ShareWorkerSlots();
  return busy;
}

void Engine::SubmitRow(const Next& next) {
  const auto& [task, feed] = next;
  const bool aside = ReadsOf(*feed->dataset, FillPath::kWorkers) == SourceHealth::Reads::kAside;
  absl::StatusOr<workers::WorkItem> item =
      rows_.Begin(task, feed, pool_.Place(task.slot.value()), aside);
  if (!item.ok()) {
    core_.RowReturned(task);
    return FailFeedOnce(feed, item.status());
  }
  feed->flow.Given({task.slot.value(), task.generation}, now_);
  if (aside) feed->dataset->source.BegunAside();
  item->given = now_;
  workers_.Submit(*item);
}

Turn Engine::TurnOf(UserId user) const {
  const uint32_t most = WorkerSlotsOfAUser();
  if (workers_.HeadroomFor(user.value(), most) > 0) return Turn::kNow;
  for (const workers::Supervisor::Holding& each : workers_.Holdings())
    if (each.user == user.value() && each.worker_slots >= most) return Turn::kNot;
  return Turn::kLater;
}

uint32_t Engine::WorkerSlotsOfAUser() const {
  const double share = options_.admission.max_workers_per_user;
  if (share >= 1) return UINT32_MAX;
  return std::max(1u, static_cast<uint32_t>(workers_.count() * share));
}

void Engine::ShareWorkerSlots() {
  const std::vector<SlotHolder> holders = HoldersOf(workers_, core_);
  const std::optional<UserId> claimant = core_.Claimant(FillPath::kWorkers);
  if (claimant || holders.size() > 1) contended_until_ = now_ + kContention;
  workers_.SetContended(now_ < contended_until_);
  if (!claimant) return workers_.NobodyWaits();
  SlotHolder waiting = {.user = *claimant, .spent = core_.Spent(FillPath::kWorkers, *claimant)};
  for (const SlotHolder& holder : holders)
    if (holder.user == *claimant) waiting = holder;
  if (const auto gives = WhoGivesWay(waiting, holders)) workers_.GiveWay(gives->value());
}

void Engine::NoteDeaths(base::TimePoint now) {
  for (const workers::Supervisor::Death& death : workers_.TakeDeaths()) {
    PENSTOCK_LOG(kWarning, "worker_died", {"worker", death.number}, {"user", death.user},
                 {"pid", death.pid}, {"reason", death.reason});
    if (death.account == 0) continue;
    const absl::Status spent = losses_.Died(death.account, death.reason, now);
    if (!spent.ok()) FailAccount(death.account, spent);
  }
}

// The feeds of one dataset and user.
void Engine::FailAccount(uint64_t account, const absl::Status& why) {
  for (auto& [id, session] : sessions_) {
    if (session.feed->account != account) continue;
    if (session.feed->failed.ok()) session.feed->failed = why;
    Fail(id, why);
  }
}

}  // namespace penstock::feed
