#include "server/kept/row_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace penstock::kept {
namespace {

size_t WholePages(size_t bytes) {
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

class RowMemory::Chunk {
 public:
  explicit Chunk(size_t bytes)
      : bytes_(bytes),
        start_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (is_there()) ::madvise(start_, bytes, MADV_DONTFORK);
  }
  ~Chunk() {
    if (is_there()) ::munmap(start_, bytes_);
  }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  bool is_there() const { return start_ != MAP_FAILED; }
  bool HasRoomFor(size_t bytes) const { return bytes <= bytes_ - taken_; }
  std::byte* Take(size_t bytes) {
    return static_cast<std::byte*>(start_) + std::exchange(taken_, taken_ + bytes);
  }

 private:
  const size_t bytes_;
  void* const start_;
  size_t taken_ = 0;
};

std::shared_ptr<std::byte[]> RowMemory::Take(size_t bytes) {
  if (bytes >= kLeast) {
    const size_t whole = WholePages(bytes);
    const base::MutexLock lock(mutex_);
    if (const std::shared_ptr<Chunk> chunk = ChunkFor(whole))
      return {chunk->Take(whole), [chunk, whole](std::byte* row) {
                ::madvise(row, whole, MADV_DONTNEED);  // the addresses go with the chunk
              }};
  }
  return std::make_shared_for_overwrite<std::byte[]>(bytes);
}

std::shared_ptr<RowMemory::Chunk> RowMemory::ChunkFor(size_t bytes) {
  if (latest_ == nullptr || !latest_->HasRoomFor(bytes))
    latest_ = std::make_shared<Chunk>(std::max(kChunkBytes, bytes));
  if (!latest_->is_there()) latest_ = nullptr;
  return latest_;
}

}  // namespace penstock::kept
