#include "client/src/core/places.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/shm/row_note.h"

namespace penstock::client {
namespace {

constexpr uint32_t kMostSide = 1 << 16;

absl::Status WrongPlace(absl::string_view what) {
  return absl::InternalError(absl::StrCat("the daemon's batch: a row's place: ", what));
}

// `side`: of the image, in which the box begins at `from`. `count`: of the row.
bool IsPossible(const shm::RowAxis& axis, uint32_t from, uint32_t side, uint32_t count) {
  return axis.in > 0 && from < side && axis.in <= side - from && axis.out > 0 &&
         axis.out <= kMostSide && axis.count == count && axis.count <= axis.out &&
         axis.first <= axis.out - axis.count;
}

resample::Axis ToAxis(const shm::RowAxis& axis) {
  return {.in = axis.in, .out = axis.out, .first = axis.first, .count = axis.count};
}

}  // namespace

absl::StatusOr<gpu_decode::RowInput> ReadPlace(std::span<const std::byte> place, const Shape& row) {
  shm::RowNote note;
  if (place.size() < sizeof note) return WrongPlace("too small");
  const uint64_t room = place.size() - sizeof note;
  std::memcpy(&note, place.data() + room, sizeof note);
  const uint64_t row_bytes = uint64_t{row.height} * row.width * row.channels;
  if (note.bytes == 0 || note.bytes > room)
    return WrongPlace(absl::StrCat("got ", note.bytes, " bytes, expected at most ", room));
  if (note.holds == shm::RowHolds::kPixels) {
    if (note.bytes == row_bytes)
      return gpu_decode::RowInput{.pixels = reinterpret_cast<const uint8_t*>(place.data())};
    return WrongPlace(absl::StrCat("got ", note.bytes, " bytes of pixels, expected ", row_bytes));
  }
  if (note.holds != shm::RowHolds::kJpeg)
    return WrongPlace(absl::StrCat("holds something unknown, ", static_cast<uint32_t>(note.holds)));
  const bool fits = note.width <= kMostSide && note.height <= kMostSide &&
                    IsPossible(note.x, note.left, note.width, row.width) &&
                    IsPossible(note.y, note.top, note.height, row.height) && note.flip <= 1 &&
                    note.interpolation < base::kInterpolations;
  if (!fits)
    return WrongPlace(absl::StrCat("a box of ", note.x.in, "x", note.y.in, " at ", note.left, ",",
                                   note.top, " in an image of ", note.width, "x", note.height,
                                   " cannot become the row"));
  return gpu_decode::RowInput{
      .jpeg = {.file = place.first(note.bytes),
               .width = note.width,
               .height = note.height,
               .left = note.left,
               .top = note.top,
               .x = ToAxis(note.x),
               .y = ToAxis(note.y),
               .flip = note.flip == 1,
               .interpolation = static_cast<base::Interpolation>(note.interpolation)}};
}

}  // namespace penstock::client
