#include "server/source/manifest_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_format.h"
#include "common/posix/fd.h"
#include "server/source/hash.h"
#include "server/source/listing.h"
#include "server/source/state_file.h"

namespace penstock::source {

ManifestCache::ManifestCache(const std::string& state_dir, const std::string& root)
    : folder_(absl::StrCat(state_dir, "/manifests")),
      path_(absl::StrFormat("%s/%016x.manifest", folder_, Hash(root))),
      root_(root) {}

absl::StatusOr<Manifest> ManifestCache::Load() const {
  const posix::Fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return base::ErrnoStatus(errno, absl::StrCat("'", path_, "'"));
  PENSTOCK_ASSIGN_OR_RETURN(const size_t bytes, posix::SizeOf(fd));
  if (bytes < sizeof(ManifestHeader))
    return absl::DataLossError(absl::StrCat("'", path_, "' is cut off"));
  PENSTOCK_ASSIGN_OR_RETURN(posix::Mapping mapping,
                            posix::Mapping::Map(fd, bytes, posix::Access::kReadOnly));
  auto manifest = Manifest::FromMapping(std::move(mapping));
  if (!manifest.ok()) return base::Annotate(manifest.status(), absl::StrCat("'", path_, "'"));
  if (manifest->root() != root_)
    return absl::NotFoundError(absl::StrCat("'", path_, "' is of another dataset"));
  return manifest;
}

absl::StatusOr<Manifest> ManifestCache::Store(const Manifest& manifest) const {
  PENSTOCK_RETURN_IF_ERROR(MakeFolders(folder_));
  PENSTOCK_RETURN_IF_ERROR(WriteStateFile(path_, manifest.bytes()));
  return Load();
}

void ManifestCache::Forget() const { ::unlink(path_.c_str()); }

int64_t ManifestCache::StoredAt() const {
  struct stat stat {};
  return ::stat(path_.c_str(), &stat) == 0 ? MtimeOf(stat) : 0;
}

absl::StatusOr<bool> IsCurrent(const Manifest& manifest, int64_t stored_at, const Tree& tree,
                               const Crew& crew) {
  const absl::Status changed = absl::FailedPreconditionError("a folder has changed");
  const absl::Status status = crew.ForEach(manifest.folders().size(), [&](size_t i) {
    const FolderRecord& folder = manifest.folders()[i];
    const std::string path = manifest.RelativeFolder(i);
    const auto change = ChangeOf(tree, path);
    if (!change.ok() || change->mtime_ns != folder.mtime_ns) return changed;
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
