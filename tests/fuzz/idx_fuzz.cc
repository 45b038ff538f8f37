// Arbitrary bytes as the beginning of an IDX file, both of images and of labels.
#include <algorithm>
#include <cstdint>
#include <span>

#include "common/base/check.h"
#include "server/source/arrays/idx_format.h"

namespace source = penstock::source;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto begin = std::as_bytes(std::span(data, std::min(size, source::kLongestIdxHeader)));
  for (const source::IdxRole role : {source::IdxRole::kImages, source::IdxRole::kLabels}) {
    const auto header = source::ParseIdxHeader(begin, role, "/fuzz");
    if (!header.ok()) continue;
    PENSTOCK_CHECK(header->header_bytes() <= begin.size());
    uint64_t item = 1, all = 0;
    for (uint32_t d = 1; d < header->dimensions; ++d) item *= header->sizes[d];
    PENSTOCK_CHECK(item == header->item_bytes);
    PENSTOCK_CHECK(!__builtin_mul_overflow(header->item_bytes, header->items(), &all) &&
                   header->header_bytes() + all <= uint64_t{INT64_MAX});
  }
  return 0;
}
