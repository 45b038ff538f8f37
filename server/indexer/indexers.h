// All indexer processes of the daemon; they parse files that may be hostile. Each serves one
// opening and one call at a time, so a file can falsify only its own dataset. An idle process is
// kept for some seconds for the same dataset.
//
// An opening begins with one process. It gets another one once a call has waited for longer than a
// start takes. If it has one for each core, it gets more only once a call has waited so long that
// storage must be slow, because only then do more reads at a time help.
//
// One thread, `indexers`, starts all processes, because a process dies with the thread that started
// it. It also ends those that have been idle for too long.
//
// A process that is killed in a read that its storage does not answer is left to the thread, which
// waits for its end: a few at a time, so that openings of a dataset on dead storage fail promptly.
// Beyond that, the calls that had them wait. The destructor waits for none of them.
//
// **Ownership**: shared by the daemon, the open datasets, and openings.
// **Thread safety**: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/indexer/indexer_process.h"
#include "server/source/parse/parsers.h"

namespace penstock::indexer {

class Indexers : public std::enable_shared_from_this<Indexers> {
 public:
  struct Options {
    std::string program = {};  // empty: DefaultProgram()
    Sandboxed sandboxed = Sandboxed::kYes;
    size_t cores = 1;                               // of this machine
    size_t most = 512;                              // processes at once; further calls wait
    base::Duration keep = std::chrono::seconds(5);  // how long an idle process is kept
    PatienceLimits patience = {};
    // How long a call waits before its opening gets another process: up to one for each core, and
    // beyond.
    base::Duration grow_after = std::chrono::milliseconds(4);
    base::Duration grow_beyond_after = std::chrono::milliseconds(100);
  };
  explicit Indexers(Options options);
  ~Indexers();  // calls Close, and waits for the thread
  Indexers(const Indexers&) = delete;
  Indexers& operator=(const Indexers&) = delete;

  // For one opening and the dataset that it opens. `cancelled` ends the calls that have no watch of
  // their own; empty: nothing does.
  std::shared_ptr<source::Parsers> NewParsers(std::function<bool()> cancelled = {});

  // Cancels all parsing, now and later.
  void Close();
  const std::atomic<bool>& closing() const { return closing_; }
  // Indexers that their sandbox killed.
  uint64_t forbidden_calls() const { return forbidden_calls_.load(); }

  // Used by the parsers. Get returns a process for one call of `owner`, which must give it back;
  // calls of one owner get theirs in the order in which they ask. GiveBack ends a process that is
  // not idle. **Errors**: those of IndexerProcess::Start; Cancelled.
  using Process = std::unique_ptr<IndexerProcess>;
  absl::StatusOr<Process> Get(uint64_t owner, const source::ScanWatch& watch);
  void GiveBack(uint64_t owner, Process process);
  // Ends the owner's idle processes.
  void Forget(uint64_t owner);

 private:
  struct Idle {
    uint64_t owner = 0;
    Process process;
    base::TimePoint since;
  };
  // A call that waits for a process. **Ownership**: on the caller's stack.
  struct Wanted {
    uint64_t owner = 0;
    base::TimePoint since;
    std::optional<absl::StatusOr<Process>> got = {};
    base::CondVar ready = {};
  };
  // The processes of one owner: in use, idle, or being started.
  struct Group {
    size_t processes = 0;
    base::TimePoint grown = {};  // when the last one was started
    bool forgotten = false;      // what comes back is ended
  };

  void Work();
  void End(uint64_t owner, Process process);
  bool Leave(uint64_t owner, Process& process);
  void EndThoseThatAreGone();
  void StartFor(uint64_t owner);
  void WaitForWork() PENSTOCK_REQUIRES(mutex_);
  base::TimePoint WhenToGrow(const Wanted& wanted) const PENSTOCK_REQUIRES(mutex_);
  std::optional<uint64_t> NextToGrow() const PENSTOCK_REQUIRES(mutex_);
  void Grow(uint64_t owner) PENSTOCK_REQUIRES(mutex_);
  bool HandOver(uint64_t owner, absl::StatusOr<Process>& process) PENSTOCK_REQUIRES(mutex_);
  void HandOverOrKeep(uint64_t owner, Process process) PENSTOCK_REQUIRES(mutex_);
  void Ended(uint64_t owner) PENSTOCK_REQUIRES(mutex_);
  Process TakeIdle(uint64_t owner) PENSTOCK_REQUIRES(mutex_);
  std::vector<Idle> TakeOld() PENSTOCK_REQUIRES(mutex_);

  const Options options_;
  std::atomic<bool> closing_{false};
  std::atomic<uint64_t> forbidden_calls_{0};
  base::Mutex mutex_;
  base::CondVar work_;  // wakes the thread
  size_t processes_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  uint64_t owners_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Group> groups_ PENSTOCK_GUARDED_BY(mutex_);  // by owner, while it has any
  std::list<Wanted*> wanted_ PENSTOCK_GUARDED_BY(mutex_);         // in the order of asking
  std::vector<Idle> idle_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<Idle> dying_ PENSTOCK_GUARDED_BY(mutex_);  // killed, but not gone yet
  std::thread thread_;                                   // declared last: it uses all above
};

}  // namespace penstock::indexer
