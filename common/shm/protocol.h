// Which protocol versions are compatible. A daemon serves clients of its own version and of the
// previous minor release, and answers each in the client's version. A client does not need to know
// newer daemons, only whether they still serve it. Pure.
#pragma once

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/shm/doorway_wire.h"

namespace penstock::shm {

// The protocol versions that a daemon serves.
struct ProtocolWindow {
  uint32_t oldest = 0, newest = 0;

  constexpr bool Has(uint32_t version) const { return oldest <= version && version <= newest; }
};

// When a release raises kProtocolVersion, raise this to the version of the previous minor release.
inline constexpr uint32_t kOldestProtocol = 1;
inline constexpr ProtocolWindow kServed = {kOldestProtocol, kProtocolVersion};
static_assert(kServed.Has(kProtocolVersion));

inline std::string InWords(const ProtocolWindow& window) {
  if (window.oldest == window.newest) return absl::StrCat("version ", window.newest);
  return absl::StrCat("versions ", window.oldest, " to ", window.newest);
}

// The daemon's check of a client's version. FailedPrecondition names both versions and the side to
// upgrade.
inline absl::Status CheckClient(uint32_t theirs, const ProtocolWindow& served = kServed) {
  if (served.Has(theirs)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the client speaks protocol version ", theirs, ", this daemon ", InWords(served),
      "; upgrade ", theirs < served.oldest ? "the client library" : "the daemon (penstockd)"));
}

// The client's check of a daemon's versions; `oldest` is 0 if the daemon did not send it.
inline absl::Status CheckDaemon(ProtocolWindow daemon, uint32_t ours = kProtocolVersion) {
  if (daemon.oldest == 0) daemon.oldest = daemon.newest;
  if (daemon.Has(ours)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the daemon speaks protocol ", InWords(daemon), ", this client version ", ours, "; upgrade ",
      ours < daemon.oldest ? "the client library (Penstock's)" : "the daemon (penstockd)"));
}

}  // namespace penstock::shm
