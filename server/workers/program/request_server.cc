#include "server/workers/program/request_server.h"

#include <cstring>

#include "server/decode/core/place.h"

namespace penstock::workers {
namespace {

// A part of the segment. **Errors**: Internal if it is not within, or not of the size of a row.
absl::StatusOr<std::span<std::byte>> RowAt(uint64_t offset, uint64_t bytes,
                                           const decode::Spec& spec, std::span<std::byte> segment) {
  const uint64_t size = segment.size();
  if (offset <= size && bytes <= size - offset && bytes == decode::RowBytes(spec))
    return segment.subspan(offset, bytes);
  return absl::InternalError(
      absl::StrCat("a row of ", bytes, " bytes at ", offset, " in a segment of ", size));
}

struct Place {
  uint64_t offset, bytes;
};
bool IsWithin(Place place, std::span<const std::byte> segment, uint64_t alignment) {
  return place.offset <= segment.size() && place.bytes <= segment.size() - place.offset &&
         place.offset % alignment == 0;
}

}  // namespace

absl::StatusOr<RequestServer::Served> RequestServer::Serve(const DecodeRequest& request,
                                                           std::span<std::byte> input,
                                                           std::span<std::byte> segment) {
  PENSTOCK_ASSIGN_OR_RETURN(Rooms rooms, TakeRooms(request, input));
  decoder_.UseCheckpoints(rooms.checkpoints.room.empty() ? nullptr : &rooms.checkpoints);
  decoder_.UseImageRoom(rooms.image.room.empty() ? nullptr : &rooms.image);
  absl::StatusOr<Served> served = ServeRows(request, input, segment);
  decoder_.UseCheckpoints(nullptr);
  decoder_.UseImageRoom(nullptr);
  if (!served.ok()) return served;
  if (rooms.checkpoints.changed)
    served->checkpoint_bytes = static_cast<uint32_t>(rooms.checkpoints.bytes);
  served->image_bytes = rooms.image.bytes;
  return served;
}

absl::StatusOr<RequestServer::Rooms> RequestServer::TakeRooms(const DecodeRequest& request,
                                                              std::span<std::byte>& input) {
  if (request.checkpoint_room > input.size() ||
      request.checkpoint_bytes > request.checkpoint_room ||
      request.image_room > input.size() - request.checkpoint_room)
    return absl::InternalError(absl::StrCat(
        request.checkpoint_bytes, " of ", request.checkpoint_room, " bytes for checkpoints, and ",
        request.image_room, " for an image, in an input of ", input.size(), " bytes"));
  const auto take = [&input](uint64_t bytes) {
    const std::span<std::byte> room = input.last(bytes);
    input = input.first(input.size() - bytes);
    return room;
  };
  Rooms rooms;
  rooms.checkpoints = {.room = take(request.checkpoint_room), .bytes = request.checkpoint_bytes};
  rooms.image = {.room = take(request.image_room)};
  return rooms;
}

absl::StatusOr<RequestServer::Served> RequestServer::ServeRows(const DecodeRequest& request,
                                                               std::span<const std::byte> input,
                                                               std::span<std::byte> segment) {
  wanted_.clear();
  PENSTOCK_ASSIGN_OR_RETURN(std::span<const std::byte> image, ReadImages(request, input, segment));
  PENSTOCK_ASSIGN_OR_RETURN(image, ReadTargets(request, image, segment));
  if (request.recipe_bytes == 0) {
    PENSTOCK_ASSIGN_OR_RETURN(image, TakeMasks(image));
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(const unpack::RowFiller::Filled filled,
                              FillFields(request, image, segment));
    if (filled.fault != base::Fault::kNone) return Served{filled.fault, filled.row};
    image = filled.image;
    PENSTOCK_RETURN_IF_ERROR(TakeMasks(filled.files));
  }
  if (wanted_.empty()) return Served{};
  if (request.image_in_row > 0) {
    PENSTOCK_ASSIGN_OR_RETURN(image, ImageInRow(request));
  }
  if (targets_.empty() && request.size_offset == kNowhere) {
    return Served{decoder_.DecodeRows(image, wanted_)};
  }
  const base::Fault fault = decoder_.DecodeWithTargets(image, wanted_.front(), targets_);
  if (fault == base::Fault::kNone) WriteSize(request, segment);
  return Served{fault};
}

absl::StatusOr<std::span<const std::byte>> RequestServer::ReadTargets(
    const DecodeRequest& request, std::span<const std::byte> input, std::span<std::byte> segment) {
  targets_.clear();
  const uint64_t bytes = uint64_t{request.targets} * sizeof(TargetPlace);
  const bool is_alone = request.targets == 0 || wanted_.size() == 1;
  if (bytes > input.size() || request.targets > base::kMostTargets || !is_alone)
    return absl::InternalError(absl::StrCat(request.targets, " targets of ", wanted_.size(),
                                            " images, in an input of ", input.size(), " bytes"));
  const bool has_size = request.size_offset != kNowhere;
  if (has_size && !IsWithin({request.size_offset, 2 * sizeof(int32_t)}, segment, sizeof(int32_t)))
    return absl::InternalError(absl::StrCat("an image's size at ", request.size_offset));
  places_.resize(request.targets);
  if (bytes > 0) std::memcpy(places_.data(), input.data(), bytes);
  for (const TargetPlace& place : places_) {
    PENSTOCK_ASSIGN_OR_RETURN(decode::TargetRow row, ToRow(place, segment));
    targets_.push_back(row);
  }
  return input.subspan(bytes);
}

absl::StatusOr<decode::TargetRow> RequestServer::ToRow(const TargetPlace& place,
                                                       std::span<std::byte> segment) const {
  using base::TargetKind;
  const TargetKind kind = place.spec.kind;
  const bool has_count = place.count_offset != kNowhere;
  const bool is_mask = kind == TargetKind::kMask;
  const bool has_floats = kind == TargetKind::kBoxes || kind == TargetKind::kPoints;
  bool right = IsWithin({place.row_offset, place.row_bytes}, segment, has_floats ? 4 : 1) &&
               (!has_count || IsWithin({place.count_offset, 4}, segment, 4)) &&
               place.spec.pairs <= base::kMostPointPairs;
  if (is_mask) {
    const decode::Spec& spec = *wanted_.front().spec;
    right = right && place.row_bytes == uint64_t{spec.height} * spec.width;
  } else {
    right = right && place.item_bytes > 0 && place.row_bytes % place.item_bytes == 0;
  }
  if (kind == TargetKind::kBoxes) right = right && place.item_bytes == 4 * sizeof(float);
  if (kind == TargetKind::kPoints)
    right = right && (place.numbers == 2 || place.numbers == 3) &&
            place.item_bytes % (place.numbers * sizeof(float)) == 0;
  if (!right)
    return absl::InternalError(
        absl::StrCat("a target of kind ", static_cast<uint32_t>(kind), " with ", place.row_bytes,
                     " bytes at ", place.row_offset, ", in a segment of ", segment.size()));
  decode::TargetRow row = {.spec = place.spec,
                           .row = segment.subspan(place.row_offset, place.row_bytes),
                           .item_bytes = place.item_bytes,
                           .numbers = place.numbers};
  if (has_count) row.count = segment.subspan(place.count_offset, sizeof(int32_t));
  return row;
}

absl::StatusOr<std::span<const std::byte>> RequestServer::TakeMasks(
    std::span<const std::byte> input) {
  uint64_t all = 0;
  for (const TargetPlace& place : places_) {
    if (place.file_bytes > input.size() - all)
      return absl::InternalError(
          absl::StrCat("a mask of ", place.file_bytes, " bytes in an input of ", input.size()));
    all += place.file_bytes;
  }
  std::span<const std::byte> files = input.last(all);
  for (size_t i = 0; i < places_.size(); ++i) {
    targets_[i].file = files.first(places_[i].file_bytes);
    files = files.subspan(places_[i].file_bytes);
  }
  return input.first(input.size() - all);
}

absl::Status RequestServer::TakeMasks(std::span<const std::span<const std::byte>> files) {
  for (decode::TargetRow& target : targets_) {
    if (target.spec.kind != base::TargetKind::kMask) continue;
    if (files.empty()) return absl::InternalError("fewer masks than targets");
    target.file = files.front();
    files = files.subspan(1);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::span<const std::byte>> RequestServer::ImageInRow(
    const DecodeRequest& request) const {
  const decode::Decoder::Wanted& wanted = wanted_.front();
  const bool is_alone = wanted_.size() == 1 && targets_.empty() && request.recipe_bytes == 0;
  const decode::Undecoded& undecoded = wanted.spec->undecoded;
  if (is_alone && undecoded.place_bytes > 0 && request.image_in_row <= decode::RoomOf(undecoded))
    return std::span<const std::byte>(wanted.row).first(request.image_in_row);
  return absl::InternalError(absl::StrCat("an image of ", request.image_in_row,
                                          " bytes in a row of ", wanted.row.size(), " bytes"));
}

void RequestServer::WriteSize(const DecodeRequest& request, std::span<std::byte> segment) const {
  if (request.size_offset == kNowhere) return;
  const decode::Decoder::Size size = decoder_.size_made();
  const int32_t sides[] = {static_cast<int32_t>(size.height), static_cast<int32_t>(size.width)};
  std::memcpy(segment.data() + request.size_offset, sides, sizeof sides);
}

absl::StatusOr<std::span<const std::byte>> RequestServer::ReadImages(
    const DecodeRequest& request, std::span<const std::byte> input, std::span<std::byte> segment) {
  const uint64_t bytes = uint64_t{request.more_images} * sizeof(MoreImage);
  if (bytes > input.size() || request.more_images > kMostMoreImages)
    return absl::InternalError(absl::StrCat(request.more_images, " further images in an input of ",
                                            input.size(), " bytes"));
  const std::span<const std::byte> rest = input.subspan(bytes);
  if (request.row_bytes == 0) return rest;
  PENSTOCK_ASSIGN_OR_RETURN(const std::span<std::byte> row,
                            RowAt(request.row_offset, request.row_bytes, request.spec, segment));
  wanted_.push_back({&request.spec, request.key, row});
  more_.resize(request.more_images);
  if (bytes > 0) std::memcpy(more_.data(), input.data(), bytes);
  for (const MoreImage& more : more_) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::span<std::byte> another,
                              RowAt(more.row_offset, more.row_bytes, more.spec, segment));
    decode::DrawKey key = request.key;
    key.view = static_cast<uint32_t>(wanted_.size());
    wanted_.push_back({&more.spec, key, another});
  }
  return rest;
}

absl::StatusOr<unpack::RowFiller::Filled> RequestServer::FillFields(
    const DecodeRequest& request, std::span<const std::byte> input, std::span<std::byte> segment) {
  if (request.recipe_bytes > input.size())
    return absl::InternalError(
        absl::StrCat("a recipe of ", request.recipe_bytes, " bytes in an input of ", input.size()));
  PENSTOCK_ASSIGN_OR_RETURN(const unpack::Recipe recipe,
                            unpack::ReadRecipe(input.first(request.recipe_bytes)));
  if (recipe.image.empty() != (request.row_bytes == 0))
    return absl::InternalError("a recipe and its request disagree about an image");
  return filler_.Fill(recipe, input.subspan(request.recipe_bytes), segment);
}

}  // namespace penstock::workers
