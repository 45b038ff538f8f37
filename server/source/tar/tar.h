// The `tar` source: WebDataset's shards. README.md says what a sample is, and which of its members
// can be asked for.
#pragma once

#include <string>

#include "common/base/status.h"
#include "server/source/shards/shards.h"

namespace penstock::source {

inline constexpr char kTarSuffix[] = ".tar";

// Indexes the shards, or takes their cached manifest. Image and label are extensions; the usual
// ones are jpg, jpeg, png or webp, the first that a sample has, and cls, where samples have it.
// Errors: ListShards', ScanTarShard's, BuildShardManifest's; NotFound: no sample has the image that
// was asked for.
absl::StatusOr<OpenedShards> OpenTar(const ShardOptions& options);

// Whether a path that somebody gives means tar shards: a file with .tar in its name, a pattern with
// braces, or a folder with .tar files and without sub-folders.
bool IsTarPath(const std::string& path);

}  // namespace penstock::source
