// Builds a manifest from the result of a scan.
#pragma once

#include "common/base/status.h"
#include "server/source/images/manifest.h"
#include "server/source/images/scan.h"

namespace penstock::source {

// Builds the manifest in anonymous memory. Consumes the scan as it goes, so that names are not held
// twice. `root` is the dataset's canonical folder.
absl::StatusOr<Manifest> BuildManifest(const std::string& root, Scan scan);

}  // namespace penstock::source
