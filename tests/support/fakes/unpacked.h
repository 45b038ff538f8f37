// Does a worker's part, for tests of sources: unpacks the sample that a reader read.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "server/source/core/dataset.h"
#include "server/unpack/row_filler.h"

namespace penstock::testing {

struct Unpacked {
  base::Fault fault = base::Fault::kNone;
  std::string image = {};
  std::vector<std::string> rows = {};  // for each block of the selection
};

// `bytes`: what the reader read for the sample that it opened last.
inline Unpacked Unpack(const source::Dataset::Reader& reader, const std::string& bytes,
                       const source::Selection& selection = {}) {
  unpack::Recipe recipe = reader.RecipeFor(selection);
  if (recipe.packing == unpack::SamplePacking::kImage) return {.image = bytes};
  std::vector<int64_t> segment;
  std::vector<uint64_t> offsets;
  for (const uint64_t block : selection.layout.blocks) {
    offsets.push_back(segment.size() * sizeof(int64_t));
    segment.resize(segment.size() + (block + 7) / 8, 0x2323232323232323);
  }
  for (size_t i = 0; i < recipe.fields.size(); ++i) {
    const source::Tensor& tensor = selection.layout.tensors[i];
    recipe.fields[i].values = offsets[tensor.block];
    if (tensor.lengths_block) recipe.fields[i].lengths = offsets[*tensor.lengths_block];
  }
  recipe.samples = {bytes.size()};
  unpack::RowFiller filler;
  const auto filled = filler.Fill(recipe, std::as_bytes(std::span(bytes)),
                                  std::as_writable_bytes(std::span(segment)));
  if (!filled.ok()) return {.fault = base::Fault::kCorrupt, .image = filled.status().ToString()};
  Unpacked unpacked = {
      .fault = filled->fault,
      .image = {reinterpret_cast<const char*>(filled->image.data()), filled->image.size()}};
  for (size_t block = 0; block < offsets.size(); ++block)
    unpacked.rows.emplace_back(reinterpret_cast<const char*>(segment.data()) + offsets[block],
                               selection.layout.blocks[block]);
  return unpacked;
}

// Opens, reads and unpacks a sample.
inline absl::StatusOr<Unpacked> ReadUnpacked(source::Dataset::Reader& reader, uint64_t sample,
                                             const source::Selection& selection = {}) {
  PENSTOCK_ASSIGN_OR_RETURN(const auto opened, reader.Open(sample));
  if (opened.fault != base::Fault::kNone) return Unpacked{.fault = opened.fault};
  std::string bytes(opened.bytes, '\0');
  PENSTOCK_RETURN_IF_ERROR(reader.Read(std::as_writable_bytes(std::span(bytes))));
  return Unpack(reader, bytes, selection);
}

}  // namespace penstock::testing
