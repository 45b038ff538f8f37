// Files of stored rows and tokens: finding them under the allowed roots, opening them and
// identifying them.
// **Thread safety**: any thread, except that a FileFinder serves one thread.
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
#include "server/source/files/read_exactly.h"
#include "server/source/files/remote_file.h"
#include "server/source/files/tree.h"

namespace penstock::source {

// A file in a tree, or in an object store; can be opened repeatedly.
struct TreeFile {
  std::shared_ptr<const Tree> tree;  // shared by the dataset's files; null: the file is remote
  std::string name = {};             // relative to the tree
  std::shared_ptr<const RemoteFile> remote = {};

  std::string path() const { return remote != nullptr ? remote->path() : tree->FullPath(name); }
  // Opens a regular file for reading. Never blocks on a FIFO. Of a remote file, which is read
  // through `remote`, an empty descriptor.
  absl::StatusOr<posix::Fd> Open() const;
  // The state of the file that Open returned. A remote file is always in the state in which it was
  // found, because no other version of it is read.
  absl::StatusOr<FileState> StateOf(const posix::Fd& opened) const;
};

// Identifies files and their current states. Equal stamps mean the very same files, unchanged.
struct FilesStamp {
  std::string paths;  // the real paths, abbreviated; different lists have different texts
  std::string stamp;  // 64 hexadecimal digits over real paths, devices, inodes, sizes and times
  int64_t changed_ns = 0;  // the latest change of any of the files
};
absl::StatusOr<FilesStamp> StampFiles(std::span<const TreeFile> files);

// Finds files by absolute path, following links within the roots.
class FileFinder {
 public:
  // Without roots, each file's own folder is its root.
  // `remote`: finds URLs; null: they are refused.
  explicit FileFinder(std::vector<std::string> roots,
                      Tree::Confinement confinement = Tree::Confinement::kKernel,
                      RemoteFiles* remote = nullptr)
      : roots_(std::move(roots)), confinement_(confinement), remote_(remote) {}

  // **Errors**: those of ResolveUnderRoots and of RemoteFiles::Find.
  absl::StatusOr<TreeFile> Find(const std::string& path);
  // Looks for the URLs among these all at once; Find then has them. **Errors**: as Find.
  absl::Status FindAhead(std::span<const std::string> paths);

  // StampFiles of the files at these paths. Reads none of them.
  absl::StatusOr<FilesStamp> Stamp(std::span<const std::string> paths);

 private:
  absl::StatusOr<TreeFile> FindRemote(const std::string& url);

  const std::vector<std::string> roots_;
  const Tree::Confinement confinement_;
  RemoteFiles* const remote_;
  std::map<std::string, std::shared_ptr<const RemoteFile>> found_;  // by URL
  // Keyed by the folder that contains the file and the folder by whose name it was requested.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const Tree>> trees_;
};

}  // namespace penstock::source
