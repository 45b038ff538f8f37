// Arbitrary bytes as annotations of single images (VOC's XML, YOLO's texts), as a batch of them,
// and as lists of names: whatever is accepted, the daemon accepts too.
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "server/indexer/wire/annotations.h"
#include "server/indexer/wire/lists.h"
#include "server/source/annotated/names_scan.h"
#include "server/source/annotated/note_scan.h"

namespace source = penstock::source;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  for (const source::NoteFormat format : {source::NoteFormat::kYolo, source::NoteFormat::kVoc}) {
    source::NoteBatchWriter batch("cat\ndog");
    batch.Add("/a", text);
    batch.Add("/b", "");
    const auto first = source::ScanNotes(batch.Finish(), format);
    if (first.ok()) {
      PENSTOCK_CHECK(penstock::indexer::CheckAnnotations(*first, 2).ok());
      PENSTOCK_CHECK(first->objects() <= size / source::kSmallestObject);
    }
    (void)source::ScanNotes(text, format);
  }
  for (const source::NamesFormat format :
       {source::NamesFormat::kLines, source::NamesFormat::kYaml}) {
    const auto names = source::ScanNames(text, format, "/x");
    if (!names.ok()) continue;
    PENSTOCK_CHECK(penstock::indexer::CheckList(*names).ok());
    PENSTOCK_CHECK(names->paths.size() <= size);
  }
  return 0;
}
