// Datasets of one file per image in any order, with labels and columns that do not follow from
// folders.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/core/dataset.h"
#include "server/source/files/tree.h"
#include "server/source/lists/scanned_list.h"

namespace penstock::source {

// Paths, as OpenBeneath wants them: relative to the tree's folder. An absolute one that does not
// lie beneath begins with `..`.
class FromFolder {
 public:
  explicit FromFolder(const std::string& folder);

  // A path in two parts, of which the first may be empty. They live as long as this and the path.
  struct Path {
    absl::string_view up, rest;
    uint64_t bytes() const { return up.size() + rest.size(); }
  };
  Path Find(absl::string_view path) const;

 private:
  std::string beneath_, up_;
};

struct ListedFile {
  uint64_t path_end = 0;  // in `paths`; a path begins where the one before it ends
  uint64_t stamp = 0;     // StampOf the file's state, or kNoFile
  uint32_t bytes = 0;     // size of the file; the maximum also stands for anything larger
  uint32_t line = 0;      // of the list, for messages; 0: there is no list
};
static_assert(sizeof(ListedFile) == 24);

struct ImageList {
  std::vector<char> paths = {};  // relative to the tree's folder
  std::vector<ListedFile> files = {};
  bool labeled = false;
  std::vector<int64_t> labels = {};
  std::vector<std::string> classes = {};
  std::vector<ListColumn> columns = {};

  absl::string_view PathOf(uint64_t sample) const;
  // Makes room for files, and paths of as many bytes together, if what they and Examine take is
  // not too much. **Errors**: those of CheckIndexMemory, with the path of what names the files.
  absl::Status Reserve(uint64_t count, uint64_t path_bytes, absl::string_view named_by);
  // Adds a file, which is not examined yet.
  void AddFile(absl::string_view path, uint32_t line = 0) { AddFile({"", path}, line); }
  void AddFile(const FromFolder::Path& path, uint32_t line = 0);
};

// Adds a file for each row. A row has the size of its path, `path_bytes`, and maybe its `line`; the
// paths follow each other in `paths`. One of two bytes can become one of thousands, so all are
// counted before any is added. **Errors**: those of ImageList::Reserve.
template <typename Row>
absl::Status AddRows(const std::vector<Row>& rows, const std::vector<char>& paths,
                     const FromFolder& from, absl::string_view named_by, ImageList& list) {
  const auto for_each = [&](auto use) {
    const char* at = paths.data();
    for (const Row& row : rows) {
      use(row, from.Find({at, row.path_bytes}));
      at += row.path_bytes;
    }
  };
  uint64_t bytes = 0;
  for_each([&](const Row&, const FromFolder::Path& path) { bytes += path.bytes(); });
  PENSTOCK_RETURN_IF_ERROR(list.Reserve(rows.size(), bytes, named_by));
  for_each([&](const Row& row, const FromFolder::Path& path) {
    if constexpr (requires { row.line; })
      list.AddFile(path, row.line);
    else
      list.AddFile(path);
  });
  return absl::OkStatus();
}

// How the files are examined.
struct ExamineOptions {
  size_t threads = 1;
  std::string list;  // its path, for messages
  // Called with the number of files examined so far; false cancels. May be empty.
  std::function<bool(uint64_t)> progress = {};
  // If set: a file that does not exist is no error; it is marked here with 1.
  std::vector<uint8_t>* missing = nullptr;
};

// Sets the files' sizes and stamps, with stat(2). Returns a hash of all their states and devices.
// **Errors**: those of Tree::OpenBeneath, with the list's line; Cancelled.
absl::StatusOr<uint64_t> Examine(const Tree& tree, ImageList& list, const ExamineOptions& options);

// `kind`: Dataset::kind. **Requires**: the list has at least one file.
std::unique_ptr<Dataset> MakeImageList(absl::string_view kind, Tree tree, ImageList list);

std::string RelativeToFolder(const std::string& folder, absl::string_view path);

}  // namespace penstock::source
