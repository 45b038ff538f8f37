// What goes wrong.
#include <algorithm>
#include <csignal>

#include "tests/simulation/world.h"

namespace penstock::simulation {
namespace {

constexpr uint64_t kStorm = 20;  // faults, one every few seconds

}  // namespace

const char* NameOf(Fault fault) {
  switch (fault) {
    case Fault::kWorkerKilled:
      return "a worker is killed";
    case Fault::kWorkerCrashed:
      return "a worker crashes";
    case Fault::kWorkerHangs:
      return "a worker hangs";
    case Fault::kSlowReads:
      return "reads are slow";
    case Fault::kReadsFail:
      return "reads fail, then recover";
    case Fault::kFileChanged:
      return "a file has changed";
    case Fault::kContentReplaced:
      return "a dataset was replaced";
    case Fault::kSampleCorrupt:
      return "a sample is corrupt";
    case Fault::kSampleDeadly:
      return "a sample crashes its decoder";
    case Fault::kStartsFail:
      return "workers do not start";
    case Fault::kWorkersSet:
      return "the number of workers changes";
    case Fault::kTrainerKilled:
      return "a trainer is killed";
    case Fault::kTrainerStopped:
      return "a trainer stops";
    case Fault::kTrainerDisconnected:
      return "a trainer loses its connection";
    case Fault::kTrainerLies:
      return "a trainer writes wrong numbers";
    case Fault::kDrain:
      return "the daemon drains";
    case Fault::kDaemonKilled:
      return "the daemon is killed";
    case Fault::kDaemonStopped:
      return "the daemon is stopped";
    case Fault::kClockJumps:
      return "the clock jumps";
    case Fault::kMakerKilled:
      return "a Python worker is killed";
    case Fault::kMakerHangs:
      return "a Python worker hangs";
    case Fault::kHostKilled:
      return "a host is killed";
    case Fault::kHostsLate:
      return "hosts are late, or never enter";
  }
  return "";
}

// One sample, or so many in a row that the dataset or its user is given up.
void World::Spoil(const Files& files, uint64_t first, std::set<uint64_t>& bad) {
  const uint64_t count = stage_.random.OneIn(4) ? files.samples / 4 : 1;
  for (uint64_t i = 0; i < count; ++i) bad.insert((first + i) % files.samples);
}

void World::Trouble(Duration length) { well_since_ = std::max(well_since_, stage_.now() + length); }

// A storm of faults, then a calm that is long enough for everything to go on.
void World::NextFault() {
  if (calm_for_good_ || faults_ >= plan_.faults) return;
  if (left_of_storm_ == 0) {
    // Storms are spread over the samples.
    const double share = static_cast<double>(faults_) / static_cast<double>(plan_.faults);
    if (static_cast<double>(trainers_.samples()) < share * static_cast<double>(plan_.samples))
      return stage_.events.After(seconds(5), EventKind::kFault);
    left_of_storm_ = kStorm;
  }
  if (--left_of_storm_ == 0) {
    for (size_t i = 0; i < storage_.size(); ++i)
      stage_.events.After(seconds(30), EventKind::kRepair, i);
    Trouble(seconds(40));
    stage_.events.After(seconds(100), EventKind::kFault);
  } else {
    stage_.events.After(stage_.random.About(seconds(3)), EventKind::kFault);
  }
  Strike(static_cast<Fault>(stage_.random.Below(kFaultKinds)));
}

void World::Strike(Fault fault) {
  if (daemon_ == nullptr) fault = Fault::kClockJumps;
  stage_.Note(NameOf(fault), static_cast<uint64_t>(fault));
  ++faults_;
  ++by_kind_[static_cast<size_t>(fault)];
  Trouble(seconds(1));
  if (daemon_ != nullptr && (StrikeWorkers(fault) || StrikeMakers(fault) || StrikeStorage(fault) ||
                             StrikeTrainers(fault)))
    return;
  Random& random = stage_.random;
  if (fault == Fault::kDrain) {
    const Duration length = random.Between(seconds(1), seconds(30));
    trainers_.SetDraining(true);
    stage_.events.After(length, EventKind::kDrainEnds);
    Trouble(length + seconds(3));
  } else if (fault == Fault::kDaemonStopped || fault == Fault::kDaemonKilled) {
    if (fault == Fault::kDaemonStopped) daemon_->AnnounceClosing();
    EndDaemon(random.Between(milliseconds(10), seconds(5)));
  } else {
    stage_.events.Jump(random.Between(milliseconds(10), seconds(100)));
    Trouble(seconds(31));  // reads and workers seem to take too long
  }
}

bool World::StrikeWorkers(Fault fault) {
  SimulatedDecoders& decoders = daemon_->decoders();
  SimulatedWorker* worker = decoders.AnyWorker();
  Random& random = stage_.random;
  const Duration length = random.Between(seconds(1), seconds(30));
  switch (fault) {
    case Fault::kWorkerKilled:
      if (worker != nullptr) decoders.Die(*worker, {.signalled = true, .code = SIGKILL});
      return true;
    case Fault::kWorkerCrashed:
      if (worker != nullptr) decoders.Die(*worker, {.signalled = true, .code = SIGSEGV});
      return true;
    case Fault::kWorkerHangs:
      if (worker != nullptr) decoders.Hang(*worker);
      Trouble(seconds(31));
      return true;
    case Fault::kStartsFail:
      decoders.FailStartsUntil(stage_.now() + length);
      decoders.KillAll();
      Trouble(length + seconds(11));
      return true;
    case Fault::kWorkersSet:
      daemon_->SetWorkers(static_cast<uint32_t>(random.Between(uint64_t{1}, uint64_t{8})));
      return true;
    default:
      return false;
  }
}

bool World::StrikeMakers(Fault fault) {
  SimulatedMakers& makers = daemon_->makers();
  const Duration length = stage_.random.Between(seconds(1), seconds(30));
  switch (fault) {
    case Fault::kMakerKilled:
      makers.KillAnyProcess();
      return true;
    case Fault::kMakerHangs:
      makers.HangAnyProcess();
      Trouble(seconds(6));
      return true;
    case Fault::kHostKilled:
      makers.KillAnyHost();
      return true;
    case Fault::kHostsLate:
      makers.LateHostsUntil(stage_.now() + length);
      Trouble(length + seconds(16));
      return true;
    default:
      return false;
  }
}

bool World::StrikeStorage(Fault fault) {
  Random& random = stage_.random;
  Files& files = storage_.at(random.Below(storage_.size()));
  const Duration length = random.Between(milliseconds(100), seconds(15));
  const uint64_t sample = random.Below(files.samples);
  switch (fault) {
    case Fault::kSlowReads:
      files.slow_until = stage_.now() + length;
      Trouble(length + seconds(31));
      return true;
    case Fault::kReadsFail:  // and rows that wait to be read again are wanted no more
      files.fails_until = stage_.now() + length;
      for (int i = 1; i <= 3; ++i) stage_.events.After(length * i / 4, EventKind::kDeath);
      Trouble(length + seconds(2));
      return true;
    case Fault::kFileChanged:
      files.changed.insert(sample);
      return true;
    case Fault::kContentReplaced:
      ++files.contents;
      return true;
    case Fault::kSampleCorrupt:
      Spoil(files, sample, files.corrupt);
      return true;
    case Fault::kSampleDeadly:
      Spoil(files, sample, files.deadly);
      Trouble(seconds(75));  // a user whose samples cost too many workers waits for a minute
      return true;
    default:
      return false;
  }
}

bool World::StrikeTrainers(Fault fault) {
  switch (fault) {
    case Fault::kTrainerKilled:
      trainers_.Kill();
      return true;
    case Fault::kTrainerStopped:
      trainers_.Stop(stage_.random.Between(milliseconds(10), seconds(60)));
      return true;
    case Fault::kTrainerDisconnected:
      trainers_.Disconnect();
      return true;
    case Fault::kTrainerLies:
      trainers_.Lie();
      return true;
    default:
      return false;
  }
}

}  // namespace penstock::simulation
