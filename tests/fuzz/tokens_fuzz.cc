// Arbitrary bytes as a token file of each format: if it is accepted, its tokens extend exactly to
// the end of the file.
#include <cstdint>
#include <span>

#include "common/base/check.h"
#include "server/source/arrays/token_check.h"
#include "server/source/arrays/token_format.h"

namespace base = penstock::base;
namespace source = penstock::source;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const source::TokenFormat looks = source::RecogniseFormat(bytes);
  for (const source::TokenFormat format :
       {looks, source::TokenFormat::kRaw, source::TokenFormat::kLlmC, source::TokenFormat::kNpy})
    for (const base::DType raw : {base::DType::kUInt16, base::DType::kInt32}) {
      const auto extent =
          source::FindTokens(format, {.begin = bytes, .bytes = size, .path = "/fuzz"}, raw);
      if (!extent.ok()) continue;
      PENSTOCK_CHECK(source::IsTokenType(extent->type) && extent->tokens >= 1);
      PENSTOCK_CHECK(extent->offset <= size && extent->bytes() == size - extent->offset);
      const auto tokens = bytes.subspan(extent->offset);
      const auto beyond = source::FirstBeyond(tokens, extent->type, 100);
      if (!beyond) continue;
      const int64_t token = source::TokenAt(tokens, extent->type, *beyond);
      PENSTOCK_CHECK(token < 0 || token >= 100);
    }
  return 0;
}
