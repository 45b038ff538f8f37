#include "server/source/tar_index.h"

#include <atomic>
#include <utility>

#include "server/source/hash.h"
#include "server/source/shard_manifest_builder.h"
#include "server/source/tar_scan.h"

namespace penstock::source {
namespace {

// "WARNING (and of N more shards)"
std::string WarningOf(const std::vector<ScannedShard>& shards) {
  std::string first;
  size_t count = 0;
  for (const ScannedShard& shard : shards) {
    if (shard.warning.empty()) continue;
    if (count++ == 0) first = shard.warning;
  }
  return count < 2 ? first : absl::StrCat(first, " (and so with ", count - 1, " more)");
}

absl::StatusOr<IndexedTar> Build(const std::vector<TreeFile>& files, uint64_t identity,
                                 const TarOptions& options) {
  const WdsRoles roles = WdsRoles::Of(options.shards.image, options.shards.label);
  ShardsToBuild build = {.identity = identity};
  for (const TreeFile& file : files) build.paths.push_back(file.path());
  build.shards.resize(files.size());
  std::atomic<uint64_t> found{0};
  Crew crew;
  crew.threads = options.threads;
  if (options.progress) crew.watch = [&] { return options.progress(found.load()); };
  PENSTOCK_RETURN_IF_ERROR(crew.ForEach(files.size(), [&](size_t i) {
    auto scanned = ScanTarShard(files[i], roles, found);
    if (!scanned.ok()) return scanned.status();
    build.shards[i] = *std::move(scanned);
    return absl::OkStatus();
  }));
  if (options.progress && !options.progress(found.load()))
    return absl::CancelledError("indexing was cancelled");
  std::string warning = WarningOf(build.shards);
  PENSTOCK_ASSIGN_OR_RETURN(ShardManifest manifest, BuildShardManifest(std::move(build)));
  return IndexedTar{std::move(manifest), false, std::move(warning)};
}

// The cached manifest, if it may be used. Why it may not is worth a warning only when it is
// damaged.
absl::StatusOr<std::optional<ShardManifest>> TakeCached(const ShardCache& cache,
                                                        const std::vector<TreeFile>& files,
                                                        const TarOptions& options,
                                                        std::string& warning) {
  auto cached = cache.Load();
  if (!cached.ok()) {
    if (absl::IsDataLoss(cached.status()))
      warning = absl::StrCat(cached.status().message(), "; indexed anew");
    return std::nullopt;
  }
  Crew crew;
  crew.threads = options.threads;
  if (options.progress) crew.watch = [&] { return options.progress(0); };
  PENSTOCK_ASSIGN_OR_RETURN(const bool current, IsCurrent(*cached, files, crew));
  if (!current) return std::nullopt;
  return *std::move(cached);
}

std::string Join(std::string first, const std::string& second) {
  if (first.empty() || second.empty()) return first + second;
  return absl::StrCat(first, "; ", second);
}

}  // namespace

uint64_t TarIndexIdentity(const std::vector<TreeFile>& files, const TarShards& asked) {
  const WdsRoles roles = WdsRoles::Of(asked.image, asked.label);
  Hasher hasher;
  hasher.Add(roles.label);
  hasher.Add(uint64_t{roles.images.size()});
  for (const std::string& image : roles.images) hasher.Add(image);
  for (const TreeFile& file : files) hasher.Add(file.path());
  return hasher.Digest();
}

absl::StatusOr<IndexedTar> IndexTar(const std::vector<TreeFile>& files,
                                    const std::optional<ShardCache>& cache,
                                    const TarOptions& options) {
  const uint64_t identity = TarIndexIdentity(files, options.shards);
  if (!cache) return Build(files, identity, options);
  std::string warning;
  if (options.cache == CacheUse::kUse) {
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<ShardManifest> cached,
                              TakeCached(*cache, files, options, warning));
    if (cached) return IndexedTar{*std::move(cached), true, ""};
  }
  PENSTOCK_ASSIGN_OR_RETURN(IndexedTar built, Build(files, identity, options));
  built.warning = Join(std::move(warning), built.warning);
  auto stored = cache->Store(built.manifest);
  if (stored.ok()) return IndexedTar{*std::move(stored), false, std::move(built.warning)};
  built.warning = Join(std::move(built.warning),
                       absl::StrCat("the manifest is not cached: ", stored.status().message()));
  return built;
}

}  // namespace penstock::source
