// One run: a daemon, its trainers and datasets, and what goes wrong. Storms, in which faults of all
// kinds come every few seconds, alternate with calm times, in which everything must go on.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "tests/simulation/daemon.h"
#include "tests/simulation/storage.h"
#include "tests/simulation/trainers.h"

namespace penstock::simulation {

struct Plan {
  uint64_t seed = 1;
  uint64_t samples = 30'000;        // to deliver
  uint64_t faults = 20;             // on the way
  uint32_t jobs = 5, datasets = 4;  // besides two that are made in Python
  bool greedy = false;              // see Trainers; nothing fails then
  uint32_t workers = 0;             // 0: any number
  uint64_t pool_bytes = 4 << 20;
};

// The kinds of faults, and their names in the report.
enum class Fault : uint8_t {
  kWorkerKilled,
  kWorkerCrashed,
  kWorkerHangs,
  kSlowReads,
  kReadsFail,
  kFileChanged,
  kContentReplaced,
  kSampleCorrupt,
  kSampleDeadly,
  kStartsFail,
  kWorkersSet,
  kTrainerKilled,
  kTrainerStopped,
  kTrainerDisconnected,
  kTrainerLies,
  kDrain,
  kDaemonKilled,
  kDaemonStopped,
  kClockJumps,
  kMakerKilled,
  kMakerHangs,
  kHostKilled,
  kHostsLate,
};
inline constexpr size_t kFaultKinds = 23;
const char* NameOf(Fault fault);

class World {
 public:
  explicit World(const Plan& plan);

  // Throws Violation if an invariant does not hold.
  void Run();

  const Stage& stage() const { return stage_; }
  const Trainers& trainers() const { return trainers_; }
  uint64_t events() const { return happened_; }
  uint64_t faults() const { return faults_; }
  uint64_t restarts() const { return daemons_ - 1; }
  const std::array<uint64_t, kFaultKinds>& faults_by_kind() const { return by_kind_; }

 private:
  void Step();
  void Happen(const Event& event);
  void Check();
  void CheckFairness();
  void StartDaemon();
  void EndDaemon(Duration downtime);
  void PumpSoon(Duration delay);
  void Repair(size_t dataset);
  void FinishAndCheckThatNothingIsLeft();

  void NextFault();
  void Strike(Fault fault);
  bool StrikeWorkers(Fault fault);
  bool StrikeMakers(Fault fault);
  bool StrikeStorage(Fault fault);
  bool StrikeTrainers(Fault fault);
  void Spoil(const Files& files, uint64_t first, std::set<uint64_t>& bad);
  void Trouble(Duration length);

  const Plan plan_;
  Stage stage_;
  Storage storage_;
  Trainers trainers_;
  std::unique_ptr<Daemon> daemon_;
  bool pump_is_due_ = false, calm_for_good_ = false;
  TimePoint well_since_{};  // when the last fault ends
  uint64_t happened_ = 0, faults_ = 0, daemons_ = 0, left_of_storm_ = 0;
  std::array<uint64_t, kFaultKinds> by_kind_{};
};

}  // namespace penstock::simulation
