// Memory for rows that forks leave out. Of other private memory a fork copies the page tables,
// about 20 ms for each GiB, and the runner waits for that whenever a worker starts.
//
// Rows lie one behind the other in chunks. A page is given back when its last row goes, and the
// addresses of a chunk when its last row goes. Places are not used twice, so rows of any sizes may
// follow each other.
//
// **Thread safety**: any thread. **Ownership**: rows may outlive it.
#pragma once

#include <cstddef>
#include <memory>

#include "common/base/mutex.h"
#include "common/base/units.h"

namespace penstock::kept {

class RowMemory {
 public:
  static constexpr size_t kChunkBytes = 64 * base::kMiB;  // unless a row is larger
  static constexpr size_t kAlignment = 16;

  // Throws std::bad_alloc.
  std::shared_ptr<std::byte[]> Take(size_t bytes);

 private:
  class Chunk;

  base::Mutex mutex_;
  std::shared_ptr<Chunk> latest_ PENSTOCK_GUARDED_BY(mutex_);  // shared with its rows
};

}  // namespace penstock::kept
