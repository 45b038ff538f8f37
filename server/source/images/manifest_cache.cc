#include "server/source/images/manifest_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/posix/failpoint.h"
#include "common/posix/fd.h"
#include "server/source/files/listing.h"

namespace penstock::source {
namespace {

constexpr uint64_t kFilesPerLook = 1024;
// Requests in flight. Over a network the latency dominates, not this machine's cores.
constexpr size_t kAsked = 16;

// A range of one folder's samples.
struct SomeFiles {
  size_t folder = 0;
  uint64_t first = 0, count = 0;
};

std::vector<SomeFiles> TasksOf(const Manifest& manifest) {
  std::vector<SomeFiles> tasks;
  for (size_t folder = 0; folder < manifest.folders().size(); ++folder) {
    const Manifest::SampleRange range = manifest.SamplesIn(folder);
    for (uint64_t at = 0; at < range.count; at += kFilesPerLook)
      tasks.push_back({folder, range.first + at, std::min(kFilesPerLook, range.count - at)});
  }
  return tasks;
}

// Whether the sample's file matches the manifest; false if it cannot be examined.
bool IsUnchanged(const Manifest& manifest, const Tree& tree, const posix::Fd& folder,
                 uint64_t sample) {
  struct stat stat {};
  const std::string name(manifest.NameOf(sample));
  if (::fstatat(folder.get(), name.c_str(), &stat, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (S_ISLNK(stat.st_mode)) {
    const auto target = tree.OpenBeneath(manifest.RelativePath(sample), O_PATH);
    if (!target.ok() || ::fstat(target->get(), &stat) != 0) return false;
  }
  if (!S_ISREG(stat.st_mode)) return !manifest.IsFile(sample);
  return manifest.IsUnchanged(sample, tree.StateOf(stat));
}

}  // namespace

bool IsUnchangedNow(const Manifest& manifest, const Tree& tree, uint64_t sample) {
  const std::string path = manifest.RelativePath(sample);
  const auto folder = tree.OpenBeneath(path.substr(0, path.rfind('/')), O_RDONLY | O_DIRECTORY);
  return folder.ok() && IsUnchanged(manifest, tree, *folder, sample);
}

absl::StatusOr<FilesFound> ExamineFiles(const Manifest& manifest, const Tree& tree,
                                        ParallelFor parallel_for,
                                        std::optional<base::Duration> look_for) {
  const absl::Status changed = absl::FailedPreconditionError("a file has changed");
  const absl::Status enough = absl::DeadlineExceededError("not all files were checked");
  if (!tree.is_local()) parallel_for.threads = std::max(parallel_for.threads, kAsked);
  const std::vector<SomeFiles> tasks = TasksOf(manifest);
  const bool bounded = look_for.has_value() || !tree.is_local();
  const base::TimePoint until = base::Now() + look_for.value_or(kLookFor);
  const absl::Status status = parallel_for.ForEach(tasks.size(), [&](size_t i) {
    const SomeFiles& some = tasks[i];
    if (bounded && base::Now() >= until) return enough;
    const auto folder =
        tree.OpenBeneath(manifest.RelativeFolder(some.folder), O_RDONLY | O_DIRECTORY);
    if (!folder.ok()) return changed;
    for (uint64_t sample = some.first; sample < some.first + some.count; ++sample)
      if (!IsUnchanged(manifest, tree, *folder, sample)) return changed;
    return absl::OkStatus();
  });
  if (absl::IsCancelled(status)) return status;
  if (status.ok()) return FilesFound::kUnchanged;
  return absl::IsDeadlineExceeded(status) ? FilesFound::kNotAllExamined : FilesFound::kChanged;
}

ManifestCache::ManifestCache(const std::string& state_dir, const std::string& root,
                             std::shared_ptr<StateAccess> access)
    : folder_(absl::StrCat(state_dir, "/manifests")),
      path_(absl::StrFormat("%s/%016x.manifest", folder_, base::Hash(root))),
      root_(root),
      access_(std::move(access)) {}

absl::StatusOr<Manifest> ManifestCache::Load() const {
  PENSTOCK_ASSIGN_OR_RETURN(posix::Mapping mapping,
                            Ask<posix::Mapping>(access_, [path = path_](const Step& step) {
                              return ReadStateMemory(path, sizeof(ManifestHeader), step);
                            }));
  auto manifest = Manifest::FromMapping(std::move(mapping));
  if (!manifest.ok()) return base::Annotate(manifest.status(), absl::StrCat("'", path_, "'"));
  if (manifest->root() != root_)
    return absl::NotFoundError(absl::StrCat("'", path_, "' belongs to another dataset"));
  return manifest;
}

absl::Status ManifestCache::Store(const Manifest& manifest) const {
  return Ask<bool>(access_,
                   [folder = folder_, path = path_,
                    memory = manifest.memory()](const Step& step) -> absl::StatusOr<bool> {
                     PENSTOCK_FAILPOINT_RETURN("manifest_cache.store");
                     PENSTOCK_RETURN_IF_ERROR(MakeFolders(folder));
                     PENSTOCK_RETURN_IF_ERROR(WriteStateFile(path, memory->bytes(), step));
                     return true;
                   })
      .status();
}

void ManifestCache::Forget() const {
  Ask<bool>(access_, [path = path_](const Step&) -> absl::StatusOr<bool> {
    return ::unlink(path.c_str()) == 0;
  }).IgnoreError();
}

int64_t ManifestCache::StoredAt() const {
  const auto asked = Ask<int64_t>(access_, [path = path_](const Step&) -> absl::StatusOr<int64_t> {
    struct stat stat {};
    return ::stat(path.c_str(), &stat) == 0 ? MtimeOf(stat) : 0;
  });
  return asked.ok() ? *asked : 0;
}

absl::StatusOr<bool> IsCurrent(const Manifest& manifest, int64_t stored_at, const Tree& tree,
                               const ParallelFor& parallel_for) {
  const absl::Status changed = absl::FailedPreconditionError("a folder has changed");
  const absl::Status status = parallel_for.ForEach(manifest.folders().size(), [&](size_t i) {
    const FolderRecord& folder = manifest.folders()[i];
    const std::string path = manifest.RelativeFolder(i);
    const auto change = FindChange(tree, path);
    if (!change.ok() || change->mtime_ns != folder.mtime_ns || change->inode != folder.inode ||
        change->device != folder.device)
      return changed;
    if (change->is_sure && change->ctime_ns < stored_at) return absl::OkStatus();
    const auto now = ListFolder(
        tree, path, [] {}, [](absl::string_view, EntryKind) {});
    const bool same =
        now.ok() && now->entries == folder.entries && now->mtime_ns == folder.mtime_ns;
    return same ? absl::OkStatus() : changed;
  });
  if (absl::IsCancelled(status)) return status;
  return status.ok();
}

}  // namespace penstock::source
