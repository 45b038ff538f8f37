// The checkpoints of one dataset's samples, for one user.
// **Thread safety**: any thread; calls wait for a lock that is held for microseconds.
// **Ownership**: holds its store. While a shelf exists, its checkpoints are in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace penstock::checkpoints {

class CheckpointStore;
struct ShelfEntry;

class CheckpointShelf {
 public:
  // Use CheckpointStore::Open.
  CheckpointShelf(std::shared_ptr<CheckpointStore> store, ShelfEntry& entry, uint32_t room)
      : store_(std::move(store)), entry_(entry), room_(room) {}
  ~CheckpointShelf();
  CheckpointShelf(const CheckpointShelf&) = delete;
  CheckpointShelf& operator=(const CheckpointShelf&) = delete;

  uint32_t room() const { return room_; }  // bytes for each sample

  // Copies the sample's checkpoints to the start of `into`, which has room() bytes. Returns how
  // many bytes there are; 0: none.
  uint32_t Take(uint64_t sample, std::span<std::byte> into) const;

  // Replaces the sample's checkpoints; none: forgets them. If the store is full, nothing changes.
  // **Requires**: at most room() bytes.
  void Put(uint64_t sample, std::span<const std::byte> bytes);

 private:
  const std::shared_ptr<CheckpointStore> store_;
  ShelfEntry& entry_;  // the store's; it exists as long as this
  const uint32_t room_;
};

}  // namespace penstock::checkpoints
