// How a worker makes rows out of samples' bytes. The daemon reads the bytes and interprets none of
// them; the worker gets them with a recipe, which says how they are packed, and which of their
// values go where. Both are in the worker's input, the recipe first:
//
//   | header | fields | size of each sample | names | the samples, one after another |
//
// A request has either one sample with an image, or any number of samples without one.
//
// Pure; plain values. The daemon writes the recipe, and the worker checks it all the same, so that
// a bug in the daemon cannot make a worker write anywhere else than into its segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/dtype.h"
#include "common/base/status.h"
#include "server/unpack/example.h"

namespace penstock::unpack {

enum class SamplePacking : uint32_t {
  kImage = 0,    // the bytes are the image; there is no recipe, and the worker fills no fields
  kExample = 1,  // a TFRecord's data, which is a tf.train.Example, and its masked CRC-32C
};

inline constexpr size_t kMaxRecipeFields = 32;
inline constexpr size_t kMaxRecipeSamples = 1024;
inline constexpr uint64_t kMaxFieldBytes = uint64_t{1} << 30;  // per sample

// A value of each sample, and the tensor that it goes to.
struct RecipeField {
  std::string name = {};  // of the feature
  FeatureKind kind = FeatureKind::kNone;
  base::DType type = base::DType::kUInt8;
  // Fixed length: exactly `most` elements. Variable length: at most that many; the row is filled
  // up with zeros, and the number goes to `lengths` as an int32.
  bool variable = false;
  uint64_t most = 0;
  // Offsets in the segment, for the first sample. Those of the next one follow it directly.
  uint64_t values = 0, lengths = 0;

  uint64_t row_bytes() const { return most * base::ElementBytes(type); }  // of the values
  bool operator==(const RecipeField&) const = default;
};

struct Recipe {
  SamplePacking packing = SamplePacking::kImage;
  std::string image = {};  // name of the feature with the image; empty: none
  std::vector<RecipeField> fields = {};
  std::vector<uint64_t> samples = {};  // the bytes of each; 0: its row is filled already

  bool operator==(const Recipe&) const = default;
};

// Bytes of the recipe in a worker's input.
uint64_t BytesOf(const Recipe& recipe);
// **Requires**: `into` has BytesOf(recipe) bytes.
void Write(const Recipe& recipe, std::span<std::byte> into);

// Reads a recipe that fills `bytes`.
// **Errors**: InvalidArgument if it is truncated, has bytes left over, or contains a number out of
// its range: more fields, samples or bytes than the limits above, an unknown packing, kind or type,
// a type that its kind doesn't have, or an image for several samples.
absl::StatusOr<Recipe> ReadRecipe(std::span<const std::byte> bytes);

}  // namespace penstock::unpack
