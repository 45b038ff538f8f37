// Cached manifests of another version, for tests: like a later daemon's except for the checksum,
// which such a daemon may store elsewhere.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace penstock::testing {

// In both kinds the version follows eight bytes of magic.
inline std::string WithManifestVersion(std::string manifest, uint32_t version) {
  std::memcpy(manifest.data() + 8, &version, sizeof version);
  return manifest;
}

}  // namespace penstock::testing
