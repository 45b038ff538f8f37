// The `tar` source: WebDataset shards. ../README.md describes samples and the members that can be
// requested.
#pragma once

#include <memory>
#include <string>

#include "common/base/status.h"
#include "server/source/parse/parsers.h"
#include "server/source/shards/shard_index.h"
#include "server/source/shards/shards.h"

namespace penstock::source {

inline constexpr char kTarSuffix[] = ".tar";

// Opens the shards with their cached manifest, or indexes them. Image and label are extensions. By
// default the image is the first of jpg, jpeg, png and webp that a sample has, and the label is
// cls, if samples have it.
// **Errors**: those of ListShards, Parsers::ScanTar and BuildShardManifest; NotFound if no sample
// has the requested image.
absl::StatusOr<OpenedShards> OpenTar(const ShardOptions& options,
                                     const std::shared_ptr<Parsers>& parsers);

// How such shards are indexed. **Requires**: the parsers outlive it.
ShardIndexer MakeTarIndexer(const ShardsSpec& spec, Parsers& parsers);

// Whether a path stands for tar shards: a file name that contains .tar, a brace pattern, or a
// folder with .tar files and no sub-folders.
bool IsTarPath(const std::string& path);

}  // namespace penstock::source
