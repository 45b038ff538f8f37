// Private, writable mappings of made batches in one segment. What is written through one shows in
// no other mapping, and not in the slot's next batch.
//
// A view that nobody uses any more is kept for the slot's next batch with its page tables, which
// cost more to build than the batch to read; the pages that were written to are dropped. There are
// several views of one slot while two sessions of this process hold its batch.
//
// **Ownership**: shared by the connection and the batches that use a view. It belongs to the
// process that made it: in a forked child nothing may be called, not even the destructor of a view.
// **Thread safety**: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "client/src/core/own_pages.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"

namespace penstock::client {

class PrivateViews : public std::enable_shared_from_this<PrivateViews> {
 public:
  // `memory`: the segment's, at least readable.
  explicit PrivateViews(posix::Fd memory) : memory_(std::move(memory)) {}

  // A mapping of at least [from, from + bytes) of the segment and at most [from, from + most),
  // which shows what the segment has there.
  //
  // **Errors**: from mmap(2). **Requires**: `from` is a multiple of the page size; bytes <= most.
  absl::StatusOr<posix::Mapping> Take(uint64_t from, size_t bytes, size_t most);

  // Ends the use of a view that Take(from, bytes, …) returned.
  void GiveBack(uint64_t from, size_t bytes, posix::Mapping view);

  size_t kept() const {
    const base::MutexLock lock(mutex_);
    return kept_.size();
  }

 private:
  const posix::Fd memory_;
  const OwnPages own_pages_;
  mutable base::Mutex mutex_;
  // By the offset in the segment. At most one for each slot.
  std::map<uint64_t, posix::Mapping> kept_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::client
