// One record of a TFRecord file, which is a tf.train.Example: its image, and its features as rows.
// Pure.
// **Thread safety**: one thread; it keeps its memory between samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/fault.h"
#include "server/unpack/example.h"
#include "server/unpack/recipe.h"

namespace penstock::unpack {

inline constexpr size_t kChecksumBytes = 4;

class ExampleSample {
 public:
  // Parses a record's data and the masked CRC-32C behind it. Keeps a reference to the bytes.
  // **Errors**: kBadChecksum, or kCorrupt if the data is not an example.
  base::Fault Open(std::span<const std::byte> data_and_checksum);

  // The image's bytes, or a fault if it is missing, empty or not a single byte string.
  struct Image {
    std::span<const std::byte> bytes = {};
    base::Fault fault = base::Fault::kNone;
  };
  Image FindImage(const std::string& name) const;

  // Copies a feature into its tensor's row and fills the rest of the row with zeros.
  // **Requires**: `values` has field.row_bytes() bytes and is aligned for the field's type;
  // `length` has 4 if the field is variable.
  // **Errors**: kMissing, kMalformed, kTooLong; the row's bytes are then unspecified.
  struct FieldRow {
    std::span<std::byte> values = {};
    std::span<std::byte> length = {};
  };
  base::Fault Fill(const RecipeField& field, const FieldRow& row) const;

 private:
  const Feature* Find(const std::string& name) const;
  base::Fault FillBytes(const Feature& feature, const RecipeField& field,
                        const FieldRow& row) const;
  base::Fault FillNumbers(const Feature& feature, const RecipeField& field,
                          const FieldRow& row) const;

  std::span<const std::byte> data_;
  std::vector<Feature> features_;
};

}  // namespace penstock::unpack
