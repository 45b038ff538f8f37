// Copies rows of a dataset with a single tensor, as most tests have.
#pragma once

#include <span>

#include "server/source/core/dataset.h"

namespace penstock::testing {

inline source::RowShape ShapeOf(const source::Dataset& dataset) {
  const auto selection = dataset.Select({});
  if (!selection.ok() || selection->layout.image() == nullptr) return {};
  const std::vector<uint32_t>& sides = selection->layout.image()->shape;
  return {sides[0], sides[1], sides[2]};
}

inline absl::Status CopyRows(const source::Dataset& dataset, std::span<const uint64_t> samples,
                             std::byte* into) {
  PENSTOCK_ASSIGN_OR_RETURN(const source::Selection selection, dataset.Select({}));
  return dataset.CopyRows(selection, samples, std::span(&into, 1));
}

}  // namespace penstock::testing
