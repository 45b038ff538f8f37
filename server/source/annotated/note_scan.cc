#include "server/source/annotated/note_scan.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/source/files/escape.h"

namespace penstock::source {

// SimpleAtod reads hexadecimal numbers, too.
bool ToDecimal(absl::string_view text, double& number) {
  return text.find_first_of("xX") == absl::string_view::npos && absl::SimpleAtod(text, &number);
}

ClassNumbers ToNumbers(absl::string_view names) {
  ClassNumbers numbers;
  int64_t next = 1;
  if (names.empty()) return numbers;
  for (const absl::string_view name : absl::StrSplit(names, '\n'))
    numbers.emplace(std::string(name), next++);
  return numbers;
}

absl::StatusOr<Annotations> ScanNotes(absl::string_view batch, NoteFormat format) {
  PENSTOCK_ASSIGN_OR_RETURN(const NoteBatch read, ReadNoteBatch(batch));
  const ClassNumbers classes = ToNumbers(read.names);
  Annotations all = format == NoteFormat::kVoc ? NewVoc() : NewYolo();
  for (const Note& note : read.notes) {
    AnnotatedImage& image = all.images.emplace_back();
    const absl::Status status = format == NoteFormat::kVoc
                                    ? ScanVoc(note.content, classes, all, image.objects)
                                    : ScanYolo(note.content, all, image.objects);
    if (!status.ok())
      return absl::Status(status.code(), absl::StrCat(EscapeForDisplay(std::string(note.path)), ":",
                                                      status.message()));
  }
  return all;
}

}  // namespace penstock::source
