// A folder whose files can be opened, and never anything outside of the allowed roots, whatever the
// symbolic links in it say or become while we look. Immutable; any thread.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/source/files/file_state.h"

namespace penstock::source {

class Tree {
 public:
  // How paths are confined: by openat2(2) with RESOLVE_BENEATH, or, where the kernel or a sandbox
  // has no openat2, component by component without following links.
  enum class Confinement { kKernel, kPortable };

  // `folder` and `roots` are canonical; the folder lies under one of the roots.
  static absl::StatusOr<Tree> Open(const std::string& folder, const std::vector<std::string>& roots,
                                   Confinement confinement = Confinement::kKernel);

  // Opens a path relative to the folder with open(2)'s flags (close-on-exec is added). Symbolic
  // links are followed while they stay under the roots; PermissionDenied when they do not.
  absl::StatusOr<posix::Fd> OpenBeneath(const std::string& relative, int flags) const;

  // As file_state.h's, without what this file system does not keep.
  FileState StateOf(const struct stat& stat) const;
  // Whether the file system is on this machine's disks or in its memory: looking at a file costs
  // microseconds there, and no other machine writes to it.
  bool is_local() const { return is_local_; }

  const std::string& folder() const { return folder_; }
  std::string FullPath(absl::string_view relative) const;

 private:
  struct Root {
    std::string path;
    posix::Fd fd;
  };

  Tree() = default;
  absl::StatusOr<posix::Fd> OpenCanonical(const std::string& relative, int flags) const;
  absl::StatusOr<posix::Fd> OpenWithoutLinks(const Root& root, const std::string& real,
                                             int flags) const;

  std::string folder_;
  bool is_local_ = false;
  bool keeps_inodes_ = true;
  posix::Fd folder_fd_;
  std::vector<Root> roots_;
  Confinement confinement_ = Confinement::kKernel;
};

}  // namespace penstock::source
