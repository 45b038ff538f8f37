// Checks that the folders that the daemon reads exist, at start and at a reload, so that a missing
// folder is reported then and not to the first trainer.
// **Thread safety**: any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "penstock/config/v1/config.pb.h"

namespace penstock::app {

struct ConfiguredRoot {
  std::string key;  // for example "source.roots[0]"
  std::string path;
};

// The folders in `source.roots`, or, if empty, each dataset's own folder. Pure.
std::vector<ConfiguredRoot> RootsOf(const config::v1::Config& config);

// Whether this process may list the folder. **Errors**: FailedPrecondition if it is missing, not a
// folder, or not accessible; Unavailable for other failures, which may be temporary.
absl::Status LookAtFolder(const std::string& path);

using Look = std::function<absl::Status(const std::string&)>;

// Returns an error for the first missing folder, with its key and the remedy. If a file server
// doesn't respond: DeadlineExceeded or Unavailable, naming the first folder that could not be
// checked.
absl::Status LookAtRoots(const std::vector<ConfiguredRoot>& roots, base::Duration deadline,
                         const Look& look = LookAtFolder);

// An error as above for the first dataset's folder that leads out of `source.roots`, so that nobody
// can open it.
absl::Status LookForDatasetOutside(const config::v1::Config& config, base::Duration deadline);

// Both with a limit of 2 s each. Failures that may be temporary are only logged, because reads are
// retried anyway; and a dataset outside, because others can be served.
absl::Status CheckRoots(const config::v1::Config& config);

}  // namespace penstock::app
