// Who is at which worker slot: users' workers come when their users have rows, and go when they
// have none.
#include <algorithm>
#include <tuple>

#include "common/base/check.h"
#include "common/posix/cpu_time.h"
#include "server/workers/supervisor.h"
#include "server/workers/worker_slot.h"

namespace penstock::workers {

// Of items that a worker slot has at once. While others wait for it, no more than are done soon.
size_t Supervisor::Depth(uint32_t user) const {
  const size_t most = options_.read_ahead + 1;
  if (!contended_) return most;
  const auto known = users_.find(user);
  if (known == users_.end() || known->second.item <= base::Duration::zero()) return 1;
  return std::clamp<size_t>(options_.turn / known->second.item, 1, most);
}

size_t Supervisor::HeadroomFor(uint32_t user, uint32_t most_worker_slots) const {
  const size_t depth = Depth(user);
  uint32_t own = 0, free = 0;
  size_t headroom = 0;
  for (const auto& worker_slot : worker_slots_) {
    if (!worker_slot->Serves(now_)) continue;
    if (worker_slot->IsFree()) {
      ++free;
    } else if (worker_slot->user_worker->user == user) {
      ++own;
      if (!worker_slot->gives_way)
        headroom += depth - std::min(depth, worker_slot->user_worker->queue->outstanding());
    }
  }
  return headroom + depth * std::min(free, most_worker_slots - std::min(most_worker_slots, own));
}

// The one with the least to do; among free ones the user's own, then one that has nobody.
Supervisor::WorkerSlot* Supervisor::SlotFor(const WorkItem& item) const {
  const auto rank = [&](const WorkerSlot& worker_slot) {
    if (worker_slot.user_worker == nullptr) return std::tuple(size_t{0}, 1);
    return std::tuple(worker_slot.user_worker->queue->outstanding(),
                      worker_slot.user_worker->user == item.user ? 0 : 2);
  };
  WorkerSlot* best = nullptr;
  for (const auto& worker_slot : worker_slots_) {
    const bool own =
        worker_slot->user_worker != nullptr && worker_slot->user_worker->user == item.user;
    if (!worker_slot->Serves(now_) || (!worker_slot->IsFree() && (!own || worker_slot->gives_way)))
      continue;
    if (best == nullptr || rank(*worker_slot) < rank(*best)) best = worker_slot.get();
  }
  if (best == nullptr || best->IsFree()) return best;
  return best->user_worker->queue->outstanding() < Depth(item.user) ? best : nullptr;
}

void Supervisor::Submit(const WorkItem& item) {
  WorkerSlot* worker_slot = SlotFor(item);
  PENSTOCK_CHECK(segments_.contains(item.segment));
  if (worker_slot == nullptr || !Man(*worker_slot, item.user)) return Lose(item);
  UserWorker& user_worker = *worker_slot->user_worker;
  if (!Show(user_worker, item.segment)) {
    worker_slot->closed_until = now_ + options_.back_off.first;
    return Lose(item);
  }
  worker_slot->gives_way = false;
  user_worker.given.push_back({item.id, item.account});
  user_worker.last_account = item.account;
  if (item.aside && user_worker.queue->GiveAside(item)) return;
  if (!worker_slot->busy_since) worker_slot->busy_since = base::Now();
  user_worker.queue->Give(item);
}

void Supervisor::Lose(const WorkItem& item) {
  ended_.push_back({.id = item.id, .kind = OutcomeKind::kLost, .fault = {}, .status = {}});
}

// Lets the user have the free worker slot, with a worker. False: none could be started.
bool Supervisor::Man(WorkerSlot& worker_slot, uint32_t user) {
  if (worker_slot.user_worker == nullptr || worker_slot.user_worker->user != user) {
    std::unique_ptr<UserWorker> next = Wake(user);
    if (worker_slot.user_worker != nullptr) PutToSleep(worker_slot);
    const WorkerQueue::Options queue{
        .number = worker_slot.number, .limits = options_.limits, .patience = options_.patience};
    if (next == nullptr) next = std::make_unique<UserWorker>(user, queue, wake_, loose_);
    if (!next->queue->has_reader()) {
      CouldNotStart(worker_slot, NoThread(), now_);
      return false;
    }
    worker_slot.user_worker = std::move(next);
  }
  users_.try_emplace(user);
  if (!worker_slot.user_worker->worker) Restart(worker_slot, now_);
  if (!worker_slot.user_worker->worker) return false;
  worker_slot.died = false;
  return true;
}

// The one that fell asleep last: the caches know it best.
std::unique_ptr<Supervisor::UserWorker> Supervisor::Wake(uint32_t user) {
  const auto found =
      std::find_if(asleep_.rbegin(), asleep_.rend(), [user](const auto& user_worker) {
        return user_worker->user == user && user_worker->Accepts() && user_worker->IsFree();
      });
  if (found == asleep_.rend()) return nullptr;
  std::unique_ptr<UserWorker> user_worker = std::move(*found);
  asleep_.erase(std::next(found).base());
  return user_worker;
}

// A read that does not come back is waited for, so that its user gets on however busy others are.
void Supervisor::PutToSleep(WorkerSlot& worker_slot) {
  worker_slot.NoteBusy();
  std::unique_ptr<UserWorker> user_worker = std::move(worker_slot.user_worker);
  worker_slot.gives_way = false;
  if (!user_worker->worker && user_worker->queue->held() == 0)
    return Dismiss(std::move(user_worker));
  user_worker->free_since = now_;
  asleep_.push_back(std::move(user_worker));
  EndTheOldestAsleep();
}

// So that there are no more than worker slots. One that waits for a read that does not come back
// goes last: the row is read again by another.
void Supervisor::EndTheOldestAsleep() {
  while (asleep() > worker_slots_.size()) {
    const auto has_worker = [](const auto& each) { return each->worker.has_value(); };
    auto oldest = std::find_if(asleep_.begin(), asleep_.end(), [&](const auto& each) {
      return has_worker(each) && each->queue->held() == 0;
    });
    if (oldest == asleep_.end()) oldest = std::find_if(asleep_.begin(), asleep_.end(), has_worker);
    std::unique_ptr<UserWorker> user_worker = std::move(*oldest);
    asleep_.erase(oldest);
    Dismiss(std::move(user_worker));
  }
}

uint32_t Supervisor::asleep() const {
  return static_cast<uint32_t>(std::count_if(
      asleep_.begin(), asleep_.end(), [](const auto& each) { return each->worker.has_value(); }));
}

// Ends its worker. A read that does not come back keeps its queue, and no worker.
void Supervisor::Dismiss(std::unique_ptr<UserWorker> user_worker) {
  if (user_worker->worker) {
    if (const auto used = posix::CpuTimeOf(user_worker->worker->pid());
        used && user_worker->last_account != 0)
      dismissed_.push_back({{.pid = user_worker->worker->pid(), .user = user_worker->user}, *used});
    Unwatch(user_worker->worker->link().done_event());
    Unwatch(user_worker->worker->pidfd());
  }
  if (user_worker->queue->held() == 0) return;
  if (std::exchange(user_worker->worker, std::nullopt)) user_worker->queue->Detach({}, ended_);
  leaving_.push_back(std::move(user_worker->queue));
}

void Supervisor::DismissUnused(base::TimePoint now) {
  const auto is_unused = [now](const UserWorker& user_worker, base::Duration keep) {
    return user_worker.queue->held() == 0 &&
           (!user_worker.worker || now - user_worker.free_since > keep);
  };
  for (const auto& worker_slot : worker_slots_)
    if (worker_slot->user_worker != nullptr && !worker_slot->died &&
        is_unused(*worker_slot->user_worker, options_.keep_idle))
      Dismiss(std::move(worker_slot->user_worker));
  for (auto& user_worker : asleep_)
    if (is_unused(*user_worker, options_.keep_asleep)) Dismiss(std::move(user_worker));
  std::erase(asleep_, nullptr);
  std::erase_if(users_, [this](const auto& entry) {
    const auto is_theirs = [&](const UserWorker* user_worker) {
      return user_worker != nullptr && user_worker->user == entry.first;
    };
    return std::none_of(worker_slots_.begin(), worker_slots_.end(),
                        [&](const auto& worker_slot) {
                          return is_theirs(worker_slot->user_worker.get());
                        }) &&
           std::none_of(asleep_.begin(), asleep_.end(),
                        [&](const auto& user_worker) { return is_theirs(user_worker.get()); });
  });
}

std::vector<Supervisor::Holding> Supervisor::Holdings() const {
  std::map<uint32_t, Holding> by_user;
  for (const auto& worker_slot : worker_slots_) {
    if (worker_slot->IsFree() || worker_slot->retiring) continue;
    Holding& holding = by_user.try_emplace(worker_slot->user_worker->user).first->second;
    holding.user = worker_slot->user_worker->user;
    ++holding.worker_slots;
    holding.giving_way += worker_slot->gives_way ? 1 : 0;
  }
  std::vector<Holding> holdings;
  for (const auto& [user, holding] : by_user) holdings.push_back(holding);
  return holdings;
}

std::vector<Supervisor::Served> Supervisor::WhoIsServed() const {
  std::vector<Served> served;
  const auto add = [&](const UserWorker* user_worker) {
    if (user_worker == nullptr || !user_worker->worker || user_worker->last_account == 0) return;
    served.push_back({.pid = user_worker->worker->pid(), .user = user_worker->user});
  };
  for (const auto& worker_slot : worker_slots_) add(worker_slot->user_worker.get());
  for (const auto& user_worker : asleep_) add(user_worker.get());
  return served;
}

void Supervisor::GiveWay(uint32_t user) {
  WorkerSlot* soonest = nullptr;
  for (const auto& worker_slot : worker_slots_) {
    if (worker_slot->IsFree() || worker_slot->gives_way || worker_slot->user_worker->user != user)
      continue;
    if (soonest == nullptr ||
        worker_slot->user_worker->queue->outstanding() < soonest->user_worker->queue->outstanding())
      soonest = worker_slot.get();
  }
  if (soonest != nullptr) soonest->gives_way = true;
}

void Supervisor::NobodyWaits() {
  for (const auto& worker_slot : worker_slots_) worker_slot->gives_way = false;
}

void Supervisor::RemoveRetired() {
  // From the back only: a worker slot's number is its place.
  while (!worker_slots_.empty() && worker_slots_.back()->retiring &&
         worker_slots_.back()->IsFree()) {
    retired_restarts_ += worker_slots_.back()->restarts;
    if (worker_slots_.back()->user_worker != nullptr)
      Dismiss(std::move(worker_slots_.back()->user_worker));
    worker_slots_.pop_back();
  }
  EndTheOldestAsleep();
}

}  // namespace penstock::workers
