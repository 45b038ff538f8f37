#include "server/kept/summed_copy.h"

#include <algorithm>
#include <cstring>

#include "common/base/check.h"
#include "common/base/crc32c.h"

namespace penstock::kept {
namespace {

#if defined(__x86_64__)
uint64_t MoveWord(const std::byte* from, std::byte* to) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  std::memcpy(to, &word, sizeof word);
  return word;
}

// How far ahead of the copy memory is asked for: with that, four threads of a Xeon copy 41 GB/s
// like memcpy's, instead of 32.
constexpr size_t kAheadBytes = 1024;
constexpr size_t kLine = 64;

void FetchAhead(const std::byte* from, const std::byte* to) {
  __builtin_prefetch(from + kAheadBytes);
  __builtin_prefetch(to + kAheadBytes, /*to be written=*/1);
}

// As Crc32cOfThirds, which see. **Requires**: `third` is a multiple of 8.
__attribute__((target("sse4.2,prfchw"))) base::Thirds MoveThirds(const std::byte* from,
                                                                 std::byte* to, size_t third) {
  uint64_t a = 0xFFFFFFFF, b = a, c = a;
  for (size_t at = 0; at != third; at += 8) {
    if (at % kLine == 0) {
      for (size_t i = 0; i < 3; ++i) FetchAhead(from + i * third + at, to + i * third + at);
    }
    a = __builtin_ia32_crc32di(a, MoveWord(from + at, to + at));
    b = __builtin_ia32_crc32di(b, MoveWord(from + third + at, to + third + at));
    c = __builtin_ia32_crc32di(c, MoveWord(from + 2 * third + at, to + 2 * third + at));
  }
  return {~static_cast<uint32_t>(a), ~static_cast<uint32_t>(b), ~static_cast<uint32_t>(c)};
}
#endif

}  // namespace

uint32_t CopyWithSum(std::span<const std::byte> from, std::span<std::byte> to) {
  PENSTOCK_CHECK(from.size() == to.size());
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) {
    const size_t third = base::ThirdOf(from.size());
    const base::Thirds thirds = MoveThirds(from.data(), to.data(), third);
    std::ranges::copy(from.subspan(3 * third), to.begin() + static_cast<ptrdiff_t>(3 * third));
    return base::SumOfSums(thirds, from.subspan(3 * third));
  }
#endif
  std::ranges::copy(from, to.begin());
  return base::Crc32cOfThirds(from);
}

}  // namespace penstock::kept
