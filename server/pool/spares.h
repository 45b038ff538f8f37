// Memory allocated and faulted in ahead of time, before it is known which user's batches it will
// hold. A piece is handed out to one segment and never comes back. Owned by the pool; not
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::pool {

class Spares {
 public:
  struct SparePiece {
    posix::Fd memory;  // at least `bytes` long; anything beyond has no pages
    uint64_t bytes = 0;
  };

  // Adds `bytes` in pieces of `piece_bytes`; the last may be smaller. Waits while the system clears
  // them. **Errors**: ResourceExhausted if the system has no more memory; pieces already made are
  // kept.
  absl::Status Make(uint64_t bytes, uint64_t piece_bytes);

  // Removes and returns a piece of at least one slot, trimmed to whole slots; the rest of its
  // memory returns to the system.
  std::optional<SparePiece> Take(uint64_t slot_bytes);

  // Removes and returns a piece; its pages go when it is closed. **Requires**: not empty.
  SparePiece Drop();

  bool empty() const { return pieces_.empty(); }
  uint64_t bytes() const { return bytes_; }

 private:
  std::vector<SparePiece> pieces_;
  uint64_t bytes_ = 0;
};

}  // namespace penstock::pool
