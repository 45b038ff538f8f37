// Cached manifests of other versions, for tests: like those of a later daemon except for the
// checksum, which such a daemon may store elsewhere.
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
