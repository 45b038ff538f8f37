// Arbitrary bytes as a list of each format: if it is accepted, its parts agree with each other as
// the daemon requires.
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "server/indexer/wire/lists.h"
#include "server/source/lists/list_scan.h"

namespace source = penstock::source;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* file : {"/x.csv", "/x.tsv", "/x.jsonl"})
    for (const source::ListHeader header : {source::ListHeader::kAuto, source::ListHeader::kNo}) {
      const source::ListSpec spec = {.file = file, .header = header};
      const auto list = source::ScanList(text, file, spec, {});
      if (!list.ok()) continue;
      PENSTOCK_CHECK(penstock::indexer::CheckList(*list).ok());
      PENSTOCK_CHECK(list->rows.size() <= size && list->paths.size() <= size);
      PENSTOCK_CHECK(list->columns.size() * list->rows.size() <= size);
    }
  return 0;
}
