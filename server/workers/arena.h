// Where the samples' bytes lie while a worker has them: offsets into the channel's input arena.
// The lowest free bytes are used first, so that small files go round in the few pages that the
// caches know. Regions are freed in any order: one whose read does not come back stays where it is,
// and the others go round beside it. Pure; the queue's lock guards it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::workers {

class InputArena {
 public:
  // `bytes` is a multiple of 64.
  explicit InputArena(uint64_t bytes);

  // The offset (a multiple of 64) of `bytes` free bytes, or nothing until others are freed.
  // What is larger than the arena never fits.
  std::optional<uint64_t> Allocate(uint64_t bytes);
  void Free(uint64_t offset);  // as Allocate gave it

  // From now on this region may stay for long.
  void LeaveBehind(uint64_t offset);
  // Whether `bytes` would fit once all regions were freed but those that may stay for long.
  bool WillFit(uint64_t bytes) const;

  bool empty() const { return regions_.empty(); }

 private:
  struct Region {
    uint64_t begin, end;
    bool left_behind = false;
  };
  std::vector<Region>::iterator Find(uint64_t offset);
  template <typename Counts>
  std::optional<uint64_t> FirstGap(uint64_t size, const Counts& counts) const;

  uint64_t bytes_;
  std::vector<Region> regions_;  // by place; a handful
};

}  // namespace penstock::workers
