// Which tokens a sample has: windows over sequences of tokens, and where their bytes lie in files.
// Pure. A sequence and a stretch take 16 bytes each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/check.h"

namespace penstock::source {

// Tokens that lie one behind the other in one file.
struct Stretch {
  uint32_t file = 0;  // below kMaxTokenFiles
  uint64_t byte = 0;  // below kMaxTokenFileBytes
  uint64_t tokens = 0;
};
inline constexpr uint32_t kMaxTokenFiles = 1 << 16;
inline constexpr uint64_t kMaxTokenFileBytes = uint64_t{1} << 48;

// A window is `length` tokens and one more, the last one's target; the next window of its sequence
// begins `stride` tokens behind it.
struct WindowShape {
  uint32_t length = 1;
  uint64_t stride = 1;
  size_t token_bytes = 2;
};

// What becomes of tokens that fill no window. kLeftOut: nothing. kShort: the last window of a
// sequence is shorter, but has two tokens at least; a sequence of one token has none.
enum class Ends { kLeftOut, kShort };

class TokenWindows {
 public:
  TokenWindows(const WindowShape& shape, Ends ends) : shape_(shape), ends_(ends) {}

  // Goes on with the sequence; stretches that continue each other are one.
  void Add(const Stretch& stretch);
  // The next stretch begins another sequence: no window holds tokens of two. How many windows this
  // one has.
  uint64_t EndSequence();

  const WindowShape& shape() const { return shape_; }
  uint64_t samples() const { return sequences_.back().first_sample; }
  size_t MemoryBytes() const;

  // Calls `part(stretch)` for what a sample's window consists of, in order. How many tokens: length
  // + 1, or fewer where windows may be short.
  template <typename Part>
  uint32_t ForEachPart(uint64_t sample, const Part& part) const;

 private:
  struct Placed {
    uint64_t first_token = 0;  // among all tokens
    uint64_t place = 0;        // file and byte
  };
  struct Sequence {
    uint64_t first_token = 0, first_sample = 0;
  };
  uint64_t WindowsOf(uint64_t tokens) const;

  const WindowShape shape_;
  const Ends ends_;
  uint64_t tokens_ = 0;
  std::vector<Placed> stretches_;
  std::vector<Sequence> sequences_ = {{}};  // the last one is being built, or where the others end
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
