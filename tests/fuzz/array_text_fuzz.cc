// Arbitrary text as the name of arrays, tokens, lists, folders or annotated images: whatever parses
// must survive a round trip through ToString.
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "server/source/annotated/annotated_spec.h"
#include "server/source/arrays/npy_spec.h"
#include "server/source/arrays/tokens_spec.h"
#include "server/source/lists/list_spec.h"
#include "server/source/lists/named_folder.h"

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
  if (const auto spec = source::ParseListText(text); spec.ok())
    PENSTOCK_CHECK(source::ParseListText(source::ToString(*spec)).value() == *spec);
  if (const auto spec = source::ParseNamedFolderText(text); spec.ok())
    PENSTOCK_CHECK(source::ParseNamedFolderText(source::ToString(*spec)).value() == *spec);
  if (const auto spec = source::ParseAnnotatedText(text); spec.ok())
    PENSTOCK_CHECK(source::ParseAnnotatedText(source::ToString(*spec)).value() == *spec);
  return 0;
}
