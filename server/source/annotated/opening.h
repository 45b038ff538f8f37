// What the openers of annotated images share: finding folders, reading files that say something
// about the samples, and the identity of all of them.
// **Ownership**: belongs to one call. **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/hash.h"
#include "common/base/status.h"
#include "server/source/annotated/annotated.h"
#include "server/source/annotated/annotated_images.h"
#include "server/source/files/tree.h"
#include "server/source/lists/image_list.h"
#include "server/source/parse/parsers.h"

namespace penstock::source {

// The names of a split or of classes, and the lines they are in.
struct ReadNamesOf {
  std::vector<std::string> names = {};
  std::vector<uint32_t> lines = {};
  std::string path = {};  // the file
};

// Whether names of as many bytes together, which stand for images and what belongs to them, may be
// kept until the dataset is open: their texts, both files' paths, and what is known of these.
// **Errors**: those of CheckIndexMemory. `path`: of what names them.
absl::Status CheckMemoryOfNames(uint64_t count, uint64_t bytes, absl::string_view path);

class AnnotatedOpening {
 public:
  AnnotatedOpening(const AnnotatedOptions& options, Parsers& parsers);

  const AnnotatedOptions& options() const { return options_; }
  Parsers& parsers() const { return parsers_; }

  absl::StatusOr<Tree> OpenFolder(const std::string& folder) const;

  // Lets `read` read a file, between two looks at its state, which joins the identity.
  // **Errors**: InvalidArgument if it is larger than `most`; Aborted.
  absl::Status ReadFile(const std::string& path, uint64_t most,
                        const std::function<absl::Status(const ForeignFile&)>& read);
  // Names in lines, or in a file that ends in .yaml or .yml.
  absl::StatusOr<ReadNamesOf> ReadNames(const std::string& path);
  // Those of classes: at most kMostAnnotatedClasses, each once, in UTF-8.
  absl::StatusOr<ReadNamesOf> ReadClasses(const std::string& path);

  // Examines files, which join the identity. `list`: the file that names them; may be empty.
  absl::Status ExamineFiles(const Tree& tree, ImageList& list, const std::string& names = "",
                            std::vector<uint8_t>* missing = nullptr);

  void AddState(uint64_t state) { states_.Add(state); }
  // Called with the files so far; false cancels.
  std::function<bool(uint64_t)> progress() const { return options_.progress; }

  OpenedAnnotated Finish(AnnotatedParts parts, std::string warning) const;

 private:
  const AnnotatedOptions& options_;
  Parsers& parsers_;
  std::vector<std::string> roots_;
  base::Hasher states_;
};

// The openers of the kinds, in files of their own.
absl::StatusOr<OpenedAnnotated> OpenPairs(const PairsSpec& spec, absl::string_view kind,
                                          AnnotatedOpening& opening);
absl::StatusOr<OpenedAnnotated> OpenCoco(const CocoSpec& spec, AnnotatedOpening& opening);
absl::StatusOr<OpenedAnnotated> OpenVoc(const VocSpec& spec, AnnotatedOpening& opening);
absl::StatusOr<OpenedAnnotated> OpenYolo(const YoloSpec& spec, AnnotatedOpening& opening);

}  // namespace penstock::source
