// Arbitrary bytes as a quarantine file. The first byte decides whether a correct checksum is
// appended. If the file is accepted, writing and reading it again gives the same content.
#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"
#include "common/base/check.h"
#include "common/base/hash.h"
#include "server/source/state/quarantine_text.h"

namespace source = penstock::source;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 4 != 0) {
    text += '\n';
    text = absl::StrFormat("%schecksum %016x\n", text, penstock::base::Hash(text));
  }
  const auto content = source::ParseQuarantine(text);
  if (!content.ok()) {
    PENSTOCK_CHECK(!content.status().message().empty());
    return 0;
  }
  const auto again = source::ParseQuarantine(source::FormatQuarantine(*content));
  PENSTOCK_CHECK(again.ok() && again->dataset == content->dataset &&
                 again->version == content->version &&
                 again->entries.size() == content->entries.size());
  for (size_t i = 0; i < again->entries.size(); ++i)
    PENSTOCK_CHECK(again->entries[i].path == content->entries[i].path &&
                   again->entries[i].sample == content->entries[i].sample &&
                   again->entries[i].stamp == content->entries[i].stamp);
  return 0;
}
