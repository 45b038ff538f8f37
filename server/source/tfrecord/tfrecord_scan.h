// Finds the records of one TFRecord file, with their lengths, features and labels. Skips images and
// other byte strings.
// **Thread safety**: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "server/source/files/tree_file.h"
#include "server/source/shards/shard_manifest_builder.h"

namespace penstock::source {

// Names of the features that hold image and label.
struct RecordRoles {
  std::string image;
  std::string label;  // empty: no labels

  // Resolves the request: empty names become image/encoded and image/class/label; label "none": no
  // labels.
  static RecordRoles Of(const std::string& image, const std::string& label);
};

// Increments `found` for each sample.
// **Errors**: InvalidArgument, with the offset, if the file is not a TFRecord file, is truncated,
// or contains something other than a tf.train.Example; Aborted if it changed meanwhile; read
// errors.
absl::StatusOr<ScannedShard> ScanRecords(const TreeFile& shard, const RecordRoles& roles,
                                         std::atomic<uint64_t>& found);

}  // namespace penstock::source
