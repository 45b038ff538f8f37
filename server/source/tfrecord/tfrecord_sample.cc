#include "server/source/tfrecord/tfrecord_sample.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "server/source/core/byte_ranges.h"
#include "server/source/files/escape.h"
#include "server/source/tfrecord/tfrecord_format.h"

namespace penstock::source {
namespace {

using unpack::FeatureKind;

constexpr size_t kLongestName = 64;  // of a field's name

bool MayBeAskedFor(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && name != kImage &&
         EscapeForDisplay(name) == name;
}

base::DType ToDType(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kInts:
      return base::DType::kInt64;
    case FeatureKind::kFloats:
      return base::DType::kFloat32;
    default:
      return base::DType::kUInt8;
  }
}

// A numeric feature with the same count in all samples becomes a fixed-size tensor (a scalar if the
// count is 1). Other numeric features and byte strings have variable length; a sample has one byte
// string per feature.
std::vector<RecordField> ToFields(const ShardManifest& manifest) {
  std::vector<RecordField> fields;
  for (size_t i = 0; i < manifest.extensions().size(); ++i) {
    const ExtensionRecord& record = manifest.extensions()[i];
    const auto kind = static_cast<FeatureKind>(record.kind);
    SampleField field = {.name = std::string(manifest.ExtensionName(i)), .type = ToDType(kind)};
    const bool text = kind == FeatureKind::kBytes;
    if (kind == FeatureKind::kNone || !MayBeAskedFor(field.name) || record.count == 0) continue;
    if (text && record.count != 1 && record.count != kAnyCount) continue;
    field.placed = manifest.header().images > 0 && NamesPlaces(field.name);
    field.variable = text || record.count == kAnyCount;
    field.list = !field.variable;
    if (!field.variable && record.count > 1) field.shape = {record.count};
    fields.push_back({.field = std::move(field), .kind = kind});
  }
  return fields;
}

// As read: the data and its checksum.
uint64_t BytesOf(const ShardSample& sample) { return uint64_t{sample.bytes} + kRecordFooter; }

uint64_t LargestOf(const ShardManifest& manifest) {
  uint64_t most = 0;
  for (uint64_t i = 0; i < manifest.header().samples; ++i)
    most = std::max(most, BytesOf(manifest.sample(i)));
  return most;
}

class RecordReader final : public Dataset::Reader {
 public:
  explicit RecordReader(std::shared_ptr<const RecordState> state) : state_(std::move(state)) {}

  absl::StatusOr<Opened> Open(uint64_t sample) override {
    sample_ = sample;
    shard_ = state_->manifest.ShardOf(sample);
    PENSTOCK_ASSIGN_OR_RETURN(file_, state_->files.Open(shard_));
    return Opened{.bytes = BytesOf(state_->manifest.sample(sample))};
  }

  absl::Status Read(std::span<std::byte> into) override {
    const ShardSample& place = state_->manifest.sample(sample_);
    PENSTOCK_CHECK(file_ != nullptr && into.size() == BytesOf(place));
    absl::Status status = state_->files.Read(file_, shard_, state_->FindPiece(sample_), 0, into);
    if (status.ok()) status = state_->files.CheckUnchanged(file_, shard_);
    file_ = nullptr;
    return status;
  }

  unpack::Recipe RecipeFor(const Selection& selection) const override {
    unpack::Recipe recipe = {.packing = unpack::SamplePacking::kExample};
    if (state_->manifest.header().images > 0) recipe.image = state_->roles.image;
    for (size_t i = 0; i < selection.fields.size(); ++i) {
      const RecordField& field = state_->fields[selection.fields[i]];
      const Tensor& tensor = selection.layout.tensors[i];
      uint32_t per_item = 1;
      for (size_t side = 1; tensor.lengths_block && side < tensor.shape.size(); ++side)
        per_item *= tensor.shape[side];
      recipe.fields.push_back({.name = field.field.name,
                               .kind = field.kind,
                               .type = tensor.type,
                               .variable = tensor.lengths_block.has_value(),
                               .file = IsMask(selection, i),
                               .per_item = per_item,
                               .most = tensor.bytes() / base::ElementBytes(tensor.type)});
    }
    return recipe;
  }

 private:
  const std::shared_ptr<const RecordState> state_;  // shared with the dataset and its other readers
  uint64_t sample_ = 0;
  size_t shard_ = 0;
  ShardFiles::Handle file_;  // of the opened sample; shared with other readers of the file
};

}  // namespace

RecordState::RecordState(std::vector<TreeFile> shards, ShardManifest from, RecordRoles roles)
    : files(std::move(shards), from.States()),
      manifest(std::move(from)),
      roles(std::move(roles)),
      fields(ToFields(manifest)),
      largest_record(LargestOf(manifest)) {}

RemotePiece RecordState::FindPiece(uint64_t sample) const {
  const ShardSample& at = manifest.sample(sample);
  return {.offset = at.place + kRecordHeader, .bytes = BytesOf(at)};
}

std::string RecordState::DisplayPath(uint64_t sample) const {
  const size_t shard = manifest.ShardOf(sample);
  return absl::StrCat(EscapeForDisplay(files.path(shard)), "#",
                      sample - manifest.shards()[shard].first_sample);
}

std::unique_ptr<Dataset::Reader> MakeRecordReader(std::shared_ptr<const RecordState> state) {
  return std::make_unique<RecordReader>(std::move(state));
}

}  // namespace penstock::source
