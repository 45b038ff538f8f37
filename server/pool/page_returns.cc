#include "server/pool/page_returns.h"

#include <pthread.h>

#include <utility>

#include "common/posix/failpoint.h"
#include "common/posix/limits.h"

namespace penstock::pool {

// Not only when the last client unmaps it: one that never does would keep pages that the pool no
// longer counts. If this fails, they return with the last mapping.
void GiveBackWhole(MappedMemory memory) {
  if (memory.mapping.size() > 0)
    posix::GiveBackPages(memory.memory, 0, memory.mapping.size()).IgnoreError();
  PENSTOCK_FAILPOINT("pool.pages_given_back");
}

PageReturns::~PageReturns() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  if (thread_) thread_->thread.join();
}

void PageReturns::Take(MappedMemory memory) {
  if (!thread_) thread_ = posix::LooseThreads::Start([this] { Work(); });
  if (!thread_) return GiveBackWhole(std::move(memory));
  {
    const base::MutexLock lock(mutex_);
    bytes_ += memory.bytes;
    waiting_.push_back(std::move(memory));
  }
  changed_.NotifyAll();
}

uint64_t PageReturns::bytes() const {
  const base::MutexLock lock(mutex_);
  return bytes_;
}

void PageReturns::Wait() {
  const base::MutexLock lock(mutex_);
  while (!waiting_.empty()) changed_.Wait(mutex_);
}

void PageReturns::Work() {
  ::pthread_setname_np(::pthread_self(), "pool-returns");
  posix::GiveWay(posix::Priority::kLow).IgnoreError();
  while (std::optional<MappedMemory> next = Next()) {
    const uint64_t bytes = next->bytes;
    GiveBackWhole(*std::move(next));
    {
      const base::MutexLock lock(mutex_);
      waiting_.pop_front();
      bytes_ -= bytes;
    }
    changed_.NotifyAll();
  }
}

std::optional<MappedMemory> PageReturns::Next() {
  const base::MutexLock lock(mutex_);
  while (!stopping_ && waiting_.empty()) changed_.Wait(mutex_);
  if (stopping_) return std::nullopt;
  return std::move(waiting_.front());
}

}  // namespace penstock::pool
