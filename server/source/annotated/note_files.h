// Reads the annotations that each image has in a file of its own, and lets indexers parse them,
// many files at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/annotated/annotated_images.h"
#include "server/source/annotated/note_batch.h"
#include "server/source/annotated/opening.h"
#include "server/source/files/tree.h"

namespace penstock::source {

struct NoteFiles {
  const Tree& tree;
  std::vector<std::string> paths = {};  // relative to the tree; one for each sample
  NoteFormat format = NoteFormat::kYolo;
  bool may_lack = false;         // a file that is missing stands for no objects
  std::string class_names = {};  // one per line
};

struct ReadNoteFiles {
  ObjectTable objects = {};
  uint64_t missing = 0;
};

// The files' states join the identity.
// **Errors**: those of Tree::OpenBeneath and ScanNotes; InvalidArgument for files that are no
// regular files, or too large; Aborted if one changes while it is read.
absl::StatusOr<ReadNoteFiles> ReadAllNotes(const NoteFiles& files, AnnotatedOpening& opening);

}  // namespace penstock::source
