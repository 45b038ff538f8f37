// Tries the operations that a daemon and its clients need. An error says why one failed.
#pragma once

#include <sys/types.h>

#include <string>

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

// The result of `penstockd --check-config FILE`, with the penstockd beside this program, else in
// $PATH.
absl::Status TryConfig(const std::string& file);

}  // namespace penstock::ctl
