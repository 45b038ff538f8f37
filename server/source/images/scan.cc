#include "server/source/images/scan.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <limits>
#include <utility>

#include "absl/strings/str_join.h"
#include "server/source/files/escape.h"
#include "server/source/files/listing.h"
#include "server/source/files/parallel_for.h"
#include "server/source/files/python_order.h"
#include "server/source/images/image_names.h"

namespace penstock::source {
namespace {

// A limit, because links to folders can multiply them endlessly.
constexpr size_t kMaxFolders = 10'000'000;
constexpr size_t kFilesPerTask = 1024;
constexpr size_t kNoParent = std::numeric_limits<size_t>::max();
constexpr size_t kMostClassesNamed = 5;

std::string Join(const std::string& folder, absl::string_view name) {
  return folder.empty() ? std::string(name) : absl::StrCat(folder, "/", name);
}

// A folder to visit: its future scan result, and what is needed to find its sub-folders.
struct Visit {
  ScannedFolder folder;
  size_t parent = kNoParent;
  uint64_t device = 0, inode = 0;
  std::vector<std::string> folders;  // names of its sub-folders
};

class Scanner {
 public:
  Scanner(const Tree& tree, const ScanOptions& options)
      : tree_(tree),
        options_(options),
        memory_(options.memory != nullptr ? *options.memory : own_memory_) {
    parallel_for_.threads = options.threads;
    if (options.progress) parallel_for_.watch = [this] { return Report(); };
  }

  absl::StatusOr<Scan> Run() {
    PENSTOCK_RETURN_IF_ERROR(Walk());
    if (options_.scan_for == ScanFor::kClasses) PENSTOCK_RETURN_IF_ERROR(CheckClasses());
    Scan scan = TakeInOrder();
    PENSTOCK_RETURN_IF_ERROR(Examine(scan));
    if (options_.progress && !Report()) return absl::CancelledError("indexing was cancelled");
    return scan;
  }

 private:
  bool Report() { return options_.progress({found_.load(), examined_.load()}); }

  absl::Status Walk();
  absl::Status List(size_t at);
  bool HoldsSamples(const Visit& visit) const;
  absl::Status AddFile(Visit& visit, absl::string_view name, EntryKind kind);
  absl::Status AddLink(Visit& visit, const std::string& name);
  absl::Status CheckNoCircle(const Visit& visit) const;
  absl::Status Count(const Visit& visit);
  absl::Status AddNextLevel(size_t begin, size_t end);
  absl::Status CheckClasses() const;
  Scan TakeInOrder();

  absl::Status Examine(Scan& scan);
  absl::Status ExamineSome(ScannedFolder& folder, size_t begin, size_t end);
  absl::Status Examine(const posix::Fd& fd, const ScannedFolder& folder, ScannedFile& file) const;
  absl::StatusOr<struct stat> StatOf(const posix::Fd& fd, const ScannedFolder& folder,
                                     const ScannedFile& file) const;

  const Tree& tree_;
  const ScanOptions& options_;
  ParallelFor parallel_for_;
  IndexMemory own_memory_;
  IndexMemory& memory_;
  std::vector<Visit> visits_;  // parents before children; the root first
  std::atomic<uint64_t> found_{0}, examined_{0};
};

// Breadth first; the folders of one level in parallel.
absl::Status Scanner::Walk() {
  visits_.emplace_back();
  for (size_t begin = 0; begin < visits_.size();) {
    const size_t end = visits_.size();
    PENSTOCK_RETURN_IF_ERROR(
        parallel_for_.ForEach(end - begin, [&](size_t i) { return List(begin + i); }));
    PENSTOCK_RETURN_IF_ERROR(AddNextLevel(begin, end));
    begin = end;
  }
  return absl::OkStatus();
}

absl::Status Scanner::AddNextLevel(size_t begin, size_t end) {
  for (size_t at = begin; at < end; ++at) {
    const std::vector<std::string> names = std::exchange(visits_[at].folders, {});
    for (const std::string& name : names) {
      Visit next;
      next.folder.path = Join(visits_[at].folder.path, name);
      next.parent = at;
      visits_.push_back(std::move(next));
    }
    if (visits_.size() > kMaxFolders)
      return absl::ResourceExhaustedError(
          absl::StrCat("'", tree_.folder(), "' has more than ", kMaxFolders,
                       " folders; check for links that multiply them"));
  }
  return absl::OkStatus();
}

absl::Status Scanner::List(size_t at) {
  Visit& visit = visits_[at];
  ScannedFolder& folder = visit.folder;
  std::vector<std::string> links;
  std::vector<std::pair<std::string, EntryKind>> entries;
  auto times = ListFolder(
      tree_, folder.path, [&] { entries.clear(); },
      [&](absl::string_view name, EntryKind kind) {
        if (kind != EntryKind::kOther || HasImageExtension(name)) entries.emplace_back(name, kind);
      });
  if (!times.ok()) return times.status();
  folder.entries = times->entries;
  folder.mtime_ns = times->mtime_ns;
  folder.device = visit.device = times->device;
  folder.inode = visit.inode = times->inode;
  PENSTOCK_RETURN_IF_ERROR(CheckNoCircle(visit));
  for (auto& [name, kind] : entries) {
    if (kind == EntryKind::kFolder)
      visit.folders.push_back(std::move(name));
    else if (kind == EntryKind::kLink)
      PENSTOCK_RETURN_IF_ERROR(AddLink(visit, name));
    else
      PENSTOCK_RETURN_IF_ERROR(AddFile(visit, name, kind));
  }
  std::sort(folder.files.begin(), folder.files.end(),
            [&](const ScannedFile& a, const ScannedFile& b) {
              return PythonLess(folder.NameOf(a), folder.NameOf(b));
            });
  found_ += folder.files.size();
  return Count(visit);
}

// Links to folders multiply what a few entries take, so each visit is counted, with its sub-folders
// to come.
absl::Status Scanner::Count(const Visit& visit) {
  const ScannedFolder& folder = visit.folder;
  uint64_t bytes = folder.files.capacity() * sizeof(ScannedFile) + folder.names.capacity();
  for (const std::string& name : visit.folders)
    bytes += sizeof(Visit) + folder.path.size() + 2 * name.size();
  return memory_.Take(bytes, tree_.folder());
}

// Whether files in this folder are samples: those directly in the root belong to no class.
bool Scanner::HoldsSamples(const Visit& visit) const {
  return visit.parent != kNoParent || options_.scan_for == ScanFor::kImages;
}

absl::Status Scanner::AddFile(Visit& visit, absl::string_view name, EntryKind kind) {
  if (!HoldsSamples(visit)) return absl::OkStatus();
  std::string& names = visit.folder.names;
  if (names.size() > std::numeric_limits<uint32_t>::max() - name.size() - 1)
    return absl::ResourceExhaustedError(absl::StrCat("'", tree_.FullPath(visit.folder.path),
                                                     "' holds too many files; use sub-folders"));
  ScannedFile file;
  file.name_offset = static_cast<uint32_t>(names.size());
  file.is_link = kind == EntryKind::kLink;
  names.append(name.data(), name.size());
  names.push_back('\0');
  visit.folder.files.push_back(file);
  return absl::OkStatus();
}

// A link counts as its target. If the name matters, a target that is missing or outside of the
// roots is an error.
absl::Status Scanner::AddLink(Visit& visit, const std::string& name) {
  const std::string relative = Join(visit.folder.path, name);
  const std::string path = tree_.FullPath(relative);
  struct stat target {};
  const bool is_folder = ::stat(path.c_str(), &target) == 0 && S_ISDIR(target.st_mode);
  const bool is_sample = HoldsSamples(visit) && HasImageExtension(name);
  if (!is_folder && !is_sample) return absl::OkStatus();
  auto opened = tree_.OpenBeneath(relative, O_PATH);
  if (!opened.ok())
    return base::Annotate(opened.status(),
                          absl::StrCat("the link '", path, "' cannot be followed"));
  if (!is_folder) return AddFile(visit, name, EntryKind::kLink);
  visit.folders.push_back(name);
  return absl::OkStatus();
}

// A link to an ancestor would recurse for ever.
absl::Status Scanner::CheckNoCircle(const Visit& visit) const {
  for (size_t up = visit.parent; up != kNoParent; up = visits_[up].parent)
    if (visits_[up].device == visit.device && visits_[up].inode == visit.inode)
      return absl::FailedPreconditionError(
          absl::StrCat("'", tree_.FullPath(visit.folder.path), "' leads back to '",
                       tree_.FullPath(visits_[up].folder.path), "'; remove the link"));
  return absl::OkStatus();
}

absl::string_view ClassOf(absl::string_view path) { return path.substr(0, path.find('/')); }

absl::Status Scanner::CheckClasses() const {
  if (visits_.size() == 1)
    return absl::NotFoundError(absl::StrCat(
        "'", tree_.folder(),
        "' has no class folders: wanted one folder per class, each with files"
        " that end in ",
        kImageExtensions, "; got ", visits_[0].folder.entries, " entries, none a folder"));
  std::vector<bool> filled(visits_.size(), false);
  for (size_t at = visits_.size(); at-- > 1;)  // children come after their parents
    if (filled[at] || !visits_[at].folder.files.empty())
      filled[at] = filled[visits_[at].parent] = true;
  std::vector<std::string> empty;
  for (size_t at = 1; at < visits_.size() && visits_[at].parent == 0; ++at) {
    const std::string& name = visits_[at].folder.path;
    if (!IsUtf8(name))
      return absl::FailedPreconditionError(
          absl::StrCat("the class folder '", EscapeForDisplay(name), "' of '", tree_.folder(),
                       "' has a name that is not UTF-8; rename it"));
    if (!filled[at]) empty.push_back(name);
  }
  if (empty.empty()) return absl::OkStatus();
  std::sort(empty.begin(), empty.end());
  const size_t more = empty.size() - std::min(empty.size(), kMostClassesNamed);
  empty.resize(empty.size() - more);
  return absl::NotFoundError(absl::StrCat(
      "found no samples in the class folders ", absl::StrJoin(empty, ", "),
      more > 0 ? absl::StrCat(" and ", more, " more") : "", " of '", tree_.folder(),
      "': looked for files that end in ", kImageExtensions,
      ", as torchvision's ImageFolder does, which refuses this too; fill or remove them"));
}

Scan Scanner::TakeInOrder() {
  Scan scan;
  for (Visit& visit : visits_) scan.folders.push_back(std::move(visit.folder));
  visits_ = {};
  const bool by_class = options_.scan_for == ScanFor::kClasses;
  std::sort(scan.folders.begin() + 1, scan.folders.end(),
            [by_class](const ScannedFolder& a, const ScannedFolder& b) {
              if (!by_class) return PythonLess(a.path, b.path);
              const absl::string_view left = ClassOf(a.path), right = ClassOf(b.path);
              return left == right ? PythonLess(a.path, b.path) : PythonLess(left, right);
            });
  return scan;
}

// Reads sizes and times, a few files per task, because one folder may hold all of them.
absl::Status Scanner::Examine(Scan& scan) {
  std::vector<std::pair<size_t, size_t>> tasks;  // folder, index of its first file
  for (size_t i = 0; i < scan.folders.size(); ++i)
    for (size_t file = 0; file < scan.folders[i].files.size(); file += kFilesPerTask)
      tasks.emplace_back(i, file);
  return parallel_for_.ForEach(tasks.size(), [&](size_t i) {
    ScannedFolder& folder = scan.folders[tasks[i].first];
    const size_t begin = tasks[i].second;
    return ExamineSome(folder, begin, std::min(begin + kFilesPerTask, folder.files.size()));
  });
}

absl::Status Scanner::ExamineSome(ScannedFolder& folder, size_t begin, size_t end) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd fd,
                            tree_.OpenBeneath(folder.path, O_RDONLY | O_DIRECTORY));
  for (size_t i = begin; i < end; ++i) {
    PENSTOCK_RETURN_IF_ERROR(Examine(fd, folder, folder.files[i]));
    ++examined_;
  }
  return absl::OkStatus();
}

// If a file changed within the last clock tick, waits until no later change can have the same time.
// Anything other than a regular file keeps its place among the samples, as in ImageFolder, but is
// never opened: a FIFO would block, and a device may do anything.
absl::Status Scanner::Examine(const posix::Fd& fd, const ScannedFolder& folder,
                              ScannedFile& file) const {
  PENSTOCK_ASSIGN_OR_RETURN(struct stat stat, StatOf(fd, folder, file));
  if (WaitForTick(CtimeOf(stat)) == Waited::kYes) {
    PENSTOCK_ASSIGN_OR_RETURN(stat, StatOf(fd, folder, file));
  }
  file.bytes = static_cast<uint64_t>(stat.st_size);
  file.stamp = S_ISREG(stat.st_mode) ? StampOf(tree_.StateOf(stat)) : kNoFile;
  return absl::OkStatus();
}

absl::StatusOr<struct stat> Scanner::StatOf(const posix::Fd& fd, const ScannedFolder& folder,
                                            const ScannedFile& file) const {
  struct stat stat {};
  const std::string relative = Join(folder.path, folder.NameOf(file));
  const std::string what = absl::StrCat("'", tree_.FullPath(relative), "'");
  if (file.is_link) {
    PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd target, tree_.OpenBeneath(relative, O_PATH));
    if (::fstat(target.get(), &stat) != 0) return base::ErrnoStatus(errno, what);
    return stat;
  }
  if (::fstatat(fd.get(), folder.NameOf(file).data(), &stat, AT_SYMLINK_NOFOLLOW) == 0) return stat;
  if (errno == ENOENT)
    return absl::AbortedError(absl::StrCat(
        what, " disappeared while it was indexed; index the folder again when it is complete"));
  return base::ErrnoStatus(errno, what);
}

}  // namespace

ScannedPaths CountPaths(const Scan& scan) {
  ScannedPaths all;
  for (const ScannedFolder& folder : scan.folders) {
    all.count += folder.files.size();
    all.bytes += folder.files.size() * folder.path.size() + folder.names.size();
  }
  return all;
}

absl::StatusOr<Scan> ScanDataset(const Tree& tree, const ScanOptions& options) {
  return Scanner(tree, options).Run();
}

}  // namespace penstock::source
