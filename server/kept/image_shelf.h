// The decoded images that are kept of one dataset, for one user, whatever is cropped from them.
// **Thread safety**: any thread. **Ownership**: as RowShelf.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "common/base/clock.h"
#include "server/kept/row_store.h"

namespace penstock::kept {

class ImageShelf {
 public:
  explicit ImageShelf(std::shared_ptr<RowShelf> shelf) : shelf_(std::move(shelf)) {}

  // The size of the sample's kept image, as a file; nullopt: it is not kept.
  std::optional<uint64_t> BytesOf(uint64_t sample) const { return shelf_->BytesOf(sample); }
  // Copies it. False if it is there no more, or was wrong.
  bool Take(uint64_t sample, std::span<std::byte> into) const {
    return shelf_->Take(sample, {into});
  }

  // How much room to give a worker for the image of a file of this size; 0: it is not to be kept.
  uint64_t RoomFor(uint64_t file_bytes) const;
  // Keeps an image that took so long to decode, if that pays and there is room.
  void Put(uint64_t sample, std::span<std::byte> image, base::Duration decode);

 private:
  const std::shared_ptr<RowShelf> shelf_;
  std::atomic<uint32_t> in_vain_{0};  // images that did not pay, since the last that did
};

// Whether copying an image of so many bytes costs much less than decoding it again.
bool Pays(uint64_t bytes, base::Duration decode);

}  // namespace penstock::kept
