// Memory for rows that forks leave out. Of other private memory a fork copies the page tables,
// about 20 ms for each GiB, and the runner waits for that whenever a worker starts.
//
// Rows share chunks of addresses. A row that goes gives its pages back at once; a chunk gives its
// addresses back when its last row goes.
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
  static constexpr size_t kChunkBytes = 64 * base::kMiB;
  // Smaller rows are on the heap: here they would take whole pages.
  static constexpr size_t kLeast = 32 * base::kKiB;

  // Throws std::bad_alloc.
  std::shared_ptr<std::byte[]> Take(size_t bytes);

 private:
  class Chunk;
  // Null if the system gives no addresses.
  std::shared_ptr<Chunk> ChunkFor(size_t bytes) PENSTOCK_REQUIRES(mutex_);

  base::Mutex mutex_;
  std::shared_ptr<Chunk> latest_ PENSTOCK_GUARDED_BY(mutex_);  // shared with its rows
};

}  // namespace penstock::kept
