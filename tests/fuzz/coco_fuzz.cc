// Arbitrary bytes as a JSON file of COCO: if it is accepted, its parts agree with each other as the
// daemon requires, and are no more than the file can hold.
#include <algorithm>
#include <cstdint>
#include <span>

#include "common/base/check.h"
#include "server/indexer/wire/annotations.h"
#include "server/source/annotated/coco_scan.h"

namespace source = penstock::source;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const bool all : {true, false}) {
    size_t at = 0;
    const auto next = [&]() -> absl::StatusOr<std::span<const std::byte>> {
      const size_t begin = at;
      at = std::min<size_t>(size, at + 64);
      return std::as_bytes(std::span(data + begin, at - begin));
    };
    const source::CocoSpec spec = {.skip_empty = !all, .contiguous = !all, .skip_crowd = !all};
    const auto found = source::ScanCoco(next, "/x.json", spec, {});
    if (!found.ok()) continue;
    PENSTOCK_CHECK(penstock::indexer::CheckAnnotations(*found, 0).ok());
    PENSTOCK_CHECK(found->paths.size() <= size && found->images.size() <= size / 20);
    PENSTOCK_CHECK(found->objects() <= size / source::kSmallestObject);
  }
  return 0;
}
