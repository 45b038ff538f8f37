// The way to a dataset's files, folder by folder, and whether somebody may go it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "client/ctl/check/text.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace penstock::ctl {

// Where the files lie of a dataset that the daemon shows as this; "" when it has none, or when they
// are its parts'. Of many files the first one, or the folder of a pattern. `kind` is "" before it
// is indexed. Pure.
std::string PlaceOf(const std::string& kind, const std::string& shown);

struct Step {
  std::string path;
  mode_t mode = 0;  // with the file's type
  uid_t owner = 0;
  gid_t group = 0;
};

// From / to the place, without symbolic links.
struct Walk {
  std::vector<Step> steps;
};

// NotFound, PermissionDenied (this process may not look) or what else the system says; names the
// path.
absl::StatusOr<Walk> WalkTo(const std::string& path);

// The same, on a thread of its own that is left behind (DeadlineExceeded) when it does not come
// back: a file server that is away holds up whoever asks it for anything.
absl::StatusOr<Walk> WalkWithin(base::Duration deadline, const std::string& path);

// By owner, group and mode, as that user: every folder can be entered, and the place be read.
// PermissionDenied names the one that stops them, with its owner and mode. Access lists are not
// looked at. Pure.
absl::Status MayGo(const Walk& walk, const Identity& who);

}  // namespace penstock::ctl
