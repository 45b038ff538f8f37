#include "server/source/arrays/token_windows.h"

namespace penstock::source {

void TokenWindows::Add(const Stretch& stretch) {
  PENSTOCK_CHECK(stretch.file < kMaxTokenFiles && stretch.byte < kMaxTokenFileBytes);
  if (stretch.tokens == 0) return;
  const uint64_t place = stretch.file * kMaxTokenFileBytes + stretch.byte;
  const bool goes_on = !stretches_.empty() &&
                       place == stretches_.back().place +
                                    (tokens_ - stretches_.back().first_token) * shape_.token_bytes;
  if (!goes_on) stretches_.push_back({.first_token = tokens_, .place = place});
  tokens_ += stretch.tokens;
}

uint64_t TokenWindows::EndSequence() {
  const Sequence& ended = sequences_.back();
  const uint64_t windows = WindowsOf(tokens_ - ended.first_token);
  sequences_.push_back({.first_token = tokens_, .first_sample = ended.first_sample + windows});
  return windows;
}

uint64_t TokenWindows::WindowsOf(uint64_t tokens) const {
  const uint64_t whole = uint64_t{shape_.length} + 1;
  if (ends_ == Ends::kLeftOut) return tokens < whole ? 0 : (tokens - whole) / shape_.stride + 1;
  if (tokens < 2) return 0;
  const uint64_t behind_first = tokens < whole ? 0 : tokens - whole;
  const uint64_t to_the_end = 1 + (behind_first + shape_.stride - 1) / shape_.stride;
  return std::min(to_the_end, (tokens - 2) / shape_.stride + 1);
}

size_t TokenWindows::MemoryBytes() const {
  return stretches_.capacity() * sizeof(Placed) + sequences_.capacity() * sizeof(Sequence);
}

}  // namespace penstock::source
