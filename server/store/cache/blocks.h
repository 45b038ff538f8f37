// How much room a piece takes on a disk, which gives whole blocks. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace penstock::store {

inline constexpr uint64_t kBlock = 4096;

// Bytes of a file, from the first up to but not including the last.
struct FileSpan {
  uint64_t begin = 0, end = 0;
  uint64_t bytes() const { return end - begin; }
};

// The blocks of a piece that hold nothing of its neighbours. `before`: where the piece before it
// ends; 0: there is none. `after`: where the next one begins; UINT64_MAX: there is none.
inline FileSpan OwnBlocks(const FileSpan& piece, uint64_t before, uint64_t after) {
  FileSpan own = {.begin = piece.begin / kBlock * kBlock,
                  .end = (piece.end + kBlock - 1) / kBlock * kBlock};
  if (before > own.begin) own.begin += kBlock;
  if (after < own.end) own.end -= kBlock;
  own.end = std::max(own.end, own.begin);  // a piece within one block may share it with both
  return own;
}

}  // namespace penstock::store
