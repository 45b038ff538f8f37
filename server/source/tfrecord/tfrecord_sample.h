// Reads and checks one record of TFRecord files. Also the state that a dataset shares with its
// readers.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/fault.h"
#include "server/source/core/dataset.h"
#include "server/source/shards/shard_files.h"
#include "server/source/shards/shard_manifest.h"
#include "server/source/tfrecord/example.h"
#include "server/source/tfrecord/tfrecord_scan.h"

namespace penstock::source {

// A feature that can be requested.
struct RecordField {
  SampleField field;
  FeatureKind kind = FeatureKind::kNone;
};

// **Thread safety**: immutable except for which files are open; any thread.
struct RecordState {
  // **Requires**: `shards` are the manifest's, in its order.
  RecordState(std::vector<TreeFile> shards, ShardManifest from, RecordRoles roles);

  // "FILE#NUMBER"; the number counts within the file.
  std::string DisplayPath(uint64_t sample) const;

  const ShardFiles files;
  const ShardManifest manifest;
  const RecordRoles roles;
  const std::vector<RecordField> fields;
};

// Longer records are not read.
inline constexpr uint64_t kMostRecordBytes = uint64_t{256} << 20;

class RecordSample {
 public:
  // Reads the record. Returns a fault if its checksum doesn't match, it is too long, or it is not
  // an example.
  // **Errors**: Unavailable if its file cannot be read; DataLoss if the file changed since it was
  // indexed.
  absl::StatusOr<base::Fault> Open(const RecordState& state, uint64_t sample);

  // The image's bytes, or a fault if it is missing, empty or not a single byte string.
  struct Image {
    std::span<const std::byte> bytes;
    base::Fault fault = base::Fault::kNone;
  };
  absl::StatusOr<Image> FindImage(const std::string& name) const;

  // Copies a feature into its tensor's row and fills the rest of the row with zeros.
  struct FieldRows {
    std::byte* values = nullptr;
    std::byte* length = nullptr;  // int32, for variable-length fields
  };
  absl::StatusOr<base::Fault> Fill(const RecordField& field, const Tensor& tensor,
                                   FieldRows rows) const;

 private:
  std::span<const std::byte> data() const {
    return std::span(bytes_).first(bytes_.size() - kRecordFooterBytes);
  }
  const Feature* Find(const std::string& name) const;
  absl::StatusOr<base::Fault> FillBytes(const Feature& feature, const Tensor& tensor,
                                        FieldRows rows) const;
  absl::StatusOr<base::Fault> FillNumbers(const Feature& feature, const Tensor& tensor,
                                          FieldRows rows) const;

  static constexpr size_t kRecordFooterBytes = 4;
  std::vector<std::byte> bytes_;  // data and footer
  std::vector<Feature> features_;
};

std::unique_ptr<Dataset::Reader> MakeRecordReader(std::shared_ptr<const RecordState> state);

}  // namespace penstock::source
