// Rows and views of core.h.
#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "server/feed/core/core_state.h"

namespace penstock::feed {

// ---- Rows ----

std::optional<RowTask> Core::NextRow(FillPath fill_path, MayHave may_have, MayRead may_read) {
  state_->ahead.clear();
  return state_->ScheduleOf(fill_path).Next(
      may_have, may_read, [this](Session& session) -> Slot& { return state_->Begin(session); });
}

std::span<const Core::Ahead> Core::ahead() const { return state_->ahead; }

std::optional<UserId> Core::Claimant(FillPath fill_path) const {
  return state_->ScheduleOf(fill_path).claimant();
}

void Core::Claim(FillPath fill_path, UserId user) { state_->ScheduleOf(fill_path).Claim(user); }

base::Duration Core::Spent(FillPath fill_path, UserId user) const {
  return state_->ScheduleOf(fill_path).Spent(user);
}

void Core::Occupied(FillPath fill_path, absl::FunctionRef<base::Duration(UserId)> so_far) {
  state_->ScheduleOf(fill_path).Occupied(so_far);
}

bool Core::State::IsFilling(const RowTask& task) const {
  const Slot* slot = Get(slots, task.slot);
  return slot != nullptr && slot->generation == task.generation &&
         slot->state == SlotState::kFilling;
}

bool Core::IsWanted(const RowTask& task) const { return state_->IsFilling(task); }

// A slot with a row at a worker is not reused.
Slot& Core::State::SlotOf(const RowTask& task) const {
  Slot* slot = Get(slots, task.slot);
  PENSTOCK_CHECK(slot != nullptr && slot->generation == task.generation);
  return *slot;
}

void Core::RowDone(const RowTask& task, Cost cost, Keep keep) {
  Slot& slot = state_->SlotOf(task);
  state_->ScheduleOf(slot.filling.fill_path).Ended(task, cost);
  slot.rows.Done(task.row, task.rows);
  if (keep == Keep::kNo) slot.keep = Keep::kNo;
  if (State::FeedEntry* feed = Get(state_->feeds, task.feed)) {
    feed->counts.rows_decoded += task.rows;
    feed->counts.rows_replaced += task.attempt > 0 ? task.rows : 0;
  }
  if (slot.state == SlotState::kAbandoned) {
    slot.arena.Drain(slot);
    state_->Changed();
  } else if (slot.rows.AllDone()) {
    state_->Filled(slot);
  }
}

void Core::State::Filled(Slot& slot) {
  slot.arena.Filled(slot);
  ++Get(feeds, slot.key.feed)->counts.batches_decoded;
  for (Session* session : std::exchange(slot.waiting, {})) Announce(*session);
}

void Core::RowReturned(const RowTask& task, Cost cost) {
  state_->CameBack(task, task.attempt, cost);
}

void Core::RowRefused(const RowTask& task, Cost cost) {
  state_->CameBack(task, task.attempt + 1, cost);
}

void Core::State::CameBack(const RowTask& task, uint32_t attempt, Cost cost) {
  Slot& slot = SlotOf(task);
  ScheduleOf(slot.filling.fill_path).Ended(task, cost);
  slot.rows.Back(task.row, task.rows);
  if (slot.state == SlotState::kAbandoned) {
    slot.arena.Drain(slot);
    Changed();
    return;
  }
  RowTask back = task;
  back.attempt = attempt;
  ScheduleOf(slot.filling.fill_path).ComeBack(back, slot);
}

// ---- Time and views ----

void Core::Tick(base::TimePoint now) {
  for (const auto& [id, session] : state_->sessions) session->ShrinkIfUntouched(now);
}

std::optional<SessionView> Core::View(SessionId id) const {
  const Session* session = Get(state_->sessions, id);
  if (session == nullptr) return std::nullopt;
  return session->View();
}

std::optional<FeedView> Core::View(FeedId id) const {
  const State::FeedEntry* feed = Get(state_->feeds, id);
  if (feed == nullptr) return std::nullopt;
  return feed->counts;
}

void Core::ForEachSlot(absl::FunctionRef<void(SlotId, FeedId)> each) const {
  for (const auto& [id, slot] : state_->slots)
    if (slot->state != SlotState::kFree) each(id, slot->key.feed);
}

SlotCounts Core::Count(ArenaId id) const {
  const Arena* arena = Get(state_->arenas, id);
  return arena == nullptr ? SlotCounts() : arena->Count();
}

SlotCounts Core::CountAll() const {
  SlotCounts sum;
  for (const auto& [id, arena] : state_->arenas) {
    const SlotCounts counts = arena->Count();
    sum.slots += counts.slots;
    sum.held += counts.held;
    sum.cached += counts.cached;
    sum.filling += counts.filling;
    sum.abandoned += counts.abandoned;
  }
  return sum;
}

}  // namespace penstock::feed
