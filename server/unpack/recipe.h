// Recipes: how a worker turns samples' bytes into rows. The daemon reads the bytes but doesn't
// interpret them. It gives them to the worker with a recipe, which says how they are packed and
// where each value goes. Both are in the worker's input, the recipe first:
//
//   | header | fields | size of each sample | names | the samples, one after another |
//
// A request has either one sample with an image, or any number of samples without one.
//
// Pure; plain values. The worker checks a recipe although the daemon wrote it, so that a bug in the
// daemon cannot make a worker write outside of its segment.
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

// A field of each sample, and where its rows go.
struct RecipeField {
  std::string name = {};  // of the feature
  FeatureKind kind = FeatureKind::kNone;
  base::DType type = base::DType::kUInt8;
  // False: each sample has exactly `most` elements. True: it has at most `most`; the rest of the
  // row is filled with zeros, and the number of elements is written to `lengths` as an int32.
  bool variable = false;
  // A byte string that the caller decodes (a mask): nothing is written to the row.
  bool file = false;
  uint32_t per_item = 1;  // elements; of a variable field, `lengths` counts items
  uint64_t most = 0;
  // Offsets in the segment for the first sample. The next sample's follow directly.
  uint64_t values = 0, lengths = 0;

  uint64_t row_bytes() const { return most * base::ElementBytes(type); }  // of the values
  bool operator==(const RecipeField&) const = default;
};

struct Recipe {
  SamplePacking packing = SamplePacking::kImage;
  std::string image = {};  // name of the feature with the image; empty: none
  std::vector<RecipeField> fields = {};
  std::vector<uint64_t> samples = {};  // size of each in bytes; 0: its row is already filled

  bool operator==(const Recipe&) const = default;
};

// The size of the recipe in a worker's input.
uint64_t BytesOf(const Recipe& recipe);
// **Requires**: `into` has BytesOf(recipe) bytes.
void Write(const Recipe& recipe, std::span<std::byte> into);

// Reads a recipe that takes up all of `bytes`.
// **Errors**: InvalidArgument if it is truncated or too long, has more fields, samples or bytes
// than the limits above, has an unknown packing, kind or type, a type that doesn't match its kind,
// or an image for several samples.
absl::StatusOr<Recipe> ReadRecipe(std::span<const std::byte> bytes);

}  // namespace penstock::unpack
