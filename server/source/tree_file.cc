#include "server/source/tree_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "server/source/hash.h"
#include "server/source/listing.h"
#include "server/source/roots.h"

namespace penstock::source {
namespace {

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

absl::StatusOr<posix::Fd> TreeFile::Open() const {
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd file, tree->OpenBeneath(name, O_RDONLY | O_NONBLOCK));
  struct stat stat {};
  if (::fstat(file.get(), &stat) != 0)
    return base::ErrnoStatus(errno, absl::StrCat("'", path(), "'"));
  if (S_ISREG(stat.st_mode)) return file;
  return absl::InvalidArgumentError(absl::StrCat("'", path(), "' is no regular file"));
}

absl::StatusOr<FileIdentity> IdentityOf(const posix::Fd& file, const std::string& path) {
  struct stat stat {};
  if (::fstat(file.get(), &stat) != 0)
    return base::ErrnoStatus(errno, absl::StrCat("'", path, "'"));
  return FileIdentity{.device = stat.st_dev,
                      .inode = stat.st_ino,
                      .bytes = static_cast<uint64_t>(stat.st_size),
                      .mtime_ns = MtimeOf(stat)};
}

absl::Status ReadExactly(const posix::Fd& file, const std::string& path, uint64_t offset,
                         std::span<std::byte> into) {
  for (size_t at = 0; at < into.size();) {
    const ssize_t count =
        ::pread(file.get(), into.data() + at, into.size() - at, static_cast<off_t>(offset + at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::ErrnoStatus(errno, absl::StrCat("reading '", path, "'"));
    if (count == 0)
      return absl::DataLossError(absl::StrCat("'", path, "' is truncated: it ends at byte ",
                                              offset + at, ", wanted ", offset + into.size()));
    at += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::byte>> ReadBeginning(const posix::Fd& file, const std::string& path,
                                                     size_t most) {
  PENSTOCK_ASSIGN_OR_RETURN(const FileIdentity identity, IdentityOf(file, path));
  std::vector<std::byte> begin(std::min<uint64_t>(most, identity.bytes));
  PENSTOCK_RETURN_IF_ERROR(ReadExactly(file, path, 0, begin));
  return begin;
}

absl::StatusOr<TreeFile> FileFinder::Find(const std::string& path) {
  std::vector<std::string> roots = roots_;
  if (roots.empty() && !path.empty() && path[0] == '/') roots.push_back(FolderOf(path));
  const auto real = ResolveUnderRoots(path, roots);
  if (!real.ok()) return base::Annotate(real.status(), "opening a dataset");
  const std::string folder = FolderOf(*real);
  std::shared_ptr<const Tree>& tree = trees_[{folder, FolderOf(path)}];
  if (tree == nullptr) {
    PENSTOCK_ASSIGN_OR_RETURN(Tree opened, Tree::Open(folder, CanonicalRoots(roots), confinement_));
    tree = std::make_shared<const Tree>(std::move(opened));
  }
  return TreeFile{tree, real->substr(folder == "/" ? 1 : folder.size() + 1)};
}

absl::StatusOr<uint64_t> FileFinder::Stamp(std::span<const std::string> paths) {
  std::vector<uint64_t> numbers;
  for (const std::string& path : paths) {
    PENSTOCK_ASSIGN_OR_RETURN(const TreeFile file, Find(path));
    PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd opened, file.Open());
    PENSTOCK_ASSIGN_OR_RETURN(const FileIdentity identity, IdentityOf(opened, file.path()));
    for (const uint64_t number : {identity.device, identity.inode, identity.bytes,
                                  static_cast<uint64_t>(identity.mtime_ns)})
      numbers.push_back(number);
  }
  return Hash(std::as_bytes(std::span(numbers)));
}

}  // namespace penstock::source
