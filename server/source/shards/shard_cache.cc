#include "server/source/shards/shard_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_format.h"
#include "common/posix/failpoint.h"
#include "common/posix/fd.h"

namespace penstock::source {
namespace {

constexpr size_t kShardsPerTask = 64;

}  // namespace

ShardCache::ShardCache(const std::string& state_dir, uint64_t identity,
                       std::shared_ptr<StateAccess> access)
    : folder_(absl::StrCat(state_dir, "/manifests")),
      path_(absl::StrFormat("%s/%016x.shards", folder_, identity)),
      identity_(identity),
      access_(std::move(access)) {}

absl::StatusOr<ShardManifest> ShardCache::Load() const {
  PENSTOCK_ASSIGN_OR_RETURN(posix::Mapping mapping,
                            Ask<posix::Mapping>(access_, [path = path_](const Step& step) {
                              return ReadStateMemory(path, sizeof(ShardManifestHeader), step);
                            }));
  auto manifest = ShardManifest::FromMapping(std::move(mapping));
  if (!manifest.ok()) return base::Annotate(manifest.status(), absl::StrCat("'", path_, "'"));
  if (manifest->header().identity != identity_)
    return absl::NotFoundError(absl::StrCat("'", path_, "' belongs to another dataset"));
  return manifest;
}

absl::Status ShardCache::Store(const ShardManifest& manifest) const {
  return Ask<bool>(access_,
                   [folder = folder_, path = path_,
                    memory = manifest.memory()](const Step& step) -> absl::StatusOr<bool> {
                     PENSTOCK_FAILPOINT_RETURN("shard_cache.store");
                     PENSTOCK_RETURN_IF_ERROR(MakeFolders(folder));
                     PENSTOCK_RETURN_IF_ERROR(WriteStateFile(path, memory->bytes(), step));
                     return true;
                   })
      .status();
}

void ShardCache::Forget() const {
  Ask<bool>(access_, [path = path_](const Step&) -> absl::StatusOr<bool> {
    return ::unlink(path.c_str()) == 0;
  }).IgnoreError();
}

absl::StatusOr<bool> IsCurrent(const ShardManifest& manifest, const std::vector<TreeFile>& files,
                               const ParallelFor& parallel_for) {
  if (manifest.shards().size() != files.size()) return false;
  const absl::Status changed = absl::FailedPreconditionError("a shard has changed");
  const auto is_same = [&](size_t i) {
    const ShardRecord& shard = manifest.shards()[i];
    if (manifest.PathOf(i) != files[i].path()) return false;
    const auto file = files[i].Open();
    if (!file.ok()) return false;
    const auto now = files[i].StateOf(*file);
    return now.ok() && *now == shard.state;
  };
  const size_t tasks = (files.size() + kShardsPerTask - 1) / kShardsPerTask;
  const absl::Status status = parallel_for.ForEach(tasks, [&](size_t task) {
    const size_t end = std::min(files.size(), (task + 1) * kShardsPerTask);
    for (size_t i = task * kShardsPerTask; i < end; ++i)
      if (!is_same(i)) return changed;
    return absl::OkStatus();
  });
  if (absl::IsCancelled(status)) return status;
  return status.ok();
}

}  // namespace penstock::source
