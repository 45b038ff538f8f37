// Tries the operations that a daemon and its clients need. An error says why one failed.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "client/ctl/check/tree.h"
#include "common/base/status.h"

namespace penstock::ctl {

// "AVX-512 VNNI", "AVX2", or "" for neither.
std::string Simd();

// Creates shared memory and maps it read-only.
absl::Status TryMemfd();

// Unimplemented if the kernel has no SO_PEERPIDFD.
absl::Status TryPeerPidfd();

// Whether `user` can create a socket in this directory, and nobody else can write to the directory.
// A missing directory is accepted if this process may create it.
absl::Status TrySocketDirectory(const std::string& directory, uid_t user);

// Whether a daemon would start with this configuration: in the unit's sandbox and as its user if
// root asks on a machine with the unit (`preflight`, from the package penstock), else here
// (`penstockd --check-config`, the one beside this program or in $PATH): as this user, or for root
// as that of the daemon. `running`: a daemon that would have ended by then.
absl::Status TryConfig(const std::string& file, const std::optional<ProcessFacts>& running);

}  // namespace penstock::ctl
