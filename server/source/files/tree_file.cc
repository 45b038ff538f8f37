#include "server/source/files/tree_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/base/check.h"
#include "common/base/hash.h"
#include "common/posix/memory.h"
#include "server/source/files/roots.h"
#include "server/source/files/sha256.h"

namespace penstock::source {
namespace {

// Names one or two files; for more, the first one and the number of files.
std::string NamesOf(std::span<const TreeFile> files) {
  std::string names = files.front().path();
  if (files.size() == 2) absl::StrAppend(&names, " ", files.back().path());
  if (files.size() <= 2) return names;
  base::Hasher hasher;
  for (const TreeFile& file : files) hasher.Add(file.path());
  return absl::StrCat(names, " and ", files.size() - 1, " more ",
                      absl::Hex(hasher.Digest(), absl::kZeroPad16));
}

struct Looked {
  uint64_t device = 0;  // 0: the file is remote
  FileState state;
};

absl::StatusOr<Looked> LookAt(const TreeFile& file) {
  if (file.remote != nullptr) return Looked{.state = file.remote->state()};
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd opened, file.Open());
  struct stat stat {};
  if (::fstat(opened.get(), &stat) != 0)
    return base::ErrnoStatus(errno, absl::StrCat("'", file.path(), "'"));
  return Looked{.device = stat.st_dev, .state = file.tree->StateOf(stat)};
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

absl::StatusOr<posix::Fd> TreeFile::Open() const {
  if (remote != nullptr) return posix::Fd();
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd file, tree->OpenBeneath(name, O_RDONLY | O_NONBLOCK));
  struct stat stat {};
  if (::fstat(file.get(), &stat) != 0)
    return base::ErrnoStatus(errno, absl::StrCat("'", path(), "'"));
  if (S_ISREG(stat.st_mode)) return file;
  return absl::InvalidArgumentError(absl::StrCat("'", path(), "' is not a regular file"));
}

absl::StatusOr<FileState> TreeFile::StateOf(const posix::Fd& opened) const {
  if (remote != nullptr) return remote->state();
  struct stat stat {};
  if (::fstat(opened.get(), &stat) != 0)
    return base::ErrnoStatus(errno, absl::StrCat("'", path(), "'"));
  return tree->StateOf(stat);
}

absl::StatusOr<FilesStamp> StampFiles(std::span<const TreeFile> files) {
  PENSTOCK_CHECK(!files.empty());
  FilesStamp all;
  Sha256 sum;
  for (const TreeFile& file : files) {
    PENSTOCK_ASSIGN_OR_RETURN(const Looked looked, LookAt(file));
    const FileState& state = looked.state;
    sum.Add(file.path());
    for (const uint64_t number :
         {looked.device, state.inode, state.bytes, static_cast<uint64_t>(state.mtime_ns),
          static_cast<uint64_t>(state.ctime_ns)})
      sum.Add(number);
    all.changed_ns = std::max(all.changed_ns, state.ctime_ns);
  }
  all.paths = NamesOf(files);
  all.stamp = ToHex(sum.Finish());
  return all;
}

absl::StatusOr<TreeFile> FileFinder::FindRemote(const std::string& url) {
  const std::string urls[] = {url};
  if (!found_.contains(url)) PENSTOCK_RETURN_IF_ERROR(FindAhead(urls));
  return TreeFile{.tree = nullptr, .remote = found_.at(url)};
}

absl::Status FileFinder::FindAhead(std::span<const std::string> paths) {
  std::vector<std::string> urls;
  for (const std::string& path : paths)
    if (IsRemotePath(path)) urls.push_back(path);
  if (urls.empty()) return absl::OkStatus();
  if (remote_ == nullptr)
    return absl::FailedPreconditionError(
        absl::StrCat("'", urls.front(), "' is in an object store, which is not read here"));
  PENSTOCK_ASSIGN_OR_RETURN(const RemoteFiles::Found found, remote_->Find(urls));
  for (size_t i = 0; i < urls.size(); ++i) found_[urls[i]] = found[i];
  return absl::OkStatus();
}

absl::StatusOr<TreeFile> FileFinder::Find(const std::string& path) {
  if (IsRemotePath(path)) return FindRemote(path);
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

absl::StatusOr<FilesStamp> FileFinder::Stamp(std::span<const std::string> paths) {
  std::vector<TreeFile> files;
  PENSTOCK_RETURN_IF_ERROR(FindAhead(paths));
  for (const std::string& path : paths) {
    PENSTOCK_ASSIGN_OR_RETURN(TreeFile file, Find(path));
    files.push_back(std::move(file));
  }
  return StampFiles(files);
}

}  // namespace penstock::source
