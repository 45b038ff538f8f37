#include "server/unpack/recipe.h"

#include <cstring>
#include <type_traits>

#include "common/base/check.h"

namespace penstock::unpack {
namespace {

struct WireHeader {
  uint32_t packing, fields, samples, image_name_bytes;
};
struct WireRecipeField {
  uint32_t kind, type, variable, name_bytes;
  uint64_t most, values, lengths;
  uint32_t file, per_item;
};
static_assert(sizeof(WireHeader) == 16 && std::is_trivially_copyable_v<WireHeader>);
static_assert(sizeof(WireRecipeField) == 48 && std::is_trivially_copyable_v<WireRecipeField>);

absl::Status Wrong(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("not a recipe: ", why));
}

uint64_t TableBytes(uint64_t fields, uint64_t samples) {
  return sizeof(WireHeader) + fields * sizeof(WireRecipeField) + samples * sizeof(uint64_t);
}

class Writer {
 public:
  explicit Writer(std::span<std::byte> into) : into_(into) {}
  void Put(const void* from, size_t bytes) {
    PENSTOCK_CHECK(bytes <= into_.size());
    if (bytes > 0) std::memcpy(into_.data(), from, bytes);
    into_ = into_.subspan(bytes);
  }
  bool full() const { return into_.empty(); }

 private:
  std::span<std::byte> into_;
};

// **Requires**: everything taken is there; ReadRecipe checks it before.
class Taker {
 public:
  explicit Taker(std::span<const std::byte> from) : from_(from) {}
  size_t left() const { return from_.size(); }
  template <typename Struct>
  Struct Take() {
    PENSTOCK_CHECK(sizeof(Struct) <= from_.size());
    Struct taken;
    std::memcpy(&taken, from_.data(), sizeof taken);
    from_ = from_.subspan(sizeof taken);
    return taken;
  }
  // False if there are fewer bytes.
  bool TakeText(size_t bytes, std::string& text) {
    if (bytes > from_.size()) return false;
    text.assign(reinterpret_cast<const char*>(from_.data()), bytes);
    from_ = from_.subspan(bytes);
    return true;
  }

 private:
  std::span<const std::byte> from_;
};

base::DType ToType(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kInts:
      return base::DType::kInt64;
    case FeatureKind::kFloats:
      return base::DType::kFloat32;
    case FeatureKind::kBytes:
    case FeatureKind::kNone:
      break;
  }
  return base::DType::kUInt8;
}

// Byte strings have no fixed length.
absl::Status Check(const WireRecipeField& field) {
  const auto kind = static_cast<FeatureKind>(field.kind);
  if (field.kind < 1 || field.kind > 3) return Wrong("a field of an unknown kind");
  if (field.type != static_cast<uint32_t>(ToType(kind))) return Wrong("a field of another type");
  if (field.variable > 1) return Wrong("a field that is neither variable nor not");
  if (field.file > 1 || (field.file == 1 && (kind != FeatureKind::kBytes || field.variable != 0)))
    return Wrong("a file that is no byte string");
  if (kind == FeatureKind::kBytes && field.variable == 0 && field.file == 0)
    return Wrong("bytes of a fixed length");
  if (field.per_item < 1 || field.most % field.per_item != 0) return Wrong("a part of an item");
  if (field.most > kMaxFieldBytes / base::ElementBytes(ToType(kind)))
    return Wrong("a field of too many bytes");
  if (field.name_bytes > kLongestFeatureName) return Wrong("a field with too long a name");
  return absl::OkStatus();
}

absl::Status Check(const WireHeader& header) {
  if (header.packing != static_cast<uint32_t>(SamplePacking::kExample))
    return Wrong("an unknown packing");
  if (header.fields > kMaxRecipeFields) return Wrong("too many fields");
  if (header.samples < 1 || header.samples > kMaxRecipeSamples)
    return Wrong("no samples, or too many");
  if (header.image_name_bytes > kLongestFeatureName) return Wrong("too long a name of the image");
  if (header.image_name_bytes > 0 && header.samples != 1) return Wrong("an image for many samples");
  return absl::OkStatus();
}

}  // namespace

uint64_t BytesOf(const Recipe& recipe) {
  uint64_t bytes = TableBytes(recipe.fields.size(), recipe.samples.size()) + recipe.image.size();
  for (const RecipeField& field : recipe.fields) bytes += field.name.size();
  return bytes;
}

void Write(const Recipe& recipe, std::span<std::byte> into) {
  Writer writer(into);
  const WireHeader header = {.packing = static_cast<uint32_t>(recipe.packing),
                             .fields = static_cast<uint32_t>(recipe.fields.size()),
                             .samples = static_cast<uint32_t>(recipe.samples.size()),
                             .image_name_bytes = static_cast<uint32_t>(recipe.image.size())};
  writer.Put(&header, sizeof header);
  for (const RecipeField& field : recipe.fields) {
    const WireRecipeField wire = {.kind = static_cast<uint32_t>(field.kind),
                                  .type = static_cast<uint32_t>(field.type),
                                  .variable = field.variable ? 1u : 0u,
                                  .name_bytes = static_cast<uint32_t>(field.name.size()),
                                  .most = field.most,
                                  .values = field.values,
                                  .lengths = field.lengths,
                                  .file = field.file ? 1u : 0u,
                                  .per_item = field.per_item};
    writer.Put(&wire, sizeof wire);
  }
  writer.Put(recipe.samples.data(), recipe.samples.size() * sizeof(uint64_t));
  writer.Put(recipe.image.data(), recipe.image.size());
  for (const RecipeField& field : recipe.fields) writer.Put(field.name.data(), field.name.size());
  PENSTOCK_CHECK(writer.full());
}

absl::StatusOr<Recipe> ReadRecipe(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(WireHeader)) return Wrong("it is truncated");
  Taker taker(bytes);
  const auto header = taker.Take<WireHeader>();
  PENSTOCK_RETURN_IF_ERROR(Check(header));
  if (bytes.size() < TableBytes(header.fields, header.samples)) return Wrong("it is truncated");

  Recipe recipe = {.packing = static_cast<SamplePacking>(header.packing)};
  std::vector<uint32_t> name_bytes;
  for (uint32_t i = 0; i < header.fields; ++i) {
    const auto wire = taker.Take<WireRecipeField>();
    PENSTOCK_RETURN_IF_ERROR(Check(wire));
    recipe.fields.push_back({.kind = static_cast<FeatureKind>(wire.kind),
                             .type = static_cast<base::DType>(wire.type),
                             .variable = wire.variable != 0,
                             .file = wire.file != 0,
                             .per_item = wire.per_item,
                             .most = wire.most,
                             .values = wire.values,
                             .lengths = wire.lengths});
    name_bytes.push_back(wire.name_bytes);
  }
  for (uint32_t i = 0; i < header.samples; ++i) recipe.samples.push_back(taker.Take<uint64_t>());
  bool whole = taker.TakeText(header.image_name_bytes, recipe.image);
  for (uint32_t i = 0; i < header.fields; ++i)
    whole = whole && taker.TakeText(name_bytes[i], recipe.fields[i].name);
  if (!whole || taker.left() > 0) return Wrong("its names are truncated, or more than names");
  return recipe;
}

}  // namespace penstock::unpack
