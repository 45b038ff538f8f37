// Reads the records of TFRecord files, without interpreting them: workers do that
// (../../unpack/example_sample.h). Also the state that a dataset shares with its readers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/source/core/dataset.h"
#include "server/source/shards/shard_files.h"
#include "server/source/shards/shard_manifest.h"
#include "server/source/tfrecord/record_roles.h"
#include "server/unpack/example.h"

namespace penstock::source {

// A feature that can be requested.
struct RecordField {
  SampleField field;
  unpack::FeatureKind kind = unpack::FeatureKind::kNone;
};

// **Thread safety**: immutable except for which files are open; any thread.
struct RecordState {
  // **Requires**: `shards` are the manifest's, in its order.
  RecordState(std::vector<TreeFile> shards, ShardManifest from, RecordRoles roles);

  // The sample's record.
  RemotePiece FindPiece(uint64_t sample) const;
  std::vector<RemotePiece> AllPieces(uint64_t sample) const { return {FindPiece(sample)}; }
  std::vector<RemotePiece> FindPieces(uint64_t sample, const Selection&) const {
    return {FindPiece(sample)};
  }
  // "FILE#NUMBER"; the number counts within the file.
  std::string DisplayPath(uint64_t sample) const;

  const ShardFiles files;
  const ShardManifest manifest;
  const RecordRoles roles;
  const std::vector<RecordField> fields;
  const uint64_t largest_record;  // bytes, as read
};

// Reads records, and gives the recipe by which workers unpack them.
std::unique_ptr<Dataset::Reader> MakeRecordReader(std::shared_ptr<const RecordState> state);

}  // namespace penstock::source
