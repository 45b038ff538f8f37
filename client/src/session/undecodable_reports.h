// Tells the daemon which samples this session's GPU could not decode, so that its workers decode
// them from then on. A report that fails is dropped: such a sample fails again in a later epoch.
//
// **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <set>

#include "client/src/session/attachment.h"
#include "common/base/mutex.h"

namespace penstock::client {

class UndecodableReports {
 public:
  // Notes a sample for the next report, unless it was reported before. A session that is opened
  // again begins anew, because another daemon may not know it.
  void Note(uint64_t sample) {
    const base::MutexLock lock(mutex_);
    if (!reported_.contains(sample)) noted_.insert(sample);
  }
  // Reports what was noted. Waits for the daemon, at most 1 s for each 4096 samples, and only until
  // a report fails.
  void Send(const Attachment& attachment);

 private:
  base::Mutex mutex_;
  std::set<uint64_t> noted_ PENSTOCK_GUARDED_BY(mutex_), reported_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::client
