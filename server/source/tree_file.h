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
#include "server/source/tree.h"

namespace penstock::source {

// A file beneath a tree that may be opened again.
struct TreeFile {
  std::shared_ptr<const Tree> tree;  // shared by a dataset's files
  std::string name;                  // relative to the tree

  std::string path() const { return tree->FullPath(name); }
  // A regular file, for reading. Never waits for a FIFO's other side.
  absl::StatusOr<posix::Fd> Open() const;
};

// What a file is: another size, time, inode or device is another file.
struct FileIdentity {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t mtime_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};
absl::StatusOr<FileIdentity> IdentityOf(const posix::Fd& file, const std::string& path);

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

  // A number that changes when one of these files does: which they are, their sizes and times.
  // Reads none of them.
  absl::StatusOr<uint64_t> Stamp(std::span<const std::string> paths);

 private:
  const std::vector<std::string> roots_;
  const Tree::Confinement confinement_;
  // By the folder that a file lies in, and the one by whose name it was asked for.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const Tree>> trees_;
};

}  // namespace penstock::source
