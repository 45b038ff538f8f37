#include "server/workers/slots/worker_slot.h"

#include <span>

namespace penstock::workers {

std::unique_ptr<UserWorker> WorkerSlot::TakeWorker() {
  NoteBusy();
  state_.KeepPlace();
  return std::move(worker_);
}

std::unique_ptr<UserWorker> WorkerSlot::SetAside(base::TimePoint now) {
  worker_->SetAside(meter_.taken_since().value_or(now));
  meter_.Free();
  return TakeWorker();
}

SlotLoad WorkerSlot::Load(base::TimePoint now) const {
  SlotLoad load{
      .is_open = IsOpen(now), .is_retiring = state_.is_retiring(), .gives_way = state_.gives_way()};
  if (worker_ == nullptr) return load;
  load.user = worker_->user();
  load.outstanding = worker_->outstanding();
  if (meter_.taken_since()) load.uncharged = now - *meter_.taken_since();
  return load;
}

WorkerView WorkerSlot::View(base::TimePoint now) const {
  const bool has_process = worker_ != nullptr && worker_->has_process();
  WorkerView view{.number = number_,
                  .pid = has_process ? worker_->pid() : 0,
                  .user = {},
                  .state = state_.View(now, has_process, has_process && worker_->is_ready()),
                  .decoded = meter_.decoded(),
                  .restarts = state_.restarts(),
                  .utilisation = meter_.utilisation(),
                  .in_hand = {},
                  .stalled = {},
                  .last_death = state_.last_death()};
  if (worker_ == nullptr) return view;
  view.user = worker_->user();
  if (const auto oldest = worker_->InHand())
    view.in_hand = {.dataset = oldest->dataset, .sample = oldest->sample, .since = oldest->since};
  view.stalled = worker_->Stalled(now);
  return view;
}

void WorkerSlot::Give(const WorkItem& item, base::TimePoint now) {
  state_.KeepPlace();
  if (worker_->Give(item)) meter_.Take(now);
}

std::optional<DeadWorker> WorkerSlot::Collect(base::TimePoint now, Restarts& restarts,
                                              ItemTimes& item_times,
                                              std::vector<Outcome>& outcomes) {
  if (worker_ == nullptr) return std::nullopt;
  const size_t before = outcomes.size();
  worker_->Collect(now, outcomes);
  std::optional<DeadWorker> dead = worker_->ReapIfEnded(now, outcomes);
  if (dead) state_.OnDeath(*dead, now, restarts);
  if (outcomes.size() > before) Charge(before, item_times, outcomes);
  if (!worker_->IsFree()) return dead;
  state_.KeepPlace();
  meter_.Free();
  return dead;
}

void WorkerSlot::Charge(size_t from, ItemTimes& item_times, std::vector<Outcome>& outcomes) {
  const uint64_t before = meter_.decoded();
  const std::span<Outcome> ended = std::span(outcomes).subspan(from);
  for (Outcome& outcome : ended) outcome.worker = number_;
  // Uses the real time, because the outcomes' own times were taken after `now`.
  item_times.Note(worker_->user(), meter_.Charge(ended, base::Now()));
  if (meter_.decoded() > before) state_.OnDecoded();
}

}  // namespace penstock::workers
