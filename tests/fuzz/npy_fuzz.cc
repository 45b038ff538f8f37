// Arbitrary bytes as the beginning of a .npy file, and as the literal in its header.
#include <cstdint>
#include <span>

#include "common/base/check.h"
#include "server/source/arrays/npy_format.h"
#include "server/source/arrays/npy_literal.h"

namespace source = penstock::source;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  (void)source::ParseNpyLiteral(text, 0, "/fuzz");
  const auto header = source::ParseNpyHeader(std::as_bytes(std::span(data, size)), "/fuzz");
  if (!header.ok()) return 0;
  PENSTOCK_CHECK(!header->shape.empty() && header->header_bytes <= size);
  unsigned __int128 all = penstock::base::ElementBytes(header->type);
  for (const uint64_t side : header->shape) {
    PENSTOCK_CHECK(side >= 1);
    all *= side;
    PENSTOCK_CHECK(all <= INT64_MAX);
  }
  PENSTOCK_CHECK(header->item_bytes * header->items() == static_cast<uint64_t>(all));
  return 0;
}
