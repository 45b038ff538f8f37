#include "server/source/files/tree.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include "absl/strings/str_split.h"
#include "common/base/hash.h"
#include "server/source/files/mounted_image.h"
#include "server/source/files/roots.h"

namespace penstock::source {
namespace {

// openat2 returns EAGAIN if a concurrent rename prevents a safe answer.
constexpr int kAttempts = 8;

// A descriptor, or -errno.
int OpenAt2(int folder, const char* path, int flags, uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags) | O_CLOEXEC | O_NOCTTY;
  if ((flags & O_PATH) != 0) how.flags &= ~static_cast<uint64_t>(O_NOCTTY);
  how.resolve = resolve | RESOLVE_NO_MAGICLINKS;
  for (int attempt = 0;;) {
    const long fd = ::syscall(SYS_openat2, folder, path, &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    if (errno == EINTR) continue;
    if (errno == EAGAIN && ++attempt < kAttempts) continue;
    return -errno;
  }
}

// A descriptor, or -errno.
int OpenAt(int folder, const char* path, int flags) {
  for (;;) {
    const int fd = ::openat(folder, path, flags | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0) return fd;
    if (errno != EINTR) return -errno;
  }
}

absl::StatusOr<posix::Fd> OpenFolderAt(const std::string& path) {
  const int fd = OpenAt(AT_FDCWD, path.c_str(), O_PATH | O_DIRECTORY);
  if (fd < 0) return base::ErrnoStatus(-fd, absl::StrCat("'", path, "'"));
  return posix::Fd(fd);
}

// Linux's local file systems: ext2 to ext4, XFS, Btrfs, F2FS, tmpfs, and a container's overlays of
// them.
bool IsLocal(uint32_t system) {
  constexpr uint32_t kF2fs = 0xF2F52010;
  return system == EXT4_SUPER_MAGIC || system == XFS_SUPER_MAGIC || system == BTRFS_SUPER_MAGIC ||
         system == kF2fs || system == TMPFS_MAGIC || system == OVERLAYFS_SUPER_MAGIC;
}

// File systems that may give a file a different inode number at each lookup: FUSE, SMB, Plan 9.
bool InventsInodes(uint32_t system) {
  constexpr uint32_t kCifs = 0xFF534D42, kSmb2 = 0xFE534D42;
  return system == FUSE_SUPER_MAGIC || system == V9FS_MAGIC || system == kCifs || system == kSmb2;
}

// Canonical `path` relative to canonical `root`; "." for the root itself.
std::string Beneath(const std::string& path, const std::string& root) {
  if (path == root) return ".";
  return path.substr(root == "/" ? 1 : root.size() + 1);
}

bool HasNoOpenAt2(int error_number) { return error_number == ENOSYS || error_number == EPERM; }

// Opens one component at a time and refuses links. Returns a descriptor, or -errno.
int OpenByComponents(int root, const std::string& path, int flags) {
  const std::vector<std::string> parts = absl::StrSplit(path, '/', absl::SkipEmpty());
  posix::Fd at;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    const int from = at.valid() ? at.get() : root;
    const int next = OpenAt(from, parts[i].c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (next < 0) return next;
    at = posix::Fd(next);
  }
  return OpenAt(at.valid() ? at.get() : root, parts.back().c_str(), flags | O_NOFOLLOW);
}

}  // namespace

absl::StatusOr<Tree> Tree::Open(const std::string& folder, const std::vector<std::string>& roots,
                                Confinement confinement) {
  Tree tree;
  tree.folder_ = folder;
  tree.confinement_ = confinement;
  PENSTOCK_ASSIGN_OR_RETURN(tree.folder_fd_, OpenFolderAt(folder));
  struct statfs system {};
  if (::fstatfs(tree.folder_fd_.get(), &system) != 0)
    return base::ErrnoStatus(errno, absl::StrCat("'", folder, "'"));
  tree.is_local_ = IsLocal(static_cast<uint32_t>(system.f_type));
  tree.keeps_inodes_ = !InventsInodes(static_cast<uint32_t>(system.f_type));
  if (IsImageSystem(static_cast<uint32_t>(system.f_type))) {
    struct stat stat {};
    if (::fstat(tree.folder_fd_.get(), &stat) != 0)
      return base::ErrnoStatus(errno, absl::StrCat("'", folder, "'"));
    tree.device_ = stat.st_dev;
    tree.image_ = NumberOfImage(stat.st_dev);
  }
  for (const std::string& root : roots) {
    PENSTOCK_ASSIGN_OR_RETURN(posix::Fd fd, OpenFolderAt(root));
    tree.roots_.push_back({root, std::move(fd)});
  }
  return tree;
}

FileState Tree::StateOf(const struct stat& stat) const {
  FileState state = ToFileState(stat);
  if (!keeps_inodes_) state.inode = 0;
  if (image_ != 0 && stat.st_dev == device_) {
    const uint64_t numbers[] = {state.inode, image_};
    state.inode = base::Hash(std::as_bytes(std::span(numbers)));
  }
  return state;
}

std::string Tree::FullPath(absl::string_view relative) const {
  if (relative.empty()) return folder_;
  return absl::StrCat(folder_, folder_ == "/" ? "" : "/", relative);
}

absl::StatusOr<posix::Fd> Tree::OpenBeneath(const std::string& relative, int flags) const {
  if (confinement_ == Confinement::kPortable) return OpenCanonical(relative, flags);
  const char* path = relative.empty() ? "." : relative.c_str();
  const int fd = OpenAt2(folder_fd_.get(), path, flags, RESOLVE_BENEATH);
  if (fd >= 0) return posix::Fd(fd);
  // EXDEV: a link leads out of the folder, or is absolute. Its target may still be under a root.
  if (fd == -EXDEV || HasNoOpenAt2(-fd)) return OpenCanonical(relative, flags);
  return base::ErrnoStatus(-fd, absl::StrCat("'", FullPath(relative), "'"));
}

absl::StatusOr<posix::Fd> Tree::OpenCanonical(const std::string& relative, int flags) const {
  const std::string path = FullPath(relative);
  PENSTOCK_ASSIGN_OR_RETURN(std::string real, RealPath(path));
  for (const Root& root : roots_)
    if (IsUnder(real, root.path)) return OpenWithoutLinks(root, real, flags);
  return absl::PermissionDeniedError(
      absl::StrCat("'", path, "' leads to '", real,
                   "', outside of the allowed roots; remove the link, or allow where it leads"));
}

// `real` was free of links when it was resolved. A link that has appeared since causes an error, so
// it cannot lead out of the root.
absl::StatusOr<posix::Fd> Tree::OpenWithoutLinks(const Root& root, const std::string& real,
                                                 int flags) const {
  const std::string beneath = Beneath(real, root.path);
  int fd = -ENOSYS;
  if (confinement_ == Confinement::kKernel)
    fd = OpenAt2(root.fd.get(), beneath.c_str(), flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
  if (fd < 0 && HasNoOpenAt2(-fd)) fd = OpenByComponents(root.fd.get(), beneath, flags);
  if (fd < 0) return base::ErrnoStatus(-fd, absl::StrCat("'", real, "'"));
  return posix::Fd(fd);
}

}  // namespace penstock::source
