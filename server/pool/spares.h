// Memory made and touched ahead, before anybody knows which user's batches it will hold. A piece
// leaves for one segment and never comes back. Owned by the pool; not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::pool {

class Spares {
 public:
  struct Piece {
    posix::Fd memory;  // at least `bytes` long; what is beyond holds no memory
    uint64_t bytes = 0;
  };

  // Adds so many bytes in pieces of `piece_bytes`, of which the last may be smaller. Waits while
  // the system clears them. ResourceExhausted when it has no more; what was made until then stays.
  absl::Status Make(uint64_t bytes, uint64_t piece_bytes);

  // A piece of at least one slot, cut to whole ones; the rest of its memory goes back to the
  // system.
  std::optional<Piece> Take(uint64_t slot_bytes);

  // Gives a piece back to the system. There is one.
  void Drop();

  bool empty() const { return pieces_.empty(); }
  uint64_t bytes() const { return bytes_; }

 private:
  std::vector<Piece> pieces_;
  uint64_t bytes_ = 0;
};

}  // namespace penstock::pool
