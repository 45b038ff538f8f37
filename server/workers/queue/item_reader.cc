#include "server/workers/queue/item_reader.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "common/base/check.h"

namespace penstock::workers {

absl::StatusOr<ItemReader::Input> ItemReader::Open() {
  if (!item_.run.empty()) return OpenRun();
  readers_.push_back(item_.dataset->NewReader());
  PENSTOCK_ASSIGN_OR_RETURN(const auto opened, readers_.front()->Open(item_.sample));
  if (opened.fault != base::Fault::kNone) return Input{.fault = opened.fault};
  static const source::Selection kNoFields;
  recipe_ = readers_.front()->RecipeFor(item_.selection == nullptr ? kNoFields : *item_.selection);
  if (recipe_.packing == unpack::SamplePacking::kImage) return OpenImage(opened);
  recipe_.samples = {opened.bytes};
  return InputOfRecipe();
}

absl::StatusOr<ItemReader::Input> ItemReader::OpenImage(
    const source::Dataset::Reader::Opened& opened) {
  if (opened.bytes > limits_.max_image_bytes) return Input{.fault = base::Fault::kTooManyBytes};
  PENSTOCK_ASSIGN_OR_RETURN(const base::Fault fault, ReadFields(*readers_.front(), 0));
  return Input{.bytes = opened.bytes, .fault = fault};
}

// In a mixture, some rows may need no unpacking. They are copied here; the worker gets no bytes of
// them.
absl::StatusOr<ItemReader::Input> ItemReader::OpenRun() {
  recipe_.packing = unpack::SamplePacking::kExample;
  for (uint32_t row = 0; row < item_.run.size(); ++row) {
    source::Dataset::Reader& reader = *readers_.emplace_back(item_.dataset->NewReader());
    PENSTOCK_ASSIGN_OR_RETURN(const auto opened, reader.Open(item_.run[row]));
    base::Fault fault = opened.fault;
    if (fault == base::Fault::kNone && opened.bytes == 0) {
      PENSTOCK_ASSIGN_OR_RETURN(fault, ReadFields(reader, row));
    }
    if (fault != base::Fault::kNone) return Input{.fault = fault, .row = row};
    if (opened.bytes != 0 && recipe_.fields.empty())
      recipe_.fields = reader.RecipeFor(*item_.selection).fields;
    recipe_.samples.push_back(opened.bytes);
  }
  return InputOfRecipe();
}

absl::StatusOr<ItemReader::Input> ItemReader::InputOfRecipe() {
  SetTargets();
  Input input = {.recipe_bytes = static_cast<uint32_t>(unpack::BytesOf(recipe_)),
                 .has_image = !recipe_.image.empty()};
  input.bytes =
      std::accumulate(recipe_.samples.begin(), recipe_.samples.end(), uint64_t{input.recipe_bytes});
  if (input.bytes <= limits_.arena_bytes) return input;
  const auto largest = std::max_element(recipe_.samples.begin(), recipe_.samples.end());
  return Input{.fault = base::Fault::kTooManyBytes,
               .row = static_cast<uint32_t>(largest - recipe_.samples.begin())};
}

void ItemReader::SetTargets() {
  if (recipe_.fields.empty()) return;
  const source::RowLayout& layout = item_.selection->layout;
  PENSTOCK_CHECK(item_.row != nullptr && recipe_.fields.size() == layout.tensors.size());
  const auto offset_of = [&](uint32_t block) {
    return item_.row_offset + static_cast<uint64_t>(item_.field_rows[block] - item_.row);
  };
  for (size_t i = 0; i < recipe_.fields.size(); ++i) {
    const source::Tensor& tensor = layout.tensors[i];
    PENSTOCK_CHECK(tensor.offset == 0 && recipe_.fields[i].row_bytes() == tensor.bytes());
    recipe_.fields[i].values = offset_of(tensor.block);
    if (tensor.lengths_block) recipe_.fields[i].lengths = offset_of(*tensor.lengths_block);
  }
}

absl::StatusOr<base::Fault> ItemReader::ReadFields(source::Dataset::Reader& reader,
                                                   uint32_t row) const {
  if (item_.selection == nullptr) return base::Fault::kNone;
  std::vector<std::byte*> rows = item_.field_rows;
  for (size_t block = 0; block < rows.size(); ++block)
    rows[block] += row * item_.selection->layout.blocks[block];
  return reader.ReadFields(*item_.selection, rows);
}

absl::Status ItemReader::Read(std::span<std::byte> into) {
  if (recipe_.packing == unpack::SamplePacking::kImage) return readers_.front()->Read(into);
  const uint64_t recipe_bytes = unpack::BytesOf(recipe_);
  unpack::Write(recipe_, into.first(recipe_bytes));
  into = into.subspan(recipe_bytes);
  for (size_t i = 0; i < recipe_.samples.size(); ++i) {
    const uint64_t bytes = recipe_.samples[i];
    if (bytes > 0) PENSTOCK_RETURN_IF_ERROR(readers_[i]->Read(into.first(bytes)));
    into = into.subspan(bytes);
  }
  return absl::OkStatus();
}

bool HasPossibleLengths(const WorkItem& item) {
  if (item.selection == nullptr) return true;
  for (const source::Tensor& tensor : item.selection->layout.tensors) {
    if (!tensor.lengths_block) continue;
    for (uint32_t row = 0; row < RowsOf(item); ++row) {
      int32_t length = 0;
      std::memcpy(&length, item.field_rows[*tensor.lengths_block] + row * sizeof length,
                  sizeof length);
      if (length < 0 || static_cast<uint32_t>(length) > tensor.shape.front()) return false;
    }
  }
  return true;
}

}  // namespace penstock::workers
