// The `tfrecord` source: files of tf.train.Example records. ../README.md describes samples.
#pragma once

#include <memory>
#include <string>

#include "common/base/status.h"
#include "server/source/parse/parsers.h"
#include "server/source/shards/shard_index.h"
#include "server/source/shards/shards.h"

namespace penstock::source {

inline constexpr char kRecordsSuffix[] = ".tfrecord";

// Opens the files with their cached manifest, or indexes them. Image and label are features; the
// defaults are image/encoded and, if samples have it, image/class/label.
// **Errors**: those of ListShards, Parsers::ScanRecords and BuildShardManifest; NotFound if no
// sample has the requested image.
absl::StatusOr<OpenedShards> OpenRecords(const ShardOptions& options,
                                         const std::shared_ptr<Parsers>& parsers);

// How such files are indexed. **Requires**: the parsers outlive it.
ShardIndexer MakeRecordsIndexer(const ShardsSpec& spec, Parsers& parsers);

// Whether a path stands for such files: a name or pattern that ends in .tfrecord or .tfrecords or
// looks like train-00003-of-01024, or a folder with .tfrecord files and no sub-folders.
bool IsRecordsPath(const std::string& path);

}  // namespace penstock::source
