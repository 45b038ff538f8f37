// Cached manifests of other versions, for tests: as a later daemon would have written them, but for
// their checksum, which such a daemon may have at another place.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace penstock::testing {

// Both kinds have the version behind eight bytes of magic.
inline std::string WithManifestVersion(std::string manifest, uint32_t version) {
  std::memcpy(manifest.data() + 8, &version, sizeof version);
  return manifest;
}

}  // namespace penstock::testing
