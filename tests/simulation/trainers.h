// Trainers: jobs of one or more ranks that read datasets for some epochs, with all that the client
// library does in shared memory. They know from the plan alone what they must get, and check it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "common/posix/memory.h"
#include "common/shm/control_page.h"
#include "server/session/grant.h"
#include "tests/simulation/daemon.h"

namespace penstock::simulation {

// What a trainer's state remembers.
struct Where {
  uint64_t epoch = 0, consumed = 0;
  auto operator<=>(const Where&) const = default;
};

// A process: what it got through the doorway.
struct Peer {
  uint64_t id = 0;
  std::map<uint32_t, std::shared_ptr<posix::Mapping>> segments = {};
  std::optional<posix::Mapping> page = {};  // of the session opened last
};

struct HeldBatch {
  shm::ControlEntry entry;
  std::shared_ptr<posix::Mapping> segment;
  uint64_t bytes_digest = 0;
};

struct Rank {
  Peer peer;
  std::optional<session::Grant> grant = {};  // of its open session
  TimePoint opened{};                        // when
  Where at;                                  // the state: what it consumed so far
  uint64_t taken = 0;                        // in this session
  std::deque<HeldBatch> held = {};           // not yet released
  bool done = false;
  bool lies = false;  // what it holds is its own affair
  bool idle = false;  // it waits for a batch, or for other ranks
  TimePoint stopped_until{};
  // While the daemon drains: the epoch that may be finished, and what was announced by then.
  struct LastBatches {
    uint64_t announced = 0, epoch = 0;
  };
  std::optional<LastBatches> last = {};
  uint64_t wake = 0;  // number of its last wake-up; earlier ones are void

  // **Requires**: a session is open.
  shm::ControlPage* page() const { return reinterpret_cast<shm::ControlPage*>(peer.page->data()); }
};

struct Job {
  uint64_t number = 0;
  uint32_t user = 0;
  size_t dataset = 0;
  plan::Order order = plan::Order::kShuffled;
  plan::Remainder remainder = plan::Remainder::kPartial;
  uint64_t seed = 0, epochs = 1, samples = 0;
  uint32_t batch_size = 1, window = 2;
  Duration step = milliseconds(5);
  // Of Python datasets.
  bool in_python = false, replaces = false;
  uint32_t streams = 0;
  std::vector<Rank> ranks = {};
  Where checkpoint = {};  // where a job that died starts again
  TimePoint moved_at{};   // when one of its ranks last got a batch
  // By epoch: how often each position was delivered.
  std::map<uint64_t, std::vector<uint8_t>> seen = {};
  std::map<uint64_t, uint64_t> seen_count = {};

  plan::Share ShareOf(size_t rank, uint64_t consumed) const;
  // The next batch of a rank in this state; nullopt: it has all of its epochs.
  struct Next {
    Where at;  // where the epoch stands before this batch
    plan::Batch batch;
  };
  std::optional<Next> NextOf(size_t rank) const;
};

class Trainers {
 public:
  // `greedy`: each user has jobs that take batches as fast as they come, and never end.
  Trainers(Stage& stage, Storage& storage, uint32_t jobs, bool greedy);

  void SetDaemon(Daemon* daemon) { daemon_ = daemon; }
  // Part of Daemon's constructor.
  absl::Status Receive(uint64_t peer, const void* message, size_t bytes,
                       const std::vector<int>& fds);
  bool IsHeld(uint32_t segment, uint64_t offset) const;

  // ---- Events; `id` is a rank's number, `wake` that of its wake-up ----
  void Look(uint64_t id, uint64_t wake);
  void Release(uint64_t id, uint64_t sequence);
  void Open(uint64_t id, uint64_t wake);

  // ---- Faults ----
  void Kill();                             // a process: its job starts again from its checkpoint
  void Stop(Duration length);              // … sleeps
  void Disconnect();                       // … loses its connection
  void Lie();                              // … writes wrong numbers to its page
  void SetDraining(bool draining);         // the daemon is told so, too
  void DaemonGone();                       // all keep what they hold, and resume
  void BeginNoMore() { no_more_ = true; }  // jobs that end have no successor

  uint64_t samples() const { return samples_; }
  uint64_t batches() const { return batches_; }
  uint64_t replaced() const { return replaced_; }
  uint64_t made() const { return made_; }      // batches of Python workers
  uint64_t raised() const { return raised_; }  // of these, exceptions instead
  uint64_t jobs_done() const { return jobs_done_; }
  uint64_t resumes() const { return resumes_; }
  bool AllDone() const;
  // The runner made a pass: wakes those for whom it left something.
  void Hear();
  // Throws if a job has had nothing for longer than this, although nothing fails.
  void CheckProgress(TimePoint well_since, Duration most) const;
  // Throws if two batches of different content, or of two users, are held in one slot.
  void CheckLeases() const;

 private:
  Job& JobOf(uint64_t id) { return jobs_[id / kMostRanks]; }
  Rank& RankOf(uint64_t id) { return JobOf(id).ranks[id % kMostRanks]; }
  uint64_t IdOf(size_t job, size_t rank) const { return job * kMostRanks + rank; }
  static constexpr size_t kMostRanks = 8;

  Job MakeJob();
  Job MakeGreedyJob(size_t number);
  void BeginInPython(Job& job);
  void SetRanks(Job& job, size_t count);
  void Begin(size_t job);
  void Wake(size_t job, size_t rank, EventKind kind, Duration delay);
  std::optional<std::pair<size_t, size_t>> AnyOpenRank();
  feed::OpenRequest RequestOf(const Job& job, size_t rank);

  void Take(size_t job, size_t rank);
  void CheckRow(const Job& job, const std::byte* slot, const pool::SlotLayout& layout,
                uint64_t index, uint32_t row, uint64_t epoch, TimePoint opened);
  void CheckMade(const Job& job, const Rank& rank, const std::byte* slot,
                 const shm::ControlEntry& entry);
  void MarkSeen(Job& job, const Job::Next& next);
  bool MayGoOn(const Job& job, size_t rank) const;
  void Settle(size_t job);
  void EndEpochs(Job& job);
  void GoBack(size_t job);
  void Raise(size_t job);
  void ResumeAfter(size_t job, size_t rank, Duration delay);
  void Hold(Rank& rank, const shm::ControlEntry& entry);
  void Leave(Rank& rank, bool orderly);
  void Reopen(size_t job, size_t rank, Duration delay);

  Stage& stage_;
  Storage& storage_;
  Daemon* daemon_ = nullptr;
  std::vector<Job> jobs_;
  const bool greedy_;
  bool no_more_ = false;
  uint64_t made_ = 0, raised_ = 0;
  uint64_t samples_ = 0, batches_ = 0, replaced_ = 0, jobs_done_ = 0, resumes_ = 0;
};

}  // namespace penstock::simulation
