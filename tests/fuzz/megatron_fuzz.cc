// Arbitrary bytes as a Megatron index, after four bytes with the size of its .bin: if the index is
// accepted, every window lies within the .bin.
#include <cstdint>
#include <cstring>
#include <span>

#include "common/base/check.h"
#include "server/source/arrays/megatron_index.h"
#include "server/source/arrays/token_windows.h"

namespace source = penstock::source;

namespace {

constexpr size_t kPrefixBytes = 4;  // seeds.py writes them too

void CheckWindows(const source::MegatronIndex& index, uint64_t bin_bytes, source::Ends ends) {
  const size_t token = penstock::base::ElementBytes(index.type());
  source::TokenWindows windows({.length = 7, .stride = 5, .token_bytes = token}, ends);
  for (uint64_t document = 0; document < index.documents(); ++document) {
    for (uint64_t s = index.FirstOf(document); s < index.FirstOf(document + 1); ++s)
      windows.Add({.file = 1, .byte = index.ByteOf(s), .tokens = index.TokensOf(s)});
    if (ends == source::Ends::kShort) windows.EndSequence();
  }
  windows.EndSequence();
  // If there are many samples, checks only both ends.
  for (uint64_t sample = 0; sample < windows.samples(); ++sample) {
    if (sample == 1000 && windows.samples() > 2000) sample = windows.samples() - 1000;
    uint64_t tokens = 0;
    const uint32_t said = windows.ForEachPart(sample, [&](const source::Stretch& part) {
      PENSTOCK_CHECK(part.file == 1 && part.byte <= bin_bytes);
      PENSTOCK_CHECK(part.tokens * token <= bin_bytes - part.byte);
      tokens += part.tokens;
    });
    PENSTOCK_CHECK(tokens == said && said <= 8 && said >= 2);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint32_t bin_bytes = 0;
  if (size < kPrefixBytes) return 0;
  std::memcpy(&bin_bytes, data, sizeof(bin_bytes));
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(kPrefixBytes);
  const auto index = source::MegatronIndex::Parse(
      bytes, {.index = "/fuzz.idx", .bin = "/fuzz.bin", .bin_bytes = bin_bytes});
  if (!index.ok()) return 0;
  CheckWindows(*index, bin_bytes, source::Ends::kLeftOut);
  CheckWindows(*index, bin_bytes, source::Ends::kShort);
  return 0;
}
