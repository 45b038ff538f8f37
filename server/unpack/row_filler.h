// Fills the rows of a worker's request from samples' bytes and a recipe. Pure.
// **Thread safety**: one thread; it keeps its memory between requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/fault.h"
#include "common/base/status.h"
#include "server/unpack/example_sample.h"
#include "server/unpack/recipe.h"

namespace penstock::unpack {

class RowFiller {
 public:
  // The result. With a fault, `row` is the row (from 0) of the sample that has the fault, and the
  // bytes of all rows are unspecified.
  struct Filled {
    base::Fault fault = base::Fault::kNone;
    uint32_t row = 0;
    // The sample's image, which the caller decodes; empty if the recipe names none.
    std::span<const std::byte> image = {};
    // The files among the fields of a sample with an image, in the fields' order.
    std::span<const std::span<const std::byte>> files = {};
  };
  // Writes nothing outside of `segment`. Skips samples of 0 bytes, whose rows are already filled.
  // **Requires**: `segment` is aligned for any type.
  // **Errors**: InvalidArgument, before anything is written, if the recipe points outside of the
  // samples or the segment.
  absl::StatusOr<Filled> Fill(const Recipe& recipe, std::span<const std::byte> samples,
                              std::span<std::byte> segment);

 private:
  base::Fault FillRow(const Recipe& recipe, uint32_t row, std::span<const std::byte> sample,
                      std::span<std::byte> segment, std::span<const std::byte>& image);

  ExampleSample sample_;
  std::vector<std::span<const std::byte>> files_;
};

}  // namespace penstock::unpack
