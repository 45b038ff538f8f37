#include "server/source/tfrecord/tfrecord_sample.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "server/source/core/byte_ranges.h"
#include "server/source/files/escape.h"
#include "server/source/tfrecord/tfrecord_format.h"

namespace penstock::source {
namespace {

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
    if (!field.variable && record.count > 1) field.shape = {record.count};
    fields.push_back({.field = std::move(field), .kind = kind});
  }
  return fields;
}

class RecordReader final : public Dataset::Reader {
 public:
  explicit RecordReader(std::shared_ptr<const RecordState> state) : state_(std::move(state)) {}

  absl::StatusOr<Opened> Open(uint64_t sample) override {
    PENSTOCK_ASSIGN_OR_RETURN(const base::Fault fault, record_.Open(*state_, sample));
    if (fault != base::Fault::kNone) return Opened{0, fault};
    PENSTOCK_ASSIGN_OR_RETURN(const RecordSample::Image image,
                              record_.FindImage(state_->roles.image));
    image_ = image.bytes;
    return Opened{image.bytes.size(), image.fault};
  }

  absl::Status Read(std::span<std::byte> into) override {
    PENSTOCK_CHECK(!into.empty() && into.size() == image_.size());
    std::memcpy(into.data(), image_.data(), into.size());
    return absl::OkStatus();
  }

  absl::StatusOr<base::Fault> ReadFields(const Selection& selection,
                                         std::span<std::byte* const> rows) override {
    for (size_t i = 0; i < selection.fields.size(); ++i) {
      const Tensor& tensor = selection.layout.tensors[i];
      const RecordSample::FieldRows into = {
          .values = rows[tensor.block],
          .length = tensor.lengths_block ? rows[*tensor.lengths_block] : nullptr};
      PENSTOCK_ASSIGN_OR_RETURN(const base::Fault fault,
                                record_.Fill(state_->fields[selection.fields[i]], tensor, into));
      if (fault != base::Fault::kNone) return fault;
    }
    return base::Fault::kNone;
  }

 private:
  std::shared_ptr<const RecordState> state_;  // shared with the dataset and its other readers
  RecordSample record_;
  std::span<const std::byte> image_;  // within the record
};

}  // namespace

RecordState::RecordState(std::vector<TreeFile> shards, ShardManifest from, RecordRoles roles)
    : files(std::move(shards), from.States()),
      manifest(std::move(from)),
      roles(std::move(roles)),
      fields(ToFields(manifest)) {}

std::string RecordState::DisplayPath(uint64_t sample) const {
  const size_t shard = manifest.ShardOf(sample);
  return absl::StrCat(EscapeForDisplay(files.path(shard)), "#",
                      sample - manifest.shards()[shard].first_sample);
}

absl::StatusOr<base::Fault> RecordSample::Open(const RecordState& state, uint64_t sample) {
  const size_t shard = state.manifest.ShardOf(sample);
  const ShardSample& place = state.manifest.sample(sample);
  features_.clear();
  if (place.bytes > kMostRecordBytes) return base::Fault::kTooManyBytes;
  PENSTOCK_ASSIGN_OR_RETURN(const ShardFiles::Handle file, state.files.Open(shard));
  bytes_.resize(place.bytes + kRecordFooter);
  PENSTOCK_RETURN_IF_ERROR(state.files.Read(file, shard, place.place + kRecordHeader, bytes_));
  PENSTOCK_RETURN_IF_ERROR(state.files.CheckUnchanged(file, shard));
  if (!IsRecordWhole(bytes_)) return base::Fault::kBadChecksum;
  ExampleInMemory example(data());
  absl::StatusOr<std::vector<Feature>> features = ParseExample(example);
  if (!features.ok()) return base::Fault::kCorrupt;
  features_ = *std::move(features);
  return base::Fault::kNone;
}

const Feature* RecordSample::Find(const std::string& name) const {
  const auto found = std::find_if(features_.begin(), features_.end(),
                                  [&](const Feature& feature) { return feature.name == name; });
  return found == features_.end() ? nullptr : &*found;
}

absl::StatusOr<RecordSample::Image> RecordSample::FindImage(const std::string& name) const {
  const Feature* feature = Find(name);
  if (feature == nullptr) return Image{.bytes = {}, .fault = base::Fault::kNotAnImage};
  ExampleInMemory example(data());
  const auto only = feature->kind == FeatureKind::kBytes
                        ? OnlyString(example, *feature)
                        : absl::StatusOr<std::optional<ByteString>>(std::nullopt);
  if (!only.ok() || !*only) return Image{.bytes = {}, .fault = base::Fault::kNotAnImage};
  if ((*only)->bytes == 0) return Image{.bytes = {}, .fault = base::Fault::kEmpty};
  return Image{.bytes = data().subspan((*only)->offset, (*only)->bytes)};
}

absl::StatusOr<base::Fault> RecordSample::Fill(const RecordField& field, const Tensor& tensor,
                                               FieldRows rows) const {
  const Feature* feature = Find(field.field.name);
  if (feature == nullptr) return base::Fault::kMissing;
  if (feature->kind != field.kind) return base::Fault::kMalformed;
  if (field.kind == FeatureKind::kBytes) return FillBytes(*feature, tensor, rows);
  return FillNumbers(*feature, tensor, rows);
}

absl::StatusOr<base::Fault> RecordSample::FillBytes(const Feature& feature, const Tensor& tensor,
                                                    FieldRows rows) const {
  ExampleInMemory example(data());
  const absl::StatusOr<std::optional<ByteString>> only = OnlyString(example, feature);
  if (!only.ok() || !*only) return base::Fault::kMalformed;
  const uint64_t bytes = (*only)->bytes, most = tensor.bytes();
  if (bytes > most) return base::Fault::kTooLong;
  std::memcpy(rows.values, data().data() + (*only)->offset, bytes);
  std::memset(rows.values + bytes, 0, most - bytes);
  const auto length = static_cast<int32_t>(bytes);
  std::memcpy(rows.length, &length, sizeof length);
  return base::Fault::kNone;
}

absl::StatusOr<base::Fault> RecordSample::FillNumbers(const Feature& feature, const Tensor& tensor,
                                                      FieldRows rows) const {
  const uint64_t most = tensor.bytes() / base::ElementBytes(tensor.type);
  ExampleInMemory example(data());
  std::vector<int64_t> ints;
  std::vector<float> floats;
  absl::StatusOr<uint64_t> count = 0;
  if (tensor.type == base::DType::kInt64) {
    ints.resize(most);
    count = ReadInts(example, feature, ints);
    std::memcpy(rows.values, ints.data(), tensor.bytes());
  } else {
    floats.resize(most);
    count = ReadFloats(example, feature, floats);
    std::memcpy(rows.values, floats.data(), tensor.bytes());
  }
  if (!count.ok()) return base::Fault::kMalformed;
  if (rows.length == nullptr) return *count == most ? base::Fault::kNone : base::Fault::kMalformed;
  if (*count > most) return base::Fault::kTooLong;
  const auto length = static_cast<int32_t>(*count);
  std::memcpy(rows.length, &length, sizeof length);
  return base::Fault::kNone;
}

std::unique_ptr<Dataset::Reader> MakeRecordReader(std::shared_ptr<const RecordState> state) {
  return std::make_unique<RecordReader>(std::move(state));
}

}  // namespace penstock::source
