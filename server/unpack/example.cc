#include "server/unpack/example.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace penstock::unpack {
namespace {

static_assert(std::endian::native == std::endian::little, "floats are little-endian");

constexpr uint64_t kLongestVarint = 10;

// Field numbers in example.proto and feature.proto.
constexpr uint32_t kExampleFeatures = 1, kFeaturesEntry = 1, kEntryKey = 1, kEntryValue = 2;
constexpr uint32_t kListValue = 1;

absl::Status Wrong(uint64_t at, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("not a tf.train.Example: at byte ", at, ": ", why));
}

struct Piece {
  uint64_t at = 0, end = 0;
  bool empty() const { return at == end; }
};

enum class Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Reads fields from a piece of an example, front to back.
class Wires {
 public:
  explicit Wires(ExampleBytes& example) : example_(example) {}

  absl::StatusOr<uint64_t> TakeVarint(Piece& piece) {
    const uint64_t headroom = std::min(kLongestVarint, piece.end - piece.at);
    PENSTOCK_ASSIGN_OR_RETURN(const auto bytes, example_.Read(piece.at, headroom));
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto byte = std::to_integer<uint64_t>(bytes[i]);
      if (i == kLongestVarint - 1 && byte > 1) break;  // exceeds 64 bits
      value |= (byte & 0x7F) << (7 * i);
      if (byte < 0x80) {
        piece.at += i + 1;
        return value;
      }
    }
    return Wrong(piece.at,
                 headroom < kLongestVarint ? "a number is truncated" : "a number is too long");
  }

  struct WireField {
    uint32_t number = 0;
    Wire wire = Wire::kVarint;
    Piece body = {};  // the content for kBytes, else the value's own bytes
  };
  absl::StatusOr<WireField> Take(Piece& piece) {
    const uint64_t begin = piece.at;
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t tag, TakeVarint(piece));
    if (tag >> 3 == 0 || tag > UINT32_MAX) return Wrong(begin, "a field without a number");
    WireField field = {.number = static_cast<uint32_t>(tag >> 3),
                       .wire = static_cast<Wire>(tag & 7)};
    uint64_t bytes = 0;
    switch (field.wire) {
      case Wire::kVarint: {
        Piece rest = piece;
        PENSTOCK_RETURN_IF_ERROR(TakeVarint(rest).status());
        bytes = rest.at - piece.at;
        break;
      }
      case Wire::kFixed64:
        bytes = 8;
        break;
      case Wire::kFixed32:
        bytes = 4;
        break;
      case Wire::kBytes: {
        PENSTOCK_ASSIGN_OR_RETURN(bytes, TakeVarint(piece));
        break;
      }
      default:
        return Wrong(begin, "a field of an unknown wire type");
    }
    if (bytes > piece.end - piece.at)
      return Wrong(begin, "a field is longer than the message around it");
    field.body = {piece.at, piece.at + bytes};
    piece.at += bytes;
    return field;
  }

  absl::StatusOr<std::string> Text(const Piece& piece) {
    PENSTOCK_ASSIGN_OR_RETURN(const auto bytes, example_.Read(piece.at, piece.end - piece.at));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

 private:
  ExampleBytes& example_;
};

// If a feature has several lists, the last one counts.
absl::Status TakeFeature(Wires& wires, Piece piece, Feature& feature) {
  while (!piece.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(const Wires::WireField field, wires.Take(piece));
    if (field.wire != Wire::kBytes || field.number < 1 || field.number > 3) continue;
    feature.kind = static_cast<FeatureKind>(field.number);
    feature.offset = field.body.at;
    feature.bytes = field.body.end - field.body.at;
  }
  return absl::OkStatus();
}

absl::StatusOr<Feature> TakeEntry(Wires& wires, Piece piece) {
  Feature feature;
  while (!piece.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(const Wires::WireField field, wires.Take(piece));
    if (field.wire != Wire::kBytes) continue;
    if (field.number == kEntryValue)
      PENSTOCK_RETURN_IF_ERROR(TakeFeature(wires, field.body, feature));
    if (field.number != kEntryKey) continue;
    if (field.body.end - field.body.at > kLongestFeatureName)
      return Wrong(field.body.at,
                   absl::StrCat("a feature's name has more than ", kLongestFeatureName, " bytes"));
    PENSTOCK_ASSIGN_OR_RETURN(feature.name, wires.Text(field.body));
  }
  return feature;
}

void Keep(Feature feature, std::vector<Feature>& features) {
  const auto known = std::find_if(features.begin(), features.end(),
                                  [&](const Feature& other) { return other.name == feature.name; });
  if (known == features.end())
    features.push_back(std::move(feature));
  else
    *known = std::move(feature);
}

Piece ListOf(const Feature& feature) { return {feature.offset, feature.offset + feature.bytes}; }

// Calls `each` for every value of a list of numbers: for all values of a packed field, or for the
// single value of an unpacked one. `number` reads a value from a piece.
template <typename Number, typename Take>
absl::StatusOr<uint64_t> ReadNumbers(ExampleBytes& example, const Feature& feature, Wire alone,
                                     std::span<Number> into, const Take& take) {
  Wires wires(example);
  uint64_t count = 0;
  for (Piece list = ListOf(feature); !list.empty();) {
    PENSTOCK_ASSIGN_OR_RETURN(Wires::WireField field, wires.Take(list));
    if (field.number != kListValue) continue;
    if (field.wire != Wire::kBytes && field.wire != alone)
      return Wrong(field.body.at, "a list's value has another wire type than its list");
    while (!field.body.empty()) {
      PENSTOCK_ASSIGN_OR_RETURN(const Number number, take(wires, field.body));
      if (count < into.size()) into[count] = number;
      ++count;
    }
  }
  return count;
}

}  // namespace

absl::StatusOr<std::vector<Feature>> ParseExample(ExampleBytes& example) {
  Wires wires(example);
  std::vector<Feature> features;
  for (Piece all = {0, example.bytes()}; !all.empty();) {
    PENSTOCK_ASSIGN_OR_RETURN(Wires::WireField field, wires.Take(all));
    if (field.number != kExampleFeatures || field.wire != Wire::kBytes) continue;
    while (!field.body.empty()) {
      PENSTOCK_ASSIGN_OR_RETURN(const Wires::WireField entry, wires.Take(field.body));
      if (entry.number != kFeaturesEntry || entry.wire != Wire::kBytes) continue;
      PENSTOCK_ASSIGN_OR_RETURN(Feature feature, TakeEntry(wires, entry.body));
      Keep(std::move(feature), features);
      if (features.size() > kMostFeatures)
        return Wrong(entry.body.at, absl::StrCat("more than ", kMostFeatures, " features"));
    }
  }
  return features;
}

absl::StatusOr<std::optional<ByteString>> OnlyString(ExampleBytes& example,
                                                     const Feature& feature) {
  Wires wires(example);
  std::optional<ByteString> only;
  for (Piece list = ListOf(feature); !list.empty();) {
    PENSTOCK_ASSIGN_OR_RETURN(const Wires::WireField field, wires.Take(list));
    if (field.number != kListValue || field.wire != Wire::kBytes) continue;
    if (only) return std::nullopt;
    only = {.offset = field.body.at, .bytes = field.body.end - field.body.at};
  }
  return only;
}

absl::StatusOr<uint64_t> ReadInts(ExampleBytes& example, const Feature& feature,
                                  std::span<int64_t> into) {
  return ReadNumbers(example, feature, Wire::kVarint, into,
                     [](Wires& wires, Piece& piece) -> absl::StatusOr<int64_t> {
                       PENSTOCK_ASSIGN_OR_RETURN(const uint64_t value, wires.TakeVarint(piece));
                       return static_cast<int64_t>(value);
                     });
}

absl::StatusOr<uint64_t> ReadFloats(ExampleBytes& example, const Feature& feature,
                                    std::span<float> into) {
  return ReadNumbers(
      example, feature, Wire::kFixed32, into, [&](Wires&, Piece& piece) -> absl::StatusOr<float> {
        float value = 0;
        if (piece.end - piece.at < sizeof value) return Wrong(piece.at, "a float is truncated");
        PENSTOCK_ASSIGN_OR_RETURN(const auto bytes, example.Read(piece.at, sizeof value));
        std::memcpy(&value, bytes.data(), sizeof value);
        piece.at += sizeof value;
        return value;
      });
}

absl::StatusOr<uint64_t> CountValues(ExampleBytes& example, const Feature& feature) {
  switch (feature.kind) {
    case FeatureKind::kNone:
      return 0;
    case FeatureKind::kInts:
      return ReadInts(example, feature, {});
    case FeatureKind::kFloats:
    case FeatureKind::kBytes:
      break;
  }
  const bool floats = feature.kind == FeatureKind::kFloats;
  Wires wires(example);
  uint64_t count = 0;
  for (Piece list = ListOf(feature); !list.empty();) {
    PENSTOCK_ASSIGN_OR_RETURN(const Wires::WireField field, wires.Take(list));
    if (field.number != kListValue) continue;
    const uint64_t bytes = field.body.end - field.body.at;
    if (floats && bytes % sizeof(float) != 0) return Wrong(field.body.at, "a float is truncated");
    count += floats ? bytes / sizeof(float) : 1;
  }
  return count;
}

}  // namespace penstock::unpack
