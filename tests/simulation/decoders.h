// Workers in place of the supervisor's: the same loop over the same pure parts (slot choice, worker
// slot state, meters, deaths, restarts), with simulated workers instead of processes and threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "server/workers/restart.h"
#include "server/workers/row_decoders.h"
#include "server/workers/slots/item_times.h"
#include "server/workers/slots/slot_meter.h"
#include "server/workers/slots/worker_slot_state.h"
#include "server/workers/supervisor_options.h"
#include "tests/simulation/promises.h"
#include "tests/simulation/storage.h"
#include "tests/simulation/worker.h"

namespace penstock::simulation {

class SimulatedDecoders final : public workers::RowDecoders {
 public:
  // Writes one half of a row; throws if nobody may write there.
  using WriteRow = std::function<void(const workers::WorkItem& item, int half)>;

  SimulatedDecoders(Stage& stage, Storage& storage, uint32_t count, WriteRow write);

  // ---- RowDecoders ----
  uint32_t count() const override { return static_cast<uint32_t>(slots_.size()); }
  size_t HeadroomFor(uint32_t user, uint32_t most) const override;
  bool MayReadAside() const override { return loose_ < workers::kMaxLoose; }
  void Submit(const workers::WorkItem& item, uint32_t most) override;
  std::vector<workers::SlotHolding> Holdings() const override;
  void GiveWay(uint32_t user) override;
  void NobodyWaits() override;
  void SetContended(bool contended) override { contended_ = contended; }
  std::vector<workers::Outcome> Collect(TimePoint now) override;
  std::vector<uint64_t> TakeOverdue() override { return std::exchange(overdue_, {}); }
  std::vector<workers::WorkerDeath> TakeDeaths() override { return std::exchange(deaths_, {}); }

  // ---- The supervisor's other calls ----
  void SetCount(uint32_t count);
  void Tick();
  const absl::Status& status() const { return restarts_.status(); }

  // ---- Events ----
  void Ready(uint64_t worker, uint64_t incarnation);
  void HasRead(uint64_t worker, uint64_t item);
  void Decoded(uint64_t worker, uint64_t incarnation);
  void Exited(uint64_t worker, uint64_t incarnation);

  // ---- Faults ----
  // A worker with a program, or null.
  SimulatedWorker* AnyWorker();
  void Die(SimulatedWorker& worker, const posix::Exit& exit);
  void KillAll();
  void Hang(SimulatedWorker& worker) { worker.program->hangs = true; }
  void FailStartsUntil(TimePoint time) { starts_fail_until_ = time; }

  // ---- What invariants look at ----
  size_t items() const;
  // Throws if one worker decodes without a worker slot, too many sleep, or items and users differ.
  void Check() const;
  const std::map<uint32_t, Duration>& spent() const { return spent_; }

 private:
  struct Slot {
    explicit Slot(const base::BackOff::Options& back_off) : state(back_off) {}
    workers::WorkerSlotState state;
    workers::SlotMeter meter;
    SlotPromises promises;
    std::unique_ptr<SimulatedWorker> worker;
  };
  using Worker = SimulatedWorker;

  workers::SlotLoad Load(const Slot& slot) const;
  const std::vector<workers::SlotLoad>& Loads() const;
  size_t Depth(uint32_t user) const;
  Worker* Find(uint64_t worker) const;
  template <typename Visit>
  void ForEachWorker(const Visit& visit) const {
    for (const auto& slot : slots_)
      if (slot->worker != nullptr) visit(*slot->worker);
    for (const auto& worker : asleep_) visit(*worker);
  }

  bool MakeReady(size_t slot, uint32_t user);
  void LetUserHave(size_t slot, uint32_t user);
  void Sleep(std::unique_ptr<Worker> worker);
  void KeepAsleep(size_t most);
  void StartProgram(Worker& worker);
  void StartAt(Slot& slot);
  void Give(Worker& worker, const workers::WorkItem& item);
  void ReadNext(Worker& worker);
  void DecodeNext(Worker& worker);
  void End(Worker& worker, const SimulatedItem& item, workers::OutcomeKind kind,
           base::Fault fault = base::Fault::kNone, absl::Status status = {});
  void Kill(Worker& worker);

  void CollectFrom(Worker& worker, std::vector<workers::Outcome>& outcomes);
  std::optional<workers::DeadWorker> ReapIfEnded(Worker& worker,
                                                 std::vector<workers::Outcome>& outcomes);
  void NoteDeath(const Worker& worker, const workers::DeadWorker& dead);
  void CollectSlot(Slot& slot, std::vector<workers::Outcome>& outcomes);
  void NoteOverdue();
  void HandBack(const source::Dataset& dataset);
  void DismissUnused();
  void Dismiss(std::unique_ptr<Worker> worker);
  void RemoveRetired();

  Stage& stage_;
  Storage& storage_;
  const WriteRow write_;
  workers::SupervisorOptions options_;
  workers::Restarts restarts_;
  Window promised_restarts_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::unique_ptr<Worker>> asleep_, leaving_;
  workers::ItemTimes item_times_;
  bool contended_ = false;
  size_t loose_ = 0;
  TimePoint starts_fail_until_{};
  std::vector<workers::Outcome> ended_;
  std::vector<uint64_t> overdue_;
  std::vector<workers::WorkerDeath> deaths_;
  std::map<uint32_t, Duration> spent_;  // by user: the time for which worker slots were occupied
  mutable std::vector<workers::SlotLoad> loads_;
};

}  // namespace penstock::simulation
