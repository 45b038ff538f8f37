#include "server/kept/image_shelf.h"

#include <algorithm>
#include <chrono>

#include "common/base/units.h"

namespace penstock::kept {
namespace {

// What the use of a kept image costs: a copy with a checksum, and reading it again.
constexpr double kNanosecondsPerByte = 0.3;
// Only what costs half of decoding pays: memory has other uses.
constexpr double kLeastGain = 2;
// So many images in vain, and no more are decoded as a whole.
constexpr uint32_t kMostInVain = 64;
// Photographs are 5 to 10 times larger than their files. More room than this is hardly ever used.
constexpr uint64_t kRoomPerFile = 16;
constexpr uint64_t kLeastRoom = 64 * base::kKiB, kMostRoom = 4 * base::kMiB;

}  // namespace

bool Pays(uint64_t bytes, base::Duration decode) {
  const double cost = kNanosecondsPerByte * static_cast<double>(bytes);
  return std::chrono::duration<double, std::nano>(decode).count() >= kLeastGain * cost;
}

uint64_t ImageShelf::RoomFor(uint64_t file_bytes) const {
  if (in_vain_ >= kMostInVain) return 0;
  const uint64_t room = std::clamp(kRoomPerFile * file_bytes, kLeastRoom, kMostRoom);
  if (shelf_->HasRoomFor(room)) return room;
  shelf_->NotePassedOver();
  return 0;
}

void ImageShelf::Put(uint64_t sample, std::span<std::byte> image, base::Duration decode) {
  if (!Pays(image.size(), decode)) {
    ++in_vain_;
    return shelf_->NotePassedOver();
  }
  in_vain_ = 0;
  shelf_->Put(sample, {image});
}

}  // namespace penstock::kept
