// Where the samples' bytes lie while a worker has them: offsets into the channel's input arena.
// They are freed in the order in which they were allocated. The lowest free bytes are used first,
// so that small files go round in the few pages that the caches know. Pure; the lane's lock guards
// it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace penstock::workers {

class Arena {
 public:
  // `bytes` is a multiple of 64.
  explicit Arena(uint64_t bytes);

  // The offset (a multiple of 64) of `bytes` free bytes, or nothing until older ones are freed.
  // What is larger than the arena never fits.
  std::optional<uint64_t> Allocate(uint64_t bytes);
  void FreeOldest();
  void FreeNewest();

  bool empty() const { return regions_.empty(); }

 private:
  struct Region {
    uint64_t begin, end;
  };

  uint64_t bytes_;
  std::deque<Region> regions_;  // oldest first
};

}  // namespace penstock::workers
