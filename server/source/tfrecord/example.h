// tf.train.Example, the message in a TFRecord's data
// (https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/example/example.proto): a
// map from names to lists of byte strings, floats or int64s, in protobuf's wire format
// (https://protobuf.dev/programming-guides/encoding). Parsed here, because only lengths and places
// are wanted: an image is neither looked at nor copied, and nothing is allocated that hostile bytes
// could make large. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

inline constexpr size_t kMostFeatures = 1024;       // of an example
inline constexpr size_t kLongestFeatureName = 256;  // bytes

// An example's bytes, in memory or in a file. What is asked for lies within `bytes()`, and is few.
class ExampleBytes {
 public:
  virtual ~ExampleBytes() = default;
  virtual uint64_t bytes() const = 0;
  // Valid until the next call.
  virtual absl::StatusOr<std::span<const std::byte>> Read(uint64_t offset, uint64_t count) = 0;
};

enum class FeatureKind : uint32_t { kNone = 0, kBytes = 1, kFloats = 2, kInts = 3 };

// One feature: where the message that is its list lies in the example. Of kNone it is empty.
struct Feature {
  std::string name;
  FeatureKind kind = FeatureKind::kNone;
  uint64_t offset = 0, bytes = 0;
};

// All features in the order of the bytes; of two that share a name the last one counts.
// InvalidArgument where the bytes are no example: "at byte N: …".
absl::StatusOr<std::vector<Feature>> ParseExample(ExampleBytes& example);

// Where the only byte string of a list lies in the example; nothing where there are none or
// several.
struct ByteString {
  uint64_t offset = 0, bytes = 0;
};
absl::StatusOr<std::optional<ByteString>> OnlyString(ExampleBytes& example, const Feature& feature);

// How many numbers or byte strings a list has. Of int64s it reads all, of the others the lengths.
absl::StatusOr<uint64_t> CountValues(ExampleBytes& example, const Feature& feature);

// The numbers of a list, packed or not; at most `into.size()` are written. How many there are.
absl::StatusOr<uint64_t> ReadInts(ExampleBytes& example, const Feature& feature,
                                  std::span<int64_t> into);
absl::StatusOr<uint64_t> ReadFloats(ExampleBytes& example, const Feature& feature,
                                    std::span<float> into);

// An example in memory.
class ExampleInMemory final : public ExampleBytes {
 public:
  explicit ExampleInMemory(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t bytes() const override { return bytes_.size(); }
  absl::StatusOr<std::span<const std::byte>> Read(uint64_t offset, uint64_t count) override {
    return bytes_.subspan(offset, count);
  }

 private:
  const std::span<const std::byte> bytes_;
};

}  // namespace penstock::source
