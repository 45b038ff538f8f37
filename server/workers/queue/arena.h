// Allocates input memory for samples while a worker has them: offsets into the channel's input
// arena. The lowest free bytes are used first, so that small files reuse the few pages that are in
// the caches. Regions are freed in any order; a region whose read is blocked stays allocated, and
// others use the memory around it. Pure.
// **Thread safety**: guarded by the queue's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::workers {

class InputArena {
 public:
  // **Requires**: `bytes` is a multiple of 64.
  explicit InputArena(uint64_t bytes);

  // Returns the offset (a multiple of 64) of `bytes` free bytes, or nullopt until others are freed.
  // A request larger than the arena never succeeds.
  std::optional<uint64_t> Allocate(uint64_t bytes);
  void Free(uint64_t offset);  // an offset from Allocate

  // Marks the region as blocked: it may stay allocated for long.
  void LeaveBehind(uint64_t offset);
  // Whether `bytes` would fit if all regions except the blocked ones were freed.
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
  std::vector<Region> regions_;  // ordered by offset; only a few
};

}  // namespace penstock::workers
