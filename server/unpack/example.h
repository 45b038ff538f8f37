// Parses tf.train.Example, the message in a TFRecord's data
// (https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/example/example.proto): a
// map from names to lists of byte strings, floats or int64s, in protobuf's wire format
// (https://protobuf.dev/programming-guides/encoding).
//
// We don't use protobuf because only lengths and offsets are needed: images are neither read nor
// copied, and malicious data cannot cause a large allocation. Pure.
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

namespace penstock::unpack {

inline constexpr size_t kMostFeatures = 1024;       // per example
inline constexpr size_t kLongestFeatureName = 256;  // bytes

// An example's bytes, in memory or in a file. Reads are small and lie within `bytes()`.
class ExampleBytes {
 public:
  virtual ~ExampleBytes() = default;
  virtual uint64_t bytes() const = 0;
  // Returns bytes that stay valid until the next call.
  virtual absl::StatusOr<std::span<const std::byte>> Read(uint64_t offset, uint64_t count) = 0;
};

enum class FeatureKind : uint32_t { kNone = 0, kBytes = 1, kFloats = 2, kInts = 3 };

// One feature, and the position of its list within the example. With kNone the list is empty.
struct Feature {
  std::string name;
  FeatureKind kind = FeatureKind::kNone;
  uint64_t offset = 0, bytes = 0;
};

// Returns all features in order of occurrence; of two with the same name the last one counts.
// **Errors**: InvalidArgument "at byte N: …" if the bytes are not an example.
absl::StatusOr<std::vector<Feature>> ParseExample(ExampleBytes& example);

// The position of the only byte string of a list; nullopt if it has none or several.
struct ByteString {
  uint64_t offset = 0, bytes = 0;
};
absl::StatusOr<std::optional<ByteString>> OnlyString(ExampleBytes& example, const Feature& feature);

// Number of values in a list. Reads all of an int64 list, of other lists only the lengths.
absl::StatusOr<uint64_t> CountValues(ExampleBytes& example, const Feature& feature);

// Reads a list of integers, packed or not. Writes at most `into.size()` of them; returns how many
// the list has.
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

}  // namespace penstock::unpack
