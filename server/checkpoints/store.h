// All checkpoints, within a limit. Shelves share them out to those who read and decode; the thread
// of CheckpointFiles takes from here what it writes, and fills in what it has read.
// **Thread safety**: any thread; calls wait for a lock that is held for microseconds.
// **Ownership**: shared by the daemon, its shelves, and its files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "absl/container/btree_map.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "server/checkpoints/shelf.h"

namespace penstock::checkpoints {

// Whose checkpoints of which dataset.
struct ShelfKey {
  uint32_t user = 0;
  uint64_t dataset = 0;  // digest
  uint64_t samples = 0;

  auto operator<=>(const ShelfKey&) const = default;
};

// Samples are kept in blocks of so many: first the lengths of all, then the room of each. So few
// that samples here and there cost little, and enough that finding a block does, too.
inline constexpr uint64_t kBlockSamples = 8;
inline uint64_t BlockBytes(uint32_t room) { return kBlockSamples * (sizeof(uint16_t) + room); }

struct ShelfPlace {
  ShelfKey key;
  uint32_t room = 0;
};

struct ShelfEntry {
  struct KeptBlock {
    std::vector<std::byte> bytes;
    bool changed = false;  // waits in changed_
  };
  ShelfPlace place;
  // By number. Ordered, so that the first one is found, and room for another made, in no time.
  absl::btree_map<uint64_t, KeptBlock> blocks;
  bool was_dropped_from = false;  // so its file has more
  uint64_t shelves = 0;           // that exist
  uint64_t closed = 0;            // when the last one went, counted in closings
};

class CheckpointStore : public std::enable_shared_from_this<CheckpointStore> {
 public:
  static constexpr uint32_t kLeastRoom = 64, kMostRoom = 1024;

  explicit CheckpointStore(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  uint64_t max_bytes() const { return max_bytes_; }
  // Null if nothing is to be kept.
  std::shared_ptr<CheckpointShelf> Open(const ShelfKey& key);

  struct Counts {
    uint64_t bytes = 0;    // memory in use
    uint64_t asked = 0;    // samples whose checkpoints were wanted …
    uint64_t found = 0;    // … and of these, those that had some
    uint64_t refused = 0;  // checkpoints that were not kept, because the store was full
  };
  Counts counts() const;

  // ---- For CheckpointFiles ----
  // Whether somebody takes the blocks that change; at first nobody does, so none are noted.
  void BeWritten(bool is_written);
  // Waits for a shelf to be opened that has nothing, or not all that it had; nullopt after
  // `patience`, or after EndWaiting.
  std::optional<ShelfPlace> AwaitOpened(base::Duration patience);
  void EndWaiting();
  bool is_ended() const;
  // A block that has changed since it was last taken; nullopt: there is none.
  struct BlockCopy {
    ShelfPlace place;
    uint64_t number = 0;
    std::vector<std::byte> bytes;
  };
  std::optional<BlockCopy> TakeChanged();
  // It could not be written.
  void PutBack(const BlockCopy& block);
  // Adds those samples of a block that the store doesn't have. Returns false if they are of no use:
  // the shelf is closed, or the store full.
  bool Fill(const ShelfPlace& place, uint64_t number, std::span<const std::byte> bytes);

 private:
  friend class CheckpointShelf;
  uint32_t Take(const ShelfEntry& entry, uint64_t sample, std::span<std::byte> into);
  void Put(ShelfEntry& entry, uint64_t sample, std::span<const std::byte> bytes);
  void Close(ShelfEntry& entry);

  ShelfEntry::KeptBlock* Make(ShelfEntry& entry, uint64_t number) PENSTOCK_REQUIRES(mutex_);
  bool MakeRoom(const ShelfEntry& entry, uint64_t bytes) PENSTOCK_REQUIRES(mutex_);
  bool DropOfClosed() PENSTOCK_REQUIRES(mutex_);
  bool DropOfAnother(const ShelfEntry& entry, uint64_t bytes) PENSTOCK_REQUIRES(mutex_);
  void DropBlock(ShelfEntry& entry) PENSTOCK_REQUIRES(mutex_);
  void Changed(ShelfEntry& entry, uint64_t number) PENSTOCK_REQUIRES(mutex_);
  std::map<uint32_t, uint64_t> BytesByUser() const PENSTOCK_REQUIRES(mutex_);

  const uint64_t max_bytes_;
  mutable base::Mutex mutex_;
  base::CondVar opened_;
  bool ended_ PENSTOCK_GUARDED_BY(mutex_) = false;
  bool is_written_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::map<ShelfKey, ShelfEntry> entries_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<ShelfPlace> news_ PENSTOCK_GUARDED_BY(mutex_);  // opened, and not yet awaited
  std::deque<std::pair<ShelfKey, uint64_t>> changed_ PENSTOCK_GUARDED_BY(mutex_);
  uint64_t closings_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  Counts counts_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::checkpoints
