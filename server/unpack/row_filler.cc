#include "server/unpack/row_filler.h"

#include <algorithm>

namespace penstock::unpack {
namespace {

bool LiesWithin(uint64_t offset, uint64_t bytes, uint64_t all) {
  return offset <= all && bytes <= all - offset;
}

// No overflow: a recipe's rows have at most 2³⁰ bytes each, and there are at most 2¹⁰.
absl::Status CheckTargets(const Recipe& recipe, uint64_t segment_bytes) {
  const uint64_t rows = recipe.samples.size();
  for (const RecipeField& field : recipe.fields) {
    const bool values = LiesWithin(field.values, rows * field.row_bytes(), segment_bytes) &&
                        field.values % base::ElementBytes(field.type) == 0;
    const bool lengths =
        !field.variable || LiesWithin(field.lengths, rows * sizeof(int32_t), segment_bytes);
    if (values && lengths) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("rows of ", field.row_bytes(), " bytes at ", field.values,
                     ", their lengths at ", field.lengths, ", in a segment of ", segment_bytes));
  }
  return absl::OkStatus();
}

absl::Status CheckSamples(const Recipe& recipe, uint64_t bytes) {
  uint64_t left = bytes;
  bool fit = !recipe.samples.empty();
  for (const uint64_t sample : recipe.samples) {
    fit = fit && sample <= left;
    left -= std::min(sample, left);
  }
  if (fit && left == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(recipe.samples.size(), " samples of other sizes than their ", bytes, " bytes"));
}

}  // namespace

absl::StatusOr<RowFiller::Filled> RowFiller::Fill(const Recipe& recipe,
                                                  std::span<const std::byte> samples,
                                                  std::span<std::byte> segment) {
  PENSTOCK_RETURN_IF_ERROR(CheckSamples(recipe, samples.size()));
  PENSTOCK_RETURN_IF_ERROR(CheckTargets(recipe, segment.size()));
  Filled filled;
  files_.clear();
  for (const uint64_t bytes : recipe.samples) {
    if (bytes > 0)
      filled.fault = FillRow(recipe, filled.row, samples.first(bytes), segment, filled.image);
    if (filled.fault != base::Fault::kNone) return filled;
    samples = samples.subspan(bytes);
    ++filled.row;
  }
  filled.files = files_;
  return filled;
}

// The image comes first, so that a sample without one has the same fault in every feed, whichever
// fields the feed requests.
base::Fault RowFiller::FillRow(const Recipe& recipe, uint32_t row,
                               std::span<const std::byte> sample, std::span<std::byte> segment,
                               std::span<const std::byte>& image) {
  if (const base::Fault fault = sample_.Open(sample); fault != base::Fault::kNone) return fault;
  if (!recipe.image.empty()) {
    const ExampleSample::Image found = sample_.FindImage(recipe.image);
    if (found.fault != base::Fault::kNone) return found.fault;
    image = found.bytes;
  }
  for (const RecipeField& field : recipe.fields) {
    if (field.file) {
      const ExampleSample::Image found = sample_.FindImage(field.name);
      if (found.fault != base::Fault::kNone) return base::Fault::kMalformed;
      files_.push_back(found.bytes);
      continue;
    }
    ExampleSample::FieldRow into = {
        .values = segment.subspan(field.values + row * field.row_bytes(), field.row_bytes())};
    if (field.variable)
      into.length = segment.subspan(field.lengths + row * sizeof(int32_t), sizeof(int32_t));
    if (const base::Fault fault = sample_.Fill(field, into); fault != base::Fault::kNone)
      return fault;
  }
  return base::Fault::kNone;
}

}  // namespace penstock::unpack
