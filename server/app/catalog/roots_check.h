// Whether the folders that a daemon reads in are there when it starts, or reads its configuration
// again: a folder that is missing is told then, not to the first trainer. Any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "penstock/config/v1/config.pb.h"

namespace penstock::app {

struct ConfiguredRoot {
  std::string key;  // "source.roots[0]"
  std::string path;
};

// Those of `source.roots`; where there are none, each dataset's own folder is one. Pure.
std::vector<ConfiguredRoot> RootsOf(const config::v1::Config& config);

// Whether this process may list that folder. FailedPrecondition: it is missing, no folder, or
// closed to us; Unavailable: its file system failed otherwise, which may pass.
absl::Status LookAtFolder(const std::string& path);

using Look = std::function<absl::Status(const std::string&)>;

// The first that is missing, with its key and what to do. A file server that is away holds up
// whoever asks: DeadlineExceeded, and Unavailable, name the first that cannot be told of.
absl::Status LookAtRoots(const std::vector<ConfiguredRoot>& roots, base::Duration deadline,
                         const Look& look = LookAtFolder);

// The same, within 2 s. What may pass is logged and no error: reads are tried again anyway.
absl::Status CheckRoots(const config::v1::Config& config);

}  // namespace penstock::app
