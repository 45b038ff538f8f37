// All indexer processes of the daemon; they parse files that may be hostile. Each serves one
// opening and one call at a time, so a file can falsify only its own dataset. An idle process is
// kept for some seconds for the same dataset.
//
// One thread, `indexers`, starts all processes, because a process dies with the thread that started
// it. It also ends those that have been idle for too long.
//
// **Ownership**: shared by the daemon, the open datasets, and openings.
// **Thread safety**: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
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
    std::string program = {};  // empty: penstock-indexer in the folder of the running program
    Sandboxed sandboxed = Sandboxed::kYes;
    size_t most = 512;                              // processes at once; further calls wait
    base::Duration keep = std::chrono::seconds(5);  // how long an idle process is kept
  };
  explicit Indexers(Options options);
  ~Indexers();  // calls Close, and waits for the thread
  Indexers(const Indexers&) = delete;
  Indexers& operator=(const Indexers&) = delete;

  // For one opening and the dataset that it opens.
  std::shared_ptr<source::Parsers> NewParsers();

  // Cancels all parsing, now and later.
  void Close();
  const std::atomic<bool>& closing() const { return closing_; }

  // Used by the parsers. Get returns a process for one call of `owner`, which must give it back.
  // GiveBack ends a process that is not idle. **Errors**: those of IndexerProcess::Start;
  // Cancelled.
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
  struct Wanted {
    absl::StatusOr<Process> started = absl::UnknownError("");
    bool done = false, abandoned = false;
  };

  void Work();
  void StartNext(std::shared_ptr<Wanted> wanted);
  Process TakeIdle(uint64_t owner) PENSTOCK_REQUIRES(mutex_);
  std::vector<Idle> TakeOld() PENSTOCK_REQUIRES(mutex_);

  const Options options_;
  std::atomic<bool> closing_{false};
  base::Mutex mutex_;
  base::CondVar work_;  // wakes the thread
  base::CondVar done_;  // wakes calls that wait for a process
  size_t processes_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  uint64_t owners_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::deque<std::shared_ptr<Wanted>> wanted_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<Idle> idle_ PENSTOCK_GUARDED_BY(mutex_);
  std::thread thread_;  // declared last: it uses all above
};

}  // namespace penstock::indexer
