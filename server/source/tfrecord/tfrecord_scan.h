// Finds the records of one TFRecord file and what is in them: lengths, features, labels. Images and
// other byte strings are passed over. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "server/source/files/tree_file.h"
#include "server/source/shards/shard_manifest_builder.h"

namespace penstock::source {

// Names of features.
struct RecordRoles {
  std::string image;
  std::string label;  // empty: samples have no labels

  // As they were asked for: empty ones are image/encoded and image/class/label; "none" is no label.
  static RecordRoles Of(const std::string& image, const std::string& label);
};

// Adds to `found` each sample as it goes. InvalidArgument: what is no TFRecord file, truncated, or
// holds what is no tf.train.Example, with the place in it; Aborted: it changed meanwhile; what
// reading it gives.
absl::StatusOr<ScannedShard> ScanRecords(const TreeFile& shard, const RecordRoles& roles,
                                         std::atomic<uint64_t>& found);

}  // namespace penstock::source
