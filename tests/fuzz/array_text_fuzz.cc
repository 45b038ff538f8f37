// Arbitrary text as the name of arrays or tokens: whatever parses must survive a round trip through
// ToString.
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "server/source/arrays/npy_spec.h"
#include "server/source/arrays/tokens_spec.h"

namespace source = penstock::source;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto spec = source::ParseNpyText(text); spec.ok())
    PENSTOCK_CHECK(source::ParseNpyText(source::ToString(*spec)).value() == *spec);
  if (const auto spec = source::ParseTokens(text); spec.ok()) {
    const source::TokensSpec again = source::ParseTokens(source::ToString(*spec)).value();
    PENSTOCK_CHECK(again.step() == spec->step() &&
                   source::ToString(again) == source::ToString(*spec));
  }
  return 0;
}
