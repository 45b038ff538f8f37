// The `tfrecord` source: files of tf.train.Example records. README.md says what a sample is.
#pragma once

#include <string>

#include "common/base/status.h"
#include "server/source/shards/shards.h"

namespace penstock::source {

inline constexpr char kRecordsSuffix[] = ".tfrecord";

// Indexes the files, or takes their cached manifest. Image and label are features; the usual ones
// are image/encoded and image/class/label, where samples have it. Errors: ListShards',
// ScanRecords', BuildShardManifest's; NotFound: no sample has the image that was asked for.
absl::StatusOr<OpenedShards> OpenRecords(const ShardOptions& options);

// Whether a path that somebody gives means such files: a name or a pattern that ends in .tfrecord
// or .tfrecords, or like train-00003-of-01024, or a folder with .tfrecord files and without
// sub-folders.
bool IsRecordsPath(const std::string& path);

}  // namespace penstock::source
