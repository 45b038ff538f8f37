// Fills the rows of a worker's request from samples' bytes and a recipe. Pure.
// **Thread safety**: one thread; it keeps its memory between requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/fault.h"
#include "common/base/status.h"
#include "server/unpack/example_sample.h"
#include "server/unpack/recipe.h"

namespace penstock::unpack {

class RowFiller {
 public:
  // What became of the rows. With a fault, their bytes are unspecified, and `row` is the row (from
  // 0) of the sample that has the fault.
  struct Filled {
    base::Fault fault = base::Fault::kNone;
    uint32_t row = 0;
    // The sample's image, which the caller decodes; empty if the recipe names none.
    std::span<const std::byte> image = {};
  };
  // Writes nothing outside of `segment`, which is aligned for any type. A sample without bytes has
  // been filled already.
  // **Errors**: InvalidArgument, before anything is written, if the recipe leads out of the samples
  // or of the segment.
  absl::StatusOr<Filled> Fill(const Recipe& recipe, std::span<const std::byte> samples,
                              std::span<std::byte> segment);

 private:
  base::Fault FillRow(const Recipe& recipe, uint32_t row, std::span<const std::byte> sample,
                      std::span<std::byte> segment, std::span<const std::byte>& image);

  ExampleSample sample_;
};

}  // namespace penstock::unpack
