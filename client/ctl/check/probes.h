// Tries on this machine what a daemon and its clients need. Each says why it cannot be.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/base/status.h"

namespace penstock::ctl {

// "AVX-512 VNNI", "AVX2"; "" for neither.
std::string Simd();

// Shared memory that can be mapped read-only.
absl::Status TryMemfd();

// Unimplemented where the kernel has no SO_PEERPIDFD.
absl::Status TryPeerPidfd();

// Whether that user can have a socket in a folder that nobody else writes to; one that is missing
// can be made where this process may.
absl::Status TrySocketDirectory(const std::string& directory, uid_t user);

// What `penstockd --check-config FILE` says: the one beside this program, else by $PATH.
absl::Status TryConfig(const std::string& file);

}  // namespace penstock::ctl
