#include "server/pool/page_returns.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "common/posix/failpoint.h"
#include "common/posix/limits.h"

namespace penstock::pool {
namespace {

// A thread of low priority has the file's lock for as long as one piece takes, and whoever is in a
// hurry waits for it.
constexpr uint64_t kPiece = uint64_t{4} << 20;

// Gives back the next piece of what was written from `done` on. Whether there was one.
bool GiveBackWritten(const posix::Fd& memory, uint64_t& done) {
  const std::optional<uint64_t> at = posix::FindPages(memory, done);
  if (!at) return false;
  posix::GiveBackPages(memory, *at, kPiece).IgnoreError();
  done = *at + kPiece;
  return true;
}

// The same for pages that were allocated and never written, which FindPages does not see. Large
// memory is sparse, so its pieces may be larger.
bool GiveBackUnwritten(const posix::Fd& memory, uint64_t& swept) {
  const uint64_t bytes = posix::SizeOf(memory).value_or(0);
  if (swept >= bytes) return false;
  const uint64_t piece = std::min(std::max(kPiece, bytes / 1024 / kPiece * kPiece), bytes - swept);
  posix::GiveBackPages(memory, swept, piece).IgnoreError();
  swept += piece;
  return true;
}

}  // namespace

// Not only when the last client unmaps it: one that never does would keep pages that the pool no
// longer counts. If this fails, they return with the last mapping.
void GiveBackWhole(const MappedMemory& memory) {
  const absl::StatusOr<size_t> bytes = posix::SizeOf(memory.memory);
  if (bytes.ok()) posix::GiveBackPages(memory.memory, 0, *bytes).IgnoreError();
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
  if (!thread_) return GiveBackWhole(memory);
  {
    const base::MutexLock lock(mutex_);
    bytes_ += memory.bytes;
    waiting_.push_back(std::make_shared<Returning>(Returning{.memory = std::move(memory)}));
  }
  changed_.NotifyAll();
}

uint64_t PageReturns::bytes() const {
  const base::MutexLock lock(mutex_);
  return bytes_;
}

void PageReturns::Hurry() {
  std::deque<Shared> all;
  {
    const base::MutexLock lock(mutex_);
    all.swap(waiting_);
    bytes_ = 0;
  }
  for (const Shared& each : all) GiveBackWhole(each->memory);
  changed_.NotifyAll();
}

void PageReturns::Wait() {
  const base::MutexLock lock(mutex_);
  while (!waiting_.empty()) changed_.Wait(mutex_);
}

void PageReturns::Work() {
  ::pthread_setname_np(::pthread_self(), "pool-returns");
  posix::GiveWay(posix::Priority::kLow).IgnoreError();
  while (const Shared next = Next()) {
    const posix::Fd& memory = next->memory.memory;
    if (GiveBackWritten(memory, next->done) || GiveBackUnwritten(memory, next->swept)) continue;
    PENSTOCK_FAILPOINT("pool.pages_given_back");
    HasReturned(next);
  }
}

PageReturns::Shared PageReturns::Next() {
  const base::MutexLock lock(mutex_);
  while (!stopping_ && waiting_.empty()) changed_.Wait(mutex_);
  return stopping_ ? nullptr : waiting_.front();
}

// If it is not the first any more, Hurry has taken it.
void PageReturns::HasReturned(const Shared& memory) {
  {
    const base::MutexLock lock(mutex_);
    if (waiting_.empty() || waiting_.front() != memory) return;
    waiting_.pop_front();
    bytes_ -= memory->memory.bytes;
  }
  changed_.NotifyAll();
}

}  // namespace penstock::pool
