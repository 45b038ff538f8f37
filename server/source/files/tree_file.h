// Files of stored rows and tokens: found under the allowed roots, opened, told apart. Any thread,
// but for FileFinder, which one thread uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/source/files/file_state.h"
#include "server/source/files/tree.h"

namespace penstock::source {

// A file beneath a tree that may be opened again.
struct TreeFile {
  std::shared_ptr<const Tree> tree;  // shared by a dataset's files
  std::string name;                  // relative to the tree

  std::string path() const { return tree->FullPath(name); }
  // A regular file, for reading. Never waits for a FIFO's other side.
  absl::StatusOr<posix::Fd> Open() const;
  // What the file is that Open gave.
  absl::StatusOr<FileState> StateOf(const posix::Fd& opened) const;
};

// Which files these are, and in which state, as of now. Two that are equal mean the very same
// files.
struct FilesStamp {
  std::string paths;       // the real ones, short, and never two lists alike
  std::string stamp;       // 64 hexadecimal digits: real paths, devices, inodes, sizes, times
  int64_t changed_ns = 0;  // when the one that changed last did
};
absl::StatusOr<FilesStamp> StampFiles(std::span<const TreeFile> files);

// Reads all of `into` at the offset. DataLoss: the file ends before that.
absl::Status ReadExactly(const posix::Fd& file, const std::string& path, uint64_t offset,
                         std::span<std::byte> into);

// The file's first bytes: `most` of them, or as many as it has.
absl::StatusOr<std::vector<std::byte>> ReadBeginning(const posix::Fd& file, const std::string& path,
                                                     size_t most);

// Finds files by their absolute paths, wherever links lead, but not outside of the roots.
class FileFinder {
 public:
  // No roots: each file's own folder is one.
  explicit FileFinder(std::vector<std::string> roots,
                      Tree::Confinement confinement = Tree::Confinement::kKernel)
      : roots_(std::move(roots)), confinement_(confinement) {}

  // Errors: ResolveUnderRoots'.
  absl::StatusOr<TreeFile> Find(const std::string& path);

  // StampFiles of these. Reads none of them.
  absl::StatusOr<FilesStamp> Stamp(std::span<const std::string> paths);

 private:
  const std::vector<std::string> roots_;
  const Tree::Confinement confinement_;
  // By the folder that a file lies in, and the one by whose name it was asked for.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const Tree>> trees_;
};

}  // namespace penstock::source
