// The processes that parse what may be hostile, for the whole daemon. Each belongs to one opening
// and to one call at a time: a file can spoil nothing but the dataset that it is part of. One that
// is not in use is kept for some seconds for the same dataset.
//
// One thread, `indexers`, starts all of them, because a process ends with the thread that started
// it, and ends those that were not used.
//
// **Ownership**: shared by the daemon, the datasets that are open, and openings.
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
    base::Duration keep = std::chrono::seconds(5);  // a process that is not in use
  };
  explicit Indexers(Options options);
  ~Indexers();  // calls Close, and waits for the thread
  Indexers(const Indexers&) = delete;
  Indexers& operator=(const Indexers&) = delete;

  // For one opening and the dataset that it opens.
  std::shared_ptr<source::Parsers> NewParsers();

  // Cancels what is being parsed; nothing is parsed any more.
  void Close();
  const std::atomic<bool>& closing() const { return closing_; }

  // Used by the parsers. A process for one call of `owner`, which gives it back; one that is not
  // idle then is ended. **Errors**: those of IndexerProcess::Start; Cancelled.
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
  base::CondVar work_;  // for the thread
  base::CondVar done_;  // for those who wait for a process
  size_t processes_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  uint64_t owners_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::deque<std::shared_ptr<Wanted>> wanted_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<Idle> idle_ PENSTOCK_GUARDED_BY(mutex_);
  std::thread thread_;  // declared last: it uses all above
};

}  // namespace penstock::indexer
