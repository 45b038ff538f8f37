// Gives the pages of memory back to the system on a thread of its own: that takes 0.2 to 0.4 s for
// each GiB, and the runner, whose thread owns the pool, serves everybody.
//
// **Thread safety**: one thread, the pool's owner. **Ownership**: owned by the pool.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "common/base/mutex.h"
#include "common/posix/fd.h"
#include "common/posix/loose_threads.h"
#include "common/posix/memory.h"

namespace penstock::pool {

// Memory, and perhaps a mapping of it.
struct MappedMemory {
  posix::Fd memory = {};
  posix::Mapping mapping = {};
  uint64_t bytes = 0;  // that were counted
};

// Gives all pages back, even where others map the memory.
void GiveBackWhole(const MappedMemory& memory);

class PageReturns {
 public:
  PageReturns() = default;
  // Waits for the piece that is being given back; closes the rest.
  ~PageReturns();
  PageReturns(const PageReturns&) = delete;
  PageReturns& operator=(const PageReturns&) = delete;

  // Gives it back soon, in turn. If the system has no thread left, now.
  void Take(MappedMemory memory);
  // The bytes that are still to be given back.
  uint64_t bytes() const;
  // Gives all of it back now, on the caller's thread, because someone needs it.
  void Hurry();
  // Waits until all is given back.
  void Wait();

 private:
  struct Returning {
    MappedMemory memory;
    // Bytes from the beginning: of pages that were written, and of all. Only the thread uses them.
    uint64_t done = 0, swept = 0;
  };
  using Shared =
      std::shared_ptr<Returning>;  // by the thread, whose piece may be under way, and Hurry
  void Work();
  Shared Next();
  void HasReturned(const Shared& memory);

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  // The first one is being given back.
  std::deque<Shared> waiting_ PENSTOCK_GUARDED_BY(mutex_);
  uint64_t bytes_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::optional<posix::LooseThreads::Thread> thread_;  // started when there is something to do
};

}  // namespace penstock::pool
