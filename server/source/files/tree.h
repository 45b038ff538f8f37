// A folder whose files can be opened, confined to the allowed roots: no symbolic link leads out of
// them, even if it changes while we look.
// **Thread safety**: immutable; any thread.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/source/files/file_state.h"

namespace penstock::source {

class Tree {
 public:
  // How paths are confined: by openat2(2) with RESOLVE_BENEATH, or, if the kernel or a sandbox
  // lacks openat2, by opening one path component at a time without following links.
  enum class Confinement { kKernel, kPortable };

  // **Requires**: `folder` and `roots` are canonical, and the folder lies under one of the roots.
  static absl::StatusOr<Tree> Open(const std::string& folder, const std::vector<std::string>& roots,
                                   Confinement confinement = Confinement::kKernel);

  // Opens a path relative to the folder with open(2)'s flags, plus close-on-exec. Follows symbolic
  // links within the roots. **Errors**: PermissionDenied if a link leads out of the roots.
  absl::StatusOr<posix::Fd> OpenBeneath(const std::string& relative, int flags) const;

  // As in file_state.h, without the fields that this file system does not maintain. On a file
  // system that is an image, the inode's number depends on the image, too (mounted_image.h); not
  // for files that links lead to on other devices.
  FileState StateOf(const struct stat& stat) const;
  // Whether the file system is on this machine's disks or in its memory, so that stat(2) takes
  // microseconds and no other machine writes to it.
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
  uint64_t device_ = 0, image_ = 0;  // the folder's; 0: not an image
  posix::Fd folder_fd_;
  std::vector<Root> roots_;
  Confinement confinement_ = Confinement::kKernel;
};

}  // namespace penstock::source
