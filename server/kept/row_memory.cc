#include "server/kept/row_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace penstock::kept {
namespace {

size_t PageBytes() {
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return page;
}

size_t RoundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

class RowMemory::Chunk {
 public:
  explicit Chunk(size_t bytes);
  ~Chunk() { ::munmap(start_, bytes_); }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  // Null: no room.
  std::byte* Take(size_t bytes);
  void GiveBack(std::byte* row, size_t bytes);

 private:
  size_t PageOf(const std::byte* at) const {
    return static_cast<size_t>(at - start_) / PageBytes();
  }

  const size_t bytes_;
  std::byte* start_ = nullptr;
  base::Mutex mutex_;  // of the pages, too: none goes while a row begins in it
  size_t taken_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::vector<uint16_t> rows_ PENSTOCK_GUARDED_BY(mutex_);  // by page
};

RowMemory::Chunk::Chunk(size_t bytes)
    : bytes_(RoundUp(bytes, PageBytes())), rows_(bytes_ / PageBytes()) {
  void* const start = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  ::madvise(start, bytes_, MADV_DONTFORK);
  start_ = static_cast<std::byte*>(start);
}

std::byte* RowMemory::Chunk::Take(size_t bytes) {
  const base::MutexLock lock(mutex_);
  if (bytes > bytes_ - taken_) return nullptr;
  std::byte* const row = start_ + std::exchange(taken_, taken_ + bytes);
  for (size_t page = PageOf(row); page <= PageOf(row + bytes - 1); ++page) ++rows_[page];
  return row;
}

void RowMemory::Chunk::GiveBack(std::byte* row, size_t bytes) {
  const base::MutexLock lock(mutex_);
  size_t first = PageOf(row), end = first;  // of the pages that nobody has any more
  for (const size_t last = PageOf(row + bytes - 1); end <= last; ++end) {
    if (--rows_[end] == 0) continue;
    if (end > first) break;  // only the last page has another row
    ++first;
  }
  if (end > first)
    ::madvise(start_ + first * PageBytes(), (end - first) * PageBytes(), MADV_DONTNEED);
}

std::shared_ptr<std::byte[]> RowMemory::Take(size_t bytes) {
  const size_t whole = RoundUp(std::max<size_t>(bytes, 1), kAlignment);
  const base::MutexLock lock(mutex_);
  std::byte* row = latest_ == nullptr ? nullptr : latest_->Take(whole);
  if (row == nullptr) {
    latest_ = std::make_shared<Chunk>(std::max(kChunkBytes, whole));
    row = latest_->Take(whole);
  }
  return {row, [chunk = latest_, whole](std::byte* gone) { chunk->GiveBack(gone, whole); }};
}

}  // namespace penstock::kept
