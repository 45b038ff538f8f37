#include "server/workers/queue/item_reader.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "common/base/check.h"
#include "server/decode/core/place.h"
#include "server/source/core/stored_images.h"

namespace penstock::workers {
namespace {

// Of images with room for what is decoded from them, so many are to fit into the arena.
constexpr uint64_t kItemsInArena = 4;

}  // namespace

absl::StatusOr<ItemReader::Input> ItemReader::Open() {
  if (!item_.run.empty()) return OpenRun();
  PENSTOCK_ASSIGN_OR_RETURN(Input input, OpenSample());
  if (input.fault == base::Fault::kNone && input.has_image && !is_kept_) AddRooms(input);
  return input;
}

// As far as they fit; the arena is for several items.
void ItemReader::AddRooms(Input& input) {
  if (item_.shelf != nullptr && input.bytes + item_.shelf->room() <= limits_.arena_bytes)
    input.checkpoint_room = checkpoint_room_ = item_.shelf->room();
  input.bytes += checkpoint_room_;
  if (item_.images == nullptr || image_bytes_ == 0) return;
  const uint64_t room = item_.images->RoomFor(image_bytes_);
  if (input.bytes + room <= limits_.arena_bytes / kItemsInArena) image_room_ = room;
  input.image_room = image_room_;
  input.bytes += image_room_;
}

absl::StatusOr<ItemReader::Input> ItemReader::OpenSample() {
  readers_.push_back(item_.stored_image ? source::NewStoredImageReader(*item_.dataset)
                                        : item_.dataset->NewReader());
  PENSTOCK_ASSIGN_OR_RETURN(const auto opened, readers_.front()->Open(item_.sample));
  if (opened.fault != base::Fault::kNone) return Input{.fault = opened.fault};
  static const source::Selection kNoFields;
  PlaceTargets();
  recipe_ = readers_.front()->RecipeFor(item_.selection == nullptr ? kNoFields : *item_.selection);
  if (recipe_.packing == unpack::SamplePacking::kImage) return OpenImage(opened);
  recipe_.samples = {opened.bytes};
  return InputOfRecipe();
}

absl::StatusOr<ItemReader::Input> ItemReader::OpenImage(
    const source::Dataset::Reader::Opened& opened) {
  if (opened.bytes > limits_.max_image_bytes) return Input{.fault = base::Fault::kTooManyBytes};
  PENSTOCK_ASSIGN_OR_RETURN(base::Fault fault, OpenMasks());
  if (fault != base::Fault::kNone) return Input{.fault = fault};
  const std::optional<uint64_t> kept =
      item_.images == nullptr ? std::nullopt : item_.images->BytesOf(item_.sample);
  is_kept_ = kept.has_value();
  image_bytes_ = kept.value_or(opened.bytes);
  is_in_row_ = MayStayInRow();
  Input input = {.bytes = preamble_bytes() + (is_in_row_ ? 0 : image_bytes_),
                 .targets = static_cast<uint32_t>(targets_.size()),
                 .image_in_row = is_in_row_ ? image_bytes_ : 0};
  for (const TargetPlace& target : targets_) input.bytes += target.file_bytes;
  // Only because this feed wants several rows of it, or masks.
  if (input.bytes > limits_.arena_bytes) return Input{.fault = base::Fault::kUnfitSize};
  PENSTOCK_ASSIGN_OR_RETURN(input.fault, ReadFields(*readers_.front(), 0));
  return input;
}

// Then it is not copied. A worker that finds that it may not stay moves it out of the way.
bool ItemReader::MayStayInRow() const {
  const decode::Undecoded& undecoded = item_.spec.undecoded;
  return undecoded.place_bytes > 0 && item_.row != nullptr && image_bytes_ > 0 &&
         image_bytes_ <= decode::RoomOf(undecoded) && item_.images == nullptr &&
         item_.more_specs.empty() && targets_.empty() &&
         decode::IsAmongShare(undecoded, item_.key.sample);
}

void ItemReader::PlaceTargets() {
  if (item_.selection == nullptr) return;
  const source::RowLayout& layout = item_.selection->layout;
  for (size_t i = 0; i < item_.selection->targets.size(); ++i) {
    const base::TargetSpec& spec = item_.selection->targets[i];
    if (spec.kind == base::TargetKind::kNone) continue;
    const source::Tensor& tensor = layout.tensors[i];
    TargetPlace place = {.spec = spec,
                         .row_offset = OffsetOf(tensor.block),
                         .row_bytes = tensor.bytes(),
                         .count_offset = kNowhere,
                         .file_bytes = 0,
                         .item_bytes = 0,
                         .numbers = 0};
    if (tensor.lengths_block) place.count_offset = OffsetOf(*tensor.lengths_block);
    if (spec.kind != base::TargetKind::kMask) {
      // Points of a fixed number are one item.
      const bool is_one = !tensor.lengths_block && spec.kind == base::TargetKind::kPoints;
      const uint64_t items = is_one ? 1 : tensor.shape.front();
      place.item_bytes = static_cast<uint32_t>(tensor.bytes() / items);
    }
    if (spec.kind == base::TargetKind::kPoints) place.numbers = tensor.shape.back();
    targets_.push_back(place);
    target_tensors_.push_back(i);
  }
}

absl::StatusOr<base::Fault> ItemReader::OpenMasks() {
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].spec.kind != base::TargetKind::kMask) continue;
    PENSTOCK_ASSIGN_OR_RETURN(const source::Dataset::Reader::Opened opened,
                              readers_.front()->OpenMask(*item_.selection, target_tensors_[i]));
    if (opened.fault != base::Fault::kNone) return opened.fault;
    if (opened.bytes == 0) return base::Fault::kMalformed;
    if (opened.bytes > limits_.max_image_bytes) return base::Fault::kTooLong;
    targets_[i].file_bytes = opened.bytes;
  }
  return base::Fault::kNone;
}

absl::Status ItemReader::ReadMasks(std::span<std::byte> into) {
  for (size_t i = 0; i < targets_.size(); ++i) {
    const uint64_t bytes = targets_[i].file_bytes;
    if (bytes == 0) continue;
    PENSTOCK_RETURN_IF_ERROR(
        readers_.front()->ReadMask(*item_.selection, target_tensors_[i], into.first(bytes)));
    into = into.subspan(bytes);
  }
  return absl::OkStatus();
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
  SetPlaces();
  Input input = {.recipe_bytes = static_cast<uint32_t>(unpack::BytesOf(recipe_)),
                 .has_image = !recipe_.image.empty(),
                 .targets = static_cast<uint32_t>(targets_.size())};
  input.bytes = std::accumulate(recipe_.samples.begin(), recipe_.samples.end(),
                                preamble_bytes() + input.recipe_bytes);
  if (input.bytes <= limits_.arena_bytes) return input;
  const auto largest = std::max_element(recipe_.samples.begin(), recipe_.samples.end());
  return Input{.fault = base::Fault::kTooManyBytes,
               .row = static_cast<uint32_t>(largest - recipe_.samples.begin())};
}

uint64_t ItemReader::OffsetOf(uint32_t block) const {
  return item_.row_offset + static_cast<uint64_t>(item_.field_rows[block] - item_.row);
}

void ItemReader::SetPlaces() {
  if (recipe_.fields.empty()) return;
  const source::RowLayout& layout = item_.selection->layout;
  PENSTOCK_CHECK(item_.row != nullptr && recipe_.fields.size() == layout.tensors.size());
  for (size_t i = 0; i < recipe_.fields.size(); ++i) {
    const source::Tensor& tensor = layout.tensors[i];
    PENSTOCK_CHECK(tensor.offset == 0 && recipe_.fields[i].row_bytes() == tensor.bytes());
    recipe_.fields[i].values = OffsetOf(tensor.block);
    if (tensor.lengths_block) recipe_.fields[i].lengths = OffsetOf(*tensor.lengths_block);
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

void ItemReader::WritePreamble(std::span<std::byte> into) const {
  for (size_t i = 0; i < item_.more_specs.size(); ++i) {
    const decode::Spec& spec = item_.more_specs[i];
    const MoreImage image = {item_.more_offsets[i], decode::RowBytes(spec), spec};
    std::memcpy(into.data() + i * sizeof(image), &image, sizeof(image));
  }
  if (targets_.empty()) return;
  std::memcpy(into.data() + item_.more_specs.size() * sizeof(MoreImage), targets_.data(),
              targets_.size() * sizeof(TargetPlace));
}

absl::StatusOr<bool> ItemReader::Read(std::span<std::byte> into) {
  const std::span<std::byte> room = into.last(checkpoint_room_);
  if (!room.empty()) checkpoint_bytes_ = item_.shelf->Take(item_.sample, room);
  into = into.first(into.size() - room.size() - image_room_);
  WritePreamble(into);
  return ReadSamples(into.subspan(preamble_bytes()));
}

std::span<std::byte> ItemReader::ImageIn(std::span<std::byte> into) const {
  if (!is_in_row_) return into.first(image_bytes_);
  const decode::Undecoded& undecoded = item_.spec.undecoded;
  const std::span<std::byte> place(item_.row, undecoded.place_bytes);
  decode::BeginPlace(undecoded, static_cast<uint32_t>(image_bytes_), place);
  return place.first(image_bytes_);
}

absl::StatusOr<bool> ItemReader::ReadSamples(std::span<std::byte> into) {
  if (recipe_.packing == unpack::SamplePacking::kImage) {
    if (!targets_.empty()) PENSTOCK_RETURN_IF_ERROR(ReadMasks(into.subspan(image_bytes_)));
    if (is_kept_) return item_.images->Take(item_.sample, into.first(image_bytes_));
    PENSTOCK_RETURN_IF_ERROR(readers_.front()->Read(ImageIn(into)));
    return true;
  }
  const uint64_t recipe_bytes = unpack::BytesOf(recipe_);
  unpack::Write(recipe_, into.first(recipe_bytes));
  into = into.subspan(recipe_bytes);
  for (size_t i = 0; i < recipe_.samples.size(); ++i) {
    const uint64_t bytes = recipe_.samples[i];
    if (bytes > 0) PENSTOCK_RETURN_IF_ERROR(readers_[i]->Read(into.first(bytes)));
    into = into.subspan(bytes);
  }
  return true;
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
