// Hosts and Python workers without processes: trainers fork hosts late or never, and workers start,
// make batches row by row, ask for room, hang and die at any moment. Real is the queue of streams.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "server/pyworkers/batch_makers.h"
#include "server/pyworkers/stream_queue.h"
#include "tests/simulation/made.h"
#include "tests/simulation/storage.h"

namespace penstock::simulation {

// What the makers know of a dataset's sessions.
struct MakerSessions {
  uint32_t workers = 0;                 // that they ask for
  uint64_t account = 0;                 // charged for deaths
  std::vector<uint64_t> trainers = {};  // their peers; empty: none is open
};

class SimulatedMakers final : public pyworkers::BatchMakers {
 public:
  struct World {
    std::function<MakerSessions(pyworkers::DatasetRef)> sessions;
    // The slot of an item; throws if it must not be written up to that byte of its made part.
    std::function<std::byte*(const pyworkers::MakeItem&, uint64_t end)> slot;
  };
  SimulatedMakers(Stage& stage, Storage& storage, World world)
      : stage_(stage), storage_(storage), world_(std::move(world)) {}

  // ---- BatchMakers ----
  bool MayMake(pyworkers::DatasetRef dataset, bool in_stream) override;
  void Submit(pyworkers::DatasetRef dataset, const pyworkers::MakeItem& item,
              TimePoint now) override;
  void GivenOut(TimePoint now) override;
  pyworkers::MakerNews Collect(TimePoint now) override;
  void GiveRoom(const pyworkers::RoomWanted& wanted, uint64_t granted, TimePoint now) override;

  // ---- Events ----
  void HostEnters(uint64_t supply, uint64_t attempt);
  void Proceed(uint64_t process, uint64_t step);
  // A trainer is gone, and with it the hosts that it forked.
  void PeerLeft(uint64_t peer);
  // A dataset that failed is tried again, and a host that is present gets more workers.
  void SessionOpened(pyworkers::DatasetRef dataset);

  // ---- Faults ----
  void KillAnyProcess();
  void KillAnyHost();
  void HangAnyProcess();
  void LateHostsUntil(TimePoint time) { hosts_late_until_ = time; }

  // What invariants look at.
  size_t items() const;

 private:
  enum class Step { kStarts, kIdle, kMakes, kAwaitsRoom, kDead };
  struct Given {
    pyworkers::MakeItem item;
    TimePoint given{};
  };
  struct Process {
    uint64_t id = 0;
    uint32_t place = 0, start = 0;
    Step step = Step::kStarts;
    uint64_t token = 0;  // of its next event; others are void
    std::deque<Given> items = {};
    std::vector<uint64_t> samples = {}, offsets = {};  // of the first item, once it was started
    bool started = false, hangs = false, refused = false;
    uint32_t row = 0;
    uint64_t granted = 0;
    pyworkers::KillCause cause = pyworkers::KillCause::kNone;
  };
  struct Supply {
    uint64_t id = 0;
    uint64_t attempt = 0;  // at having a host; 0: none is asked for
    uint32_t failures = 0;
    bool failed = false, worked = false;
    uint64_t host = 0, trainer = 0;  // 0: none; the trainer is the one that is asked for it
    std::map<uint32_t, Process> places = {};
    pyworkers::StreamQueue streams = {};
  };
  struct Found {
    Supply* supply = nullptr;
    pyworkers::DatasetRef dataset = nullptr;
    Process* process = nullptr;
  };

  Files& FilesOf(pyworkers::DatasetRef dataset);
  Found Find(uint64_t process);
  Found AnyProcess();
  void AskForHost(pyworkers::DatasetRef dataset, Supply& supply);
  void HostFailed(pyworkers::DatasetRef dataset, Supply& supply);
  void HostGone(Supply& supply);
  void StartAt(Supply& supply, uint32_t place, Duration delay);
  static size_t Headroom(const Process& process);
  void Give(Process& process, const pyworkers::MakeItem& item);
  void GiveOutStreams(Supply& supply);

  void After(Process& process, Duration delay);
  void Begin(Process& process);
  void Work(const Found& found);
  void WriteRow(Process& process, uint32_t row, int half);
  void WriteHead(Process& process, MadeKind kind);
  void End(Process& process, pyworkers::MakeEnd end, uint64_t bytes, std::optional<uint32_t> row);
  void Raise(const Found& found, MadeKind kind);
  void Die(Process& process, pyworkers::KillCause cause);
  void Reap(const Found& found);
  pyworkers::MakeResult ToLost(const Given& given) const;

  Stage& stage_;
  Storage& storage_;
  const World world_;
  std::map<pyworkers::DatasetRef, Supply> supplies_;
  pyworkers::MakerNews news_;
  TimePoint hosts_late_until_{};
};

}  // namespace penstock::simulation
