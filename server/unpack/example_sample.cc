#include "server/unpack/example_sample.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "common/base/crc32c.h"

namespace penstock::unpack {
namespace {

using base::Fault;

void PutLength(uint64_t length, std::span<std::byte> into) {
  const auto number = static_cast<int32_t>(length);
  std::memcpy(into.data(), &number, sizeof number);
}

void PutZeros(std::span<std::byte> into) {
  if (!into.empty()) std::memset(into.data(), 0, into.size());
}

template <typename Number>
std::span<Number> ToNumbers(std::span<std::byte> row) {
  return {reinterpret_cast<Number*>(row.data()), row.size() / sizeof(Number)};
}

}  // namespace

Fault ExampleSample::Open(std::span<const std::byte> data_and_checksum) {
  features_.clear();
  if (data_and_checksum.size() < kChecksumBytes) return Fault::kBadChecksum;
  data_ = data_and_checksum.first(data_and_checksum.size() - kChecksumBytes);
  uint32_t checksum = 0;
  std::memcpy(&checksum, data_and_checksum.data() + data_.size(), sizeof checksum);
  if (checksum != base::MaskedCrc32c(data_)) return Fault::kBadChecksum;
  ExampleInMemory example(data_);
  absl::StatusOr<std::vector<Feature>> features = ParseExample(example);
  if (!features.ok()) return Fault::kCorrupt;
  features_ = *std::move(features);
  return Fault::kNone;
}

const Feature* ExampleSample::Find(const std::string& name) const {
  const auto found = std::find_if(features_.begin(), features_.end(),
                                  [&](const Feature& feature) { return feature.name == name; });
  return found == features_.end() ? nullptr : &*found;
}

ExampleSample::Image ExampleSample::FindImage(const std::string& name) const {
  const Feature* feature = Find(name);
  if (feature == nullptr || feature->kind != FeatureKind::kBytes)
    return {.fault = Fault::kNotAnImage};
  ExampleInMemory example(data_);
  const absl::StatusOr<std::optional<ByteString>> only = OnlyString(example, *feature);
  if (!only.ok() || !*only) return {.fault = Fault::kNotAnImage};
  if ((*only)->bytes == 0) return {.fault = Fault::kEmpty};
  return {.bytes = data_.subspan((*only)->offset, (*only)->bytes)};
}

Fault ExampleSample::Fill(const RecipeField& field, const FieldRow& row) const {
  const Feature* feature = Find(field.name);
  if (feature == nullptr) return Fault::kMissing;
  if (feature->kind != field.kind) return Fault::kMalformed;
  if (field.kind == FeatureKind::kBytes) return FillBytes(*feature, field, row);
  return FillNumbers(*feature, field, row);
}

Fault ExampleSample::FillBytes(const Feature& feature, const RecipeField& field,
                               const FieldRow& row) const {
  ExampleInMemory example(data_);
  const absl::StatusOr<std::optional<ByteString>> only = OnlyString(example, feature);
  if (!only.ok() || !*only) return Fault::kMalformed;
  const uint64_t bytes = (*only)->bytes;
  if (bytes > field.most) return Fault::kTooLong;
  if (bytes > 0) std::memcpy(row.values.data(), data_.data() + (*only)->offset, bytes);
  PutZeros(row.values.subspan(bytes));
  PutLength(bytes, row.length);
  return Fault::kNone;
}

Fault ExampleSample::FillNumbers(const Feature& feature, const RecipeField& field,
                                 const FieldRow& row) const {
  ExampleInMemory example(data_);
  const absl::StatusOr<uint64_t> count =
      field.kind == FeatureKind::kInts ? ReadInts(example, feature, ToNumbers<int64_t>(row.values))
                                       : ReadFloats(example, feature, ToNumbers<float>(row.values));
  if (!count.ok()) return Fault::kMalformed;
  if (*count % field.per_item != 0) return Fault::kMalformed;
  if (!field.variable) return *count == field.most ? Fault::kNone : Fault::kMalformed;
  if (*count > field.most) return Fault::kTooLong;
  PutZeros(row.values.subspan(*count * base::ElementBytes(field.type)));
  PutLength(*count / field.per_item, row.length);
  return Fault::kNone;
}

}  // namespace penstock::unpack
