// Where to ask for a session's progress. A thread other than the session's may ask, while the
// session drops or replaces its attachment.
#pragma once

#include <cstdint>
#include <memory>

#include "client/src/session/attachment.h"
#include "common/base/mutex.h"
#include "common/base/status.h"

namespace penstock::client {

class ProgressSource {
 public:
  // Null: there is no attachment.
  void Set(const Attachment* attachment) {
    const base::MutexLock lock(mutex_);
    link_ = attachment == nullptr ? nullptr : attachment->link();
    session_ = attachment == nullptr ? 0 : attachment->grant().session_id;
  }

  absl::StatusOr<Progress> Ask(base::Duration timeout) const {
    std::shared_ptr<Link> link;  // shared, because it may be replaced meanwhile
    uint64_t session = 0;
    {
      const base::MutexLock lock(mutex_);
      link = link_;
      session = session_;
    }
    if (link == nullptr) return absl::UnavailableError("the session is not open");
    return link->GetProgress(session, timeout);
  }

 private:
  mutable base::Mutex mutex_;
  std::shared_ptr<Link> link_ PENSTOCK_GUARDED_BY(mutex_);  // shared with the attachment
  uint64_t session_ PENSTOCK_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock::client
