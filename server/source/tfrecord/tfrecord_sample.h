// One record of TFRecord files, read whole and checked. What a dataset and its readers share.
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

// A feature that can be asked for.
struct RecordField {
  Field field;
  FeatureKind kind = FeatureKind::kNone;
};

// Immutable but for which files are open; any thread.
struct RecordState {
  // `shards`: the manifest's, in its order.
  RecordState(std::vector<TreeFile> shards, ShardManifest from, RecordRoles roles);

  std::string PathForPeople(uint64_t sample) const;  // "FILE#NUMBER", counted in the file

  const ShardFiles files;
  const ShardManifest manifest;
  const RecordRoles roles;
  const std::vector<RecordField> fields;
};

// Records longer than that are not read.
inline constexpr uint64_t kMostRecordBytes = uint64_t{256} << 20;

class RecordSample {
 public:
  // Reads the record. A fault: its checksum is wrong, it is too long, or no example. Unavailable:
  // its file cannot be read, or is not what it was when it was indexed.
  absl::StatusOr<base::Fault> Open(const RecordState& state, uint64_t sample);

  // The image's bytes; a fault where it is missing, empty, or not one byte string.
  struct Image {
    std::span<const std::byte> bytes;
    base::Fault fault = base::Fault::kNone;
  };
  absl::StatusOr<Image> FindImage(const std::string& name) const;

  // Puts a feature into its tensor's row; what a row is longer than is zero.
  struct Rows {
    std::byte* values = nullptr;
    std::byte* length = nullptr;  // int32, of variable length
  };
  absl::StatusOr<base::Fault> Fill(const RecordField& field, const Tensor& tensor, Rows rows) const;

 private:
  std::span<const std::byte> data() const {
    return std::span(bytes_).first(bytes_.size() - kRecordFooterBytes);
  }
  const Feature* Find(const std::string& name) const;
  absl::StatusOr<base::Fault> FillBytes(const Feature& feature, const Tensor& tensor,
                                        Rows rows) const;
  absl::StatusOr<base::Fault> FillNumbers(const Feature& feature, const Tensor& tensor,
                                          Rows rows) const;

  static constexpr size_t kRecordFooterBytes = 4;
  std::vector<std::byte> bytes_;  // data and footer
  std::vector<Feature> features_;
};

std::unique_ptr<Dataset::Reader> MakeRecordReader(std::shared_ptr<const RecordState> state);

}  // namespace penstock::source
