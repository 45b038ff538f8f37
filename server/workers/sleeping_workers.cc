#include "server/workers/sleeping_workers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/check.h"

namespace penstock::workers {

bool IsUnused(const UserWorker& worker, base::TimePoint now, base::Duration keep) {
  return worker.IsEmpty() && (!worker.has_process() || now - worker.free_since() > keep);
}

void SleepingWorkers::Add(std::unique_ptr<UserWorker> worker, base::TimePoint now) {
  PENSTOCK_CHECK(worker->IsFree() || worker->is_set_aside());
  worker->BeFreeSince(now);
  workers_.push_back(std::move(worker));
}

std::unique_ptr<UserWorker> SleepingWorkers::Wake(uint32_t user) {
  const auto found = std::find_if(workers_.rbegin(), workers_.rend(), [user](const auto& worker) {
    return worker->user() == user && worker->has_process() && !worker->is_condemned() &&
           worker->IsFree();
  });
  if (found == workers_.rend()) return nullptr;
  std::unique_ptr<UserWorker> worker = std::move(*found);
  workers_.erase(std::next(found).base());
  return worker;
}

std::vector<std::unique_ptr<UserWorker>> SleepingWorkers::TakeBeyond(size_t most) {
  const auto has_process = [](const auto& worker) { return worker->has_process(); };
  std::vector<std::unique_ptr<UserWorker>> taken;
  while (processes() > most) {
    auto oldest = std::find_if(workers_.begin(), workers_.end(), [&](const auto& worker) {
      return has_process(worker) && worker->IsEmpty();
    });
    if (oldest == workers_.end())
      oldest = std::find_if(workers_.begin(), workers_.end(), [&](const auto& worker) {
        return has_process(worker) && worker->IsFree();
      });
    if (oldest == workers_.end()) break;
    taken.push_back(std::move(*oldest));
    workers_.erase(oldest);
  }
  return taken;
}

std::vector<std::unique_ptr<UserWorker>> SleepingWorkers::TakeUnused(base::TimePoint now,
                                                                     base::Duration keep) {
  const auto kept =
      std::stable_partition(workers_.begin(), workers_.end(),
                            [&](const auto& worker) { return !IsUnused(*worker, now, keep); });
  std::vector<std::unique_ptr<UserWorker>> taken(std::make_move_iterator(kept),
                                                 std::make_move_iterator(workers_.end()));
  workers_.erase(kept, workers_.end());
  return taken;
}

size_t SleepingWorkers::set_aside() const {
  return static_cast<size_t>(std::count_if(
      workers_.begin(), workers_.end(), [](const auto& worker) { return worker->is_set_aside(); }));
}

uint32_t SleepingWorkers::SetAsideOf(uint32_t user) const {
  return static_cast<uint32_t>(std::count_if(
      workers_.begin(), workers_.end(),
      [user](const auto& worker) { return worker->is_set_aside() && worker->user() == user; }));
}

std::vector<AsideLoad> SleepingWorkers::Aside(base::TimePoint now) const {
  std::vector<AsideLoad> aside;
  for (const auto& worker : workers_)
    if (worker->is_set_aside())
      aside.push_back({.user = worker->user(), .uncharged = worker->Uncharged(now)});
  return aside;
}

size_t SleepingWorkers::processes() const {
  return static_cast<size_t>(std::count_if(
      workers_.begin(), workers_.end(), [](const auto& worker) { return worker->has_process(); }));
}

}  // namespace penstock::workers
