// From what a scan found to the manifest's bytes.
#pragma once

#include "common/base/status.h"
#include "server/source/images/manifest.h"
#include "server/source/images/scan.h"

namespace penstock::source {

// The manifest, in anonymous memory. Takes the scan apart as it goes, so that the names are not
// held twice. `root` is the dataset's canonical folder.
absl::StatusOr<Manifest> BuildManifest(const std::string& root, Scan scan);

}  // namespace penstock::source
