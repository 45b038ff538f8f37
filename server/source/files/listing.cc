#include "server/source/files/listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <time.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>

namespace penstock::source {
namespace {

// Longer than the clock tick of any kernel.
constexpr int64_t kTickNs = 20'000'000;
constexpr int kAttempts = 20;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

absl::StatusOr<Folder> OpenFolderFor(const Tree& tree, const std::string& folder) {
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd fd, tree.OpenBeneath(folder, O_RDONLY | O_DIRECTORY));
  Folder opened(::fdopendir(fd.get()));
  if (opened == nullptr) return base::ErrnoStatus(errno, tree.FullPath(folder));
  (void)fd.Release();  // the DIR owns it now
  return opened;
}

absl::StatusOr<struct stat> StatOf(DIR* folder) {
  struct stat stat {};
  if (::fstat(::dirfd(folder), &stat) != 0) return base::ErrnoStatus(errno, "fstat");
  return stat;
}

// Linux's local file systems: ext2 to ext4, XFS, Btrfs, F2FS, tmpfs.
bool KeepsTimes(uint32_t system) {
  constexpr uint32_t kF2fs = 0xF2F52010;
  return system == EXT4_SUPER_MAGIC || system == XFS_SUPER_MAGIC || system == BTRFS_SUPER_MAGIC ||
         system == kF2fs || system == TMPFS_MAGIC;
}

EntryKind KindOf(DIR* folder, const dirent& entry) {
  if (entry.d_type == DT_DIR) return EntryKind::kFolder;
  if (entry.d_type == DT_LNK) return EntryKind::kLink;
  if (entry.d_type != DT_UNKNOWN) return EntryKind::kOther;
  struct stat stat {};
  if (::fstatat(::dirfd(folder), entry.d_name, &stat, AT_SYMLINK_NOFOLLOW) != 0)
    return EntryKind::kOther;
  if (S_ISDIR(stat.st_mode)) return EntryKind::kFolder;
  return S_ISLNK(stat.st_mode) ? EntryKind::kLink : EntryKind::kOther;
}

// The number of entries, or -errno if they cannot be read.
int64_t ReadEntries(DIR* folder, const std::function<void(absl::string_view, EntryKind)>& each) {
  ::rewinddir(folder);
  for (int64_t count = 0;;) {
    errno = 0;
    const dirent* entry = ::readdir(folder);
    if (entry == nullptr) return errno == 0 ? count : -errno;
    const absl::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    each(name, KindOf(folder, *entry));
    ++count;
  }
}

}  // namespace

Waited WaitForTick(int64_t time_ns) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const int64_t age = now.tv_sec * 1'000'000'000 + now.tv_nsec - time_ns;
  if (age < 0 || age >= kTickNs) return Waited::kNo;
  std::this_thread::sleep_for(std::chrono::nanoseconds(kTickNs - age));
  return Waited::kYes;
}

absl::StatusOr<FolderChange> FindChange(const Tree& tree, const std::string& folder) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd fd, tree.OpenBeneath(folder, O_RDONLY | O_DIRECTORY));
  struct stat stat {};
  struct statfs system {};
  if (::fstat(fd.get(), &stat) != 0 || ::fstatfs(fd.get(), &system) != 0)
    return base::ErrnoStatus(errno, tree.FullPath(folder));
  return FolderChange{.mtime_ns = MtimeOf(stat),
                      .ctime_ns = CtimeOf(stat),
                      .device = stat.st_dev,
                      .inode = stat.st_ino,
                      .is_sure = KeepsTimes(static_cast<uint32_t>(system.f_type))};
}

absl::StatusOr<FolderTimes> ListFolder(
    const Tree& tree, const std::string& folder, const std::function<void()>& begin,
    const std::function<void(absl::string_view, EntryKind)>& each) {
  PENSTOCK_ASSIGN_OR_RETURN(const Folder opened, OpenFolderFor(tree, folder));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    PENSTOCK_ASSIGN_OR_RETURN(struct stat before, StatOf(opened.get()));
    WaitForTick(MtimeOf(before));
    PENSTOCK_ASSIGN_OR_RETURN(before, StatOf(opened.get()));
    begin();
    const int64_t entries = ReadEntries(opened.get(), each);
    if (entries < 0)
      return base::ErrnoStatus(static_cast<int>(-entries),
                               absl::StrCat("listing '", tree.FullPath(folder), "'"));
    PENSTOCK_ASSIGN_OR_RETURN(const struct stat after, StatOf(opened.get()));
    if (MtimeOf(before) != MtimeOf(after)) continue;
    return FolderTimes{static_cast<uint64_t>(entries), MtimeOf(after), after.st_dev, after.st_ino};
  }
  return absl::AbortedError(absl::StrCat(
      "'", tree.FullPath(folder), "' changes while it is listed; index it once it is whole"));
}

}  // namespace penstock::source
