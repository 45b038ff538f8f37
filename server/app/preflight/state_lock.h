// Keeps two daemons from using one state_dir: each would overwrite the other's lists of bad
// samples.
//
// **Ownership**: the daemon's, from its start to its end. **Thread safety**: immutable.
#pragma once

#include <string>
#include <utility>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/doorway/address.h"

namespace penstock::app {

class StateLock {
 public:
  // Locks the file `lock` in the folder, and creates both if they are missing. A folder that cannot
  // be written, or whose storage does not answer within `patience`, is only logged, because a
  // daemon also serves without one.
  //
  // A trial creates nothing, but logs if nothing could be written; and the lock of the daemon that
  // is to be replaced does not count.
  //
  // **Errors**: AlreadyExists if another daemon uses the folder (with its pid).
  static absl::StatusOr<StateLock> Take(const std::string& folder,
                                        const doorway::ClaimPurpose& purpose = {},
                                        base::Duration patience = std::chrono::seconds(2));

 private:
  explicit StateLock(posix::Fd file) : file_(std::move(file)) {}

  posix::Fd file_;  // invalid: nothing is locked
};

}  // namespace penstock::app
