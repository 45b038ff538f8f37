// The path to a dataset's files, folder by folder, and whether a user may follow it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "client/ctl/check/text.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace penstock::ctl {

struct Step {
  std::string path;
  mode_t mode = 0;  // with the file's type
  uid_t owner = 0;
  gid_t group = 0;
};

// All steps from / to the place, without symbolic links.
struct Walk {
  std::vector<Step> steps;
};

// NotFound, PermissionDenied (this process may not look) or another system error; names the path.
absl::StatusOr<Walk> WalkTo(const std::string& path);

// The same on a thread of its own. If a file server hangs, returns DeadlineExceeded and leaves the
// thread behind.
absl::StatusOr<Walk> WalkWithin(base::Duration deadline, const std::string& path);

// Checks by owner, group and mode that this user can enter every folder and read the place.
// PermissionDenied names the first obstacle, with its owner and mode. Ignores access control lists.
// Pure.
absl::Status MayGo(const Walk& walk, const Identity& who);

}  // namespace penstock::ctl
