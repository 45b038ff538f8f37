#include "server/workers/slots/worker_slots.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace penstock::workers {

void WorkerSlots::RetireBeyond(size_t count) {
  for (size_t i = 0; i < slots_.size(); ++i) slots_[i]->state().SetRetiring(i >= count);
}

std::vector<std::unique_ptr<UserWorker>> WorkerSlots::RemoveRetired() {
  std::vector<std::unique_ptr<UserWorker>> workers;
  while (!slots_.empty() && slots_.back()->state().is_retiring() && slots_.back()->IsFree()) {
    removed_restarts_ += slots_.back()->state().restarts();
    if (auto worker = slots_.back()->TakeWorker()) workers.push_back(std::move(worker));
    slots_.pop_back();
  }
  return workers;
}

std::span<const SlotLoad> WorkerSlots::Loads(base::TimePoint now) const {
  loads_.clear();
  for (const auto& slot : slots_) loads_.push_back(slot->Load(now));
  return loads_;
}

size_t WorkerSlots::HeadroomFor(uint32_t user, size_t depth, uint32_t most,
                                base::TimePoint now) const {
  return workers::HeadroomFor(Loads(now), user, depth, most);
}

WorkerSlot* WorkerSlots::Choose(uint32_t user, size_t depth, uint32_t most,
                                base::TimePoint now) const {
  const std::optional<size_t> chosen = ChooseSlot(Loads(now), user, depth, most);
  return chosen ? slots_[*chosen].get() : nullptr;
}

void WorkerSlots::GiveWay(uint32_t user, base::TimePoint now) {
  if (const auto chosen = ChooseToGiveWay(Loads(now), user)) slots_[*chosen]->state().GiveWay(now);
}

void WorkerSlots::NobodyWaits() {
  for (const auto& slot : slots_) slot->state().KeepPlace();
}

uint32_t WorkerSlots::serving(base::TimePoint now) const {
  return static_cast<uint32_t>(std::count_if(
      slots_.begin(), slots_.end(), [now](const auto& slot) { return slot->IsServing(now); }));
}

uint64_t WorkerSlots::restarts() const {
  uint64_t restarts = removed_restarts_;
  for (const auto& slot : slots_) restarts += slot->state().restarts();
  return restarts;
}

double WorkerSlots::utilisation() const {
  double sum = 0;
  for (const auto& slot : slots_) sum += slot->meter().utilisation();
  return slots_.empty() ? 0 : sum / static_cast<double>(slots_.size());
}

std::vector<WorkerView> WorkerSlots::View(base::TimePoint now) const {
  std::vector<WorkerView> views;
  for (const auto& slot : slots_) views.push_back(slot->View(now));
  return views;
}

}  // namespace penstock::workers
