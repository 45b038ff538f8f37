// Cuts sequences of tokens into windows, one per sample, and locates their bytes in files. Pure.
// Needs 16 bytes per sequence and 16 per stretch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/check.h"

namespace penstock::source {

// A contiguous run of tokens in one file.
struct Stretch {
  uint32_t file = 0;  // below kMaxTokenFiles
  uint64_t byte = 0;  // below kMaxTokenFileBytes
  uint64_t tokens = 0;
};
inline constexpr uint32_t kMaxTokenFiles = 1 << 16;
inline constexpr uint64_t kMaxTokenFileBytes = uint64_t{1} << 48;

// A window has `length` tokens plus one, the last one's target. The next window of the sequence
// begins `stride` tokens later.
struct WindowShape {
  uint32_t length = 1;
  uint64_t stride = 1;
  size_t token_bytes = 2;
};

// What happens to the tokens at the end of a sequence that don't fill a window. kLeftOut: they are
// skipped. kShort: they form a shorter window of at least two tokens; a sequence of one token has
// no window.
enum class Ends { kLeftOut, kShort };

class TokenWindows {
 public:
  TokenWindows(const WindowShape& shape, Ends ends) : shape_(shape), ends_(ends) {}

  // Extends the current sequence; adjoining stretches are merged.
  void Add(const Stretch& stretch);
  // Ends the current sequence, so that no window spans it and the next. Returns its number of
  // windows.
  uint64_t EndSequence();

  const WindowShape& shape() const { return shape_; }
  uint64_t samples() const { return sequences_.back().first_sample; }
  size_t MemoryBytes() const;

  // Calls `part(stretch)` for each stretch of a sample's window, in order. Returns the number of
  // tokens: length + 1, or fewer if windows may be short.
  template <typename Part>
  uint32_t ForEachPart(uint64_t sample, const Part& part) const;

 private:
  struct Placed {
    uint64_t first_token = 0;  // index over all tokens
    uint64_t place = 0;        // file and byte, combined
  };
  struct Sequence {
    uint64_t first_token = 0, first_sample = 0;
  };
  uint64_t WindowsOf(uint64_t tokens) const;

  const WindowShape shape_;
  const Ends ends_;
  uint64_t tokens_ = 0;
  std::vector<Placed> stretches_;
  // The last one is in progress, or marks the end of the others.
  std::vector<Sequence> sequences_ = {{}};
};

template <typename Part>
uint32_t TokenWindows::ForEachPart(uint64_t sample, const Part& part) const {
  PENSTOCK_CHECK(sample < samples());
  const auto sequence = std::upper_bound(sequences_.begin(), sequences_.end(), sample,
                                         [](uint64_t wanted, const Sequence& candidate) {
                                           return wanted < candidate.first_sample;
                                         }) -
                        1;
  const uint64_t first = sequence->first_token + (sample - sequence->first_sample) * shape_.stride;
  const uint64_t end = std::min(first + shape_.length + 1, std::next(sequence)->first_token);
  auto stretch = std::upper_bound(stretches_.begin(), stretches_.end(), first,
                                  [](uint64_t wanted, const Placed& candidate) {
                                    return wanted < candidate.first_token;
                                  }) -
                 1;
  for (uint64_t at = first; at < end; ++stretch) {
    const auto next = std::next(stretch);
    const uint64_t stretch_end = next == stretches_.end() ? tokens_ : next->first_token;
    const uint64_t count = std::min(end, stretch_end) - at;
    const uint64_t byte =
        stretch->place % kMaxTokenFileBytes + (at - stretch->first_token) * shape_.token_bytes;
    part(Stretch{static_cast<uint32_t>(stretch->place / kMaxTokenFileBytes), byte, count});
    at += count;
  }
  return static_cast<uint32_t>(end - first);
}

}  // namespace penstock::source
