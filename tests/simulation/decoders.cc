// The supervisor's loop: worker slots, users and workers.
#include "tests/simulation/decoders.h"

#include <algorithm>
#include <set>
#include <utility>

namespace penstock::simulation {

using workers::Outcome;
using workers::OutcomeKind;
using workers::WorkItem;

SimulatedDecoders::SimulatedDecoders(Stage& stage, Storage& storage, uint32_t count, WriteRow write)
    : stage_(stage),
      storage_(storage),
      write_(std::move(write)),
      restarts_(options_.budget),
      promised_restarts_(options_.budget) {
  SetCount(count);
}

void SimulatedDecoders::SetCount(uint32_t count) {
  for (size_t i = 0; i < slots_.size(); ++i) slots_[i]->state.SetRetiring(i >= count);
  while (slots_.size() < count) slots_.push_back(std::make_unique<Slot>(options_.back_off));
  RemoveRetired();
}

workers::SlotLoad SimulatedDecoders::Load(const Slot& slot) const {
  const Worker* worker = slot.worker.get();
  const bool condemned =
      worker != nullptr && worker->program && worker->program->life.is_condemned();
  workers::SlotLoad load{.is_open = slot.state.IsOpen(stage_.now()) && !condemned,
                         .is_retiring = slot.state.is_retiring(),
                         .gives_way = slot.state.gives_way()};
  if (worker == nullptr) return load;
  load.user = worker->user;
  load.outstanding = worker->outstanding();
  return load;
}

const std::vector<workers::SlotLoad>& SimulatedDecoders::Loads() const {
  loads_.clear();
  for (const auto& slot : slots_) loads_.push_back(Load(*slot));
  return loads_;
}

size_t SimulatedDecoders::Depth(uint32_t user) const {
  const size_t most = 1 + options_.read_ahead;
  return contended_ ? item_times_.Depth(user, options_.turn, most) : most;
}

size_t SimulatedDecoders::HeadroomFor(uint32_t user, uint32_t most) const {
  return workers::HeadroomFor(Loads(), user, Depth(user), most);
}

std::vector<workers::SlotHolding> SimulatedDecoders::Holdings() const {
  return workers::ToHoldings(Loads());
}

void SimulatedDecoders::GiveWay(uint32_t user) {
  if (const auto chosen = workers::ChooseToGiveWay(Loads(), user))
    slots_[*chosen]->state.GiveWay(stage_.now());
}

void SimulatedDecoders::NobodyWaits() {
  for (const auto& slot : slots_) slot->state.KeepPlace();
}

// ---- Items ----

void SimulatedDecoders::Submit(const WorkItem& item, uint32_t most) {
  const auto chosen = workers::ChooseSlot(Loads(), item.user, Depth(item.user), most);
  if (!chosen || !MakeReady(*chosen, item.user)) {
    ended_.push_back({.id = item.id, .kind = OutcomeKind::kLost});
    return;
  }
  Slot& slot = *slots_[*chosen];
  Require(!slot.state.is_retiring(), "a worker slot that is to go gets another row");
  Require(slot.worker->user == item.user, "a worker got a row of another user");
  slot.state.KeepPlace();
  Give(*slot.worker, item);
  if (!item.aside) slot.meter.Take(stage_.now());
}

bool SimulatedDecoders::MakeReady(size_t number, uint32_t user) {
  Slot& slot = *slots_[number];
  if (slot.worker == nullptr || slot.worker->user != user) LetUserHave(number, user);
  item_times_.Add(user);
  if (!slot.worker->program) StartAt(slot);
  if (!slot.worker->program) return false;
  slot.state.OnTaken();
  return true;
}

void SimulatedDecoders::StartAt(Slot& slot) {
  Require(!slot.state.is_retiring(), "a worker starts at a worker slot that is to go");
  slot.promises.CheckStart(stage_.now());
  if (stage_.now() < starts_fail_until_ && stage_.random.OneIn(2)) {
    slot.promises.DidNotStart(stage_.now(), promised_restarts_);
    return slot.state.OnStartFailed("no memory", stage_.now(), restarts_);
  }
  StartProgram(*slot.worker);
  slot.state.OnStarted();
}

// The user's worker that fell asleep last, else a new one.
void SimulatedDecoders::LetUserHave(size_t number, uint32_t user) {
  std::unique_ptr<Worker> next;
  const auto found = std::find_if(asleep_.rbegin(), asleep_.rend(), [&](const auto& worker) {
    return worker->user == user && worker->works();
  });
  if (found != asleep_.rend()) {
    next = std::move(*found);
    asleep_.erase(std::next(found).base());
  }
  Slot& slot = *slots_[number];
  slot.state.KeepPlace();
  if (std::unique_ptr<Worker> last = std::move(slot.worker))
    if (last->program || !last->IsEmpty()) Sleep(std::move(last));
  if (next == nullptr) {
    next = std::make_unique<Worker>(
        Worker{.id = stage_.next_id++, .user = user, .number = static_cast<uint32_t>(number)});
  }
  slot.worker = std::move(next);
}

void SimulatedDecoders::Sleep(std::unique_ptr<Worker> worker) {
  Require(worker->IsFree(), "a worker with rows was put to sleep");
  worker->free_since = stage_.now();
  asleep_.push_back(std::move(worker));
  KeepAsleep(slots_.size());
}

void SimulatedDecoders::KeepAsleep(size_t most) {
  while (asleep_.size() > most) {
    std::unique_ptr<Worker> oldest = std::move(asleep_.front());
    asleep_.erase(asleep_.begin());
    Dismiss(std::move(oldest));
  }
}

// ---- Outcomes and deaths ----

std::vector<Outcome> SimulatedDecoders::Collect(TimePoint) {
  std::vector<Outcome> outcomes = std::exchange(ended_, {});
  for (const auto& slot : slots_) CollectSlot(*slot, outcomes);
  for (const auto& worker : asleep_) {
    CollectFrom(*worker, outcomes);
    if (const auto dead = ReapIfEnded(*worker, outcomes)) NoteDeath(*worker, *dead);
  }
  for (const auto& worker : leaving_) CollectFrom(*worker, outcomes);
  std::erase_if(leaving_, [](const auto& worker) { return worker->IsEmpty(); });
  RemoveRetired();
  return outcomes;
}

void SimulatedDecoders::CollectSlot(Slot& slot, std::vector<Outcome>& outcomes) {
  if (slot.worker == nullptr) return;
  const size_t before = outcomes.size();
  CollectFrom(*slot.worker, outcomes);
  const auto dead = ReapIfEnded(*slot.worker, outcomes);
  if (dead) {
    slot.promises.Died(dead->was_ready, dead->blameless || dead->account != 0, stage_.now(),
                       promised_restarts_);
    slot.state.OnDeath(*dead, stage_.now(), restarts_);
    NoteDeath(*slot.worker, *dead);
  }
  if (outcomes.size() > before) {
    const std::span<Outcome> ended = std::span(outcomes).subspan(before);
    const uint64_t decoded = slot.meter.decoded();
    item_times_.Note(slot.worker->user, slot.meter.Charge(ended, stage_.now()));
    spent_[slot.worker->user] += ended.front().times.taken;
    if (slot.meter.decoded() > decoded) {
      slot.promises.Decoded();
      slot.state.OnDecoded();
    }
  }
  if (!slot.worker->IsFree()) return;
  slot.state.KeepPlace();
  slot.meter.Free();
}

void SimulatedDecoders::CollectFrom(Worker& worker, std::vector<Outcome>& outcomes) {
  if (worker.ended.empty()) return;
  worker.given.Remove(worker.ended);
  outcomes.insert(outcomes.end(), worker.ended.begin(), worker.ended.end());
  worker.ended.clear();
  worker.free_since = stage_.now();
}

std::optional<workers::DeadWorker> SimulatedDecoders::ReapIfEnded(Worker& worker,
                                                                  std::vector<Outcome>& outcomes) {
  if (!worker.program || !worker.program->exit) return std::nullopt;
  const SimulatedProgram program = *std::exchange(worker.program, std::nullopt);
  const workers::KillReason why = program.life.kill_reason();
  workers::DeadWorker dead{.reason = workers::Describe(why, *program.exit),
                           .how = workers::Describe(why, *program.exit),
                           .was_ready = program.ready,
                           .blameless = workers::IsBlameless(why)};
  const auto in_hand = worker.decoding ? std::optional(worker.ring.front().work.id) : std::nullopt;
  if (dead.was_ready && !dead.blameless) dead.account = worker.given.WhoPays(in_hand);
  if (worker.decoding) {
    const workers::WorkerQueue::InHandEnds ends = workers::EndOf(why, *program.exit);
    const SimulatedItem item = worker.ring.front();
    worker.ring.pop_front();
    if (ends.kind == OutcomeKind::kStrike)
      storage_.Of(*item.work.dataset).Strike(item.work.sample, stage_.now());
    End(worker, item, ends.kind, ends.fault);
  }
  worker.decoding = false;
  for (const SimulatedItem& item : std::exchange(worker.ring, {}))
    End(worker, item, OutcomeKind::kLost);
  const bool reads = !worker.inbox.empty() && worker.inbox.front().reading;
  while (worker.inbox.size() > (reads ? 1 : 0)) {
    End(worker, worker.inbox.back(), OutcomeKind::kLost);
    worker.inbox.pop_back();
  }
  CollectFrom(worker, outcomes);
  return dead;
}

void SimulatedDecoders::NoteDeath(const Worker& worker, const workers::DeadWorker& dead) {
  stage_.Note("a dead worker was reaped", worker.id, worker.user, dead.account);
  deaths_.push_back({.number = worker.number,
                     .reason = dead.reason,
                     .user = worker.user,
                     .account = dead.account});
}

// ---- Time-outs and idle workers ----

void SimulatedDecoders::Tick() {
  NoteOverdue();
  ForEachWorker([&](Worker& worker) {
    if (!worker.IsEmpty()) worker.free_since = stage_.now();
    if (!worker.program) return;
    const auto since = worker.ring.empty() ? std::nullopt : std::optional(worker.oldest_since);
    if (worker.program->life.CheckTimeOuts(
            stage_.now(), worker.program->ready, since,
            {.start = options_.start_timeout, .sample = options_.sample_timeout}))
      Kill(worker);
  });
  for (const auto& slot : slots_) {
    const bool due =
        slot->worker != nullptr && !slot->worker->program && slot->state.IsRestartDue(stage_.now());
    if (due) StartAt(*slot);
    slot->meter.Update(stage_.now());
  }
  DismissUnused();
  RemoveRetired();
}

void SimulatedDecoders::DismissUnused() {
  const auto is_unused = [&](const Worker& worker, Duration keep) {
    return worker.IsFree() && (!worker.program || stage_.now() - worker.free_since >= keep);
  };
  for (const auto& slot : slots_) {
    if (slot->worker != nullptr && !slot->state.awaits_restart() &&
        is_unused(*slot->worker, options_.keep_idle))
      Dismiss(std::move(slot->worker));
  }
  for (size_t i = asleep_.size(); i-- > 0;) {
    if (!is_unused(*asleep_[i], options_.keep_asleep)) continue;
    Dismiss(std::move(asleep_[i]));
    asleep_.erase(asleep_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::set<uint32_t> users;
  ForEachWorker([&](Worker& worker) { users.insert(worker.user); });
  item_times_.ForgetIf([&](uint32_t user) { return !users.contains(user); });
}

// Ends its program. Rows that came to it while it slept are lost, and given out again.
void SimulatedDecoders::Dismiss(std::unique_ptr<Worker> worker) {
  worker->program.reset();
  worker->decoding = false;
  for (const SimulatedItem& item : std::exchange(worker->ring, {}))
    End(*worker, item, OutcomeKind::kLost);
  if (!worker->IsEmpty()) leaving_.push_back(std::move(worker));
}

void SimulatedDecoders::RemoveRetired() {
  while (!slots_.empty() && slots_.back()->state.is_retiring()) {
    std::unique_ptr<Worker>& worker = slots_.back()->worker;
    if (worker != nullptr && !worker->IsFree()) break;
    if (worker != nullptr) Dismiss(std::move(worker));
    slots_.pop_back();
  }
  KeepAsleep(slots_.size());
}

// ---- Invariants ----

size_t SimulatedDecoders::items() const {
  size_t items = ended_.size();
  ForEachWorker([&](const Worker& worker) { items += worker.held(); });
  for (const auto& worker : leaving_) items += worker->held();
  return items;
}

void SimulatedDecoders::Check() const {
  Require(asleep_.size() <= slots_.size(), "more workers sleep than there are worker slots");
  for (const auto& worker : asleep_)
    Require(worker->inbox.empty() && (worker->ring.empty() || worker->held() > 0),
            "a worker without a worker slot has rows to read");
  ForEachWorker([&](const Worker& worker) {
    Require(!worker.decoding || (!worker.ring.empty() && worker.program), "nobody decodes");
    for (const SimulatedItem& item : worker.ring)
      Require(item.work.user == worker.user, "a worker has a row of another user");
  });
}

}  // namespace penstock::simulation
