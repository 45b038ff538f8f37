// Parses the annotations of single images: YOLO's texts and VOC's XML. The caller may not trust
// them. Pure.
#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/annotated/annotations.h"
#include "server/source/annotated/note_batch.h"

namespace penstock::source {

// The objects of all files of a batch; each is an image without a path.
// **Errors**: InvalidArgument with the file and the line; Internal.
absl::StatusOr<Annotations> ScanNotes(absl::string_view batch, NoteFormat format);

// A number as Python's float() reads it, but for infinities; false if the text is none.
bool ToDecimal(absl::string_view text, double& number);

// Add the objects of one file to the columns, which are made by NewYolo and NewVoc; set `objects`
// to their number.
// **Errors**: InvalidArgument with the line, as "LINE: …".
Annotations NewYolo();
absl::Status ScanYolo(absl::string_view text, Annotations& into, uint32_t& objects);

// The number of each class.
using ClassNumbers = std::map<std::string, int64_t, std::less<>>;
// The classes of a text with one name per line, numbered from 1.
ClassNumbers ToNumbers(absl::string_view names);
Annotations NewVoc();
absl::Status ScanVoc(absl::string_view xml, const ClassNumbers& classes, Annotations& into,
                     uint32_t& objects);

}  // namespace penstock::source
