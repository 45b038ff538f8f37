#include "tests/simulation/world.h"

#include <algorithm>

namespace penstock::simulation {
namespace {

// Beyond the time for which a fault lasts, which Trouble knows: workers that died are replaced
// after 10 s at most, refused sessions ask again after 3 s, and a failed dataset may be opened
// again within a minute.
constexpr Duration kMostWithoutProgress = seconds(75);

// A turn more than another may be used before a worker slot changes hands, a turn's work may have
// been given out by then at each, and the longest sample takes about a tenth of a second.
constexpr Duration kMostApart = milliseconds(200);

}  // namespace

World::World(const Plan& plan)
    : plan_(plan),
      stage_(plan.seed),
      storage_(stage_, plan.datasets, !plan.greedy),
      trainers_(stage_, storage_, plan.jobs, plan.greedy) {
  StartDaemon();
  stage_.events.After(milliseconds(100), EventKind::kTick);
  if (plan.faults > 0) stage_.events.After(seconds(2), EventKind::kFault);
}

void World::Run() {
  while (trainers_.samples() < plan_.samples || faults_ < plan_.faults) Step();
  if (!plan_.greedy) FinishAndCheckThatNothingIsLeft();
}

void World::Step() {
  ++happened_;
  Happen(stage_.events.Next());
  Check();
}

void World::Check() {
  if (daemon_ != nullptr) daemon_->Check();
  trainers_.CheckLeases();
  trainers_.CheckProgress(well_since_, kMostWithoutProgress);
  if (plan_.greedy) CheckFairness();
}

// Users who want more than the workers can decode have used about the same time of them.
void World::CheckFairness() {
  if (stage_.now() < TimePoint(seconds(2))) return;
  std::array<Duration, 3> spent;
  for (uint32_t i = 0; i < spent.size(); ++i)
    spent[i] = daemon_->core().Spent(feed::FillPath::kWorkers, feed::UserId(1000 + i));
  const auto [least, most] = std::minmax_element(spent.begin(), spent.end());
  const int64_t apart = (*most - *least).count();
  Require(apart <= Duration(kMostApart).count(), "one user has used ", apart / 1000,
          " us more of the workers' time than another");
}

// Nothing fails any more: all jobs must end, and leave nothing.
void World::FinishAndCheckThatNothingIsLeft() {
  calm_for_good_ = true;
  trainers_.BeginNoMore();
  for (size_t i = 0; i < storage_.size(); ++i) Repair(i);
  while (!trainers_.AllDone() || daemon_ == nullptr) Step();
  const TimePoint until = stage_.now() + seconds(40);
  while (stage_.now() < until || !daemon_->IsIdle()) Step();
  daemon_->CheckNothingIsLeft();
}

// ---- Events ----

void World::Happen(const Event& event) {
  SimulatedDecoders* decoders = daemon_ == nullptr ? nullptr : &daemon_->decoders();
  switch (event.kind) {
    case EventKind::kPump:
      pump_is_due_ = false;
      if (daemon_ == nullptr) return;
      if (daemon_->Pump()) PumpSoon(microseconds(5));
      return trainers_.Hear();
    case EventKind::kTick:
      stage_.events.After(milliseconds(100), EventKind::kTick);
      if (daemon_ == nullptr) return;
      daemon_->Tick();
      if (!daemon_->status().ok()) EndDaemon(seconds(1));
      break;
    case EventKind::kReady:
      if (decoders != nullptr) decoders->Ready(event.id, event.detail);
      break;
    case EventKind::kRead:
      if (decoders != nullptr) decoders->HasRead(event.id, event.detail);
      break;
    case EventKind::kDecoded:
      if (decoders != nullptr) decoders->Decoded(event.id, event.detail);
      break;
    case EventKind::kExit:
      if (decoders != nullptr) decoders->Exited(event.id, event.detail);
      break;
    case EventKind::kMaker:
      if (daemon_ != nullptr) daemon_->makers().Proceed(event.id, event.detail);
      break;
    case EventKind::kHost:
      if (daemon_ != nullptr) daemon_->makers().HostEnters(event.id, event.detail);
      break;
    case EventKind::kTrainer:
      trainers_.Look(event.id, event.detail);
      break;
    case EventKind::kRelease:
      trainers_.Release(event.id, event.detail);
      break;
    case EventKind::kOpen:
      trainers_.Open(event.id, event.detail);
      break;
    case EventKind::kFault:
      NextFault();
      break;
    case EventKind::kDeath:
      trainers_.Kill();
      break;
    case EventKind::kStart:
      StartDaemon();
      break;
    case EventKind::kDrainEnds:
      if (daemon_ != nullptr) trainers_.SetDraining(false);
      break;
    case EventKind::kRepair:
      Repair(event.id);
      break;
  }
  PumpSoon(stage_.random.About(microseconds(30)));
}

void World::Repair(size_t dataset) {
  storage_.Repair(dataset);
  if (daemon_ != nullptr) daemon_->QuarantineCleared(*storage_.at(dataset).state);
}

void World::PumpSoon(Duration delay) {
  if (std::exchange(pump_is_due_, true)) return;
  stage_.events.After(delay, EventKind::kPump);
}

// ---- The daemon's life ----

void World::StartDaemon() {
  if (daemon_ != nullptr) return;
  stage_.Note("a daemon starts", ++daemons_);
  daemon_ = std::make_unique<Daemon>(
      stage_, storage_,
      Daemon::Options{
          .workers = static_cast<uint32_t>(
              plan_.workers > 0 ? plan_.workers : stage_.random.Between(uint64_t{3}, uint64_t{6})),
          .pool_bytes = plan_.pool_bytes},
      [this](uint64_t peer, const void* message, size_t bytes, const std::vector<int>& fds) {
        return trainers_.Receive(peer, message, bytes, fds);
      },
      [this](uint32_t segment, uint64_t offset) { return trainers_.IsHeld(segment, offset); });
  trainers_.SetDaemon(daemon_.get());
}

// What is under way is lost. The quarantines are in the state directory.
void World::EndDaemon(Duration downtime) {
  if (daemon_ == nullptr) return;
  stage_.Note("the daemon ends", daemons_);
  daemon_.reset();
  trainers_.DaemonGone();
  storage_.ForgetOpened();
  stage_.events.After(downtime, EventKind::kStart);
  Trouble(downtime + seconds(3));
}

}  // namespace penstock::simulation
