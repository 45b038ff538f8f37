#include "server/source/shards/shard_index.h"

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "server/source/files/listing.h"
#include "server/source/files/parallel_for.h"
#include "server/source/shards/shard_cache.h"

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

std::string Join(const std::string& first, const std::string& second) {
  if (first.empty() || second.empty()) return first + second;
  return absl::StrCat(first, "; ", second);
}

absl::StatusOr<IndexedShards> Build(const std::vector<TreeFile>& files, uint64_t number,
                                    const ShardOptions& options, const ShardIndexer& indexer) {
  ShardsToBuild build = {.identity = number};
  for (const TreeFile& file : files) build.paths.push_back(file.path());
  build.shards.resize(files.size());
  std::atomic<uint64_t> found{0};
  std::atomic<bool> ended{false};  // cancelled, or a shard failed
  const ScanWatch watch = {.found = [&](uint64_t more) { found += more; },
                           .cancelled = [&] { return ended.load(); }};
  ParallelFor parallel_for;
  parallel_for.threads = options.threads;
  if (options.progress)
    parallel_for.watch = [&] {
      if (!options.progress(found.load())) ended = true;
      return !ended.load();
    };
  PENSTOCK_ASSIGN_OR_RETURN(BesideIndexes beside,
                            ReadBesideIndexes(files, indexer.beside, parallel_for.watch));
  PENSTOCK_RETURN_IF_ERROR(parallel_for.ForEach(files.size(), [&](size_t i) {
    if (beside.shards[i]) {
      build.shards[i] = *std::move(beside.shards[i]);
      found += build.shards[i].samples.size();
      return absl::OkStatus();
    }
    auto scanned = ScanOneShard(files[i], indexer.scan, watch);
    if (!scanned.ok()) return scanned.status();
    build.shards[i] = *std::move(scanned);
    return absl::OkStatus();
  }));
  if (options.progress && !options.progress(found.load()))
    return absl::CancelledError("indexing was cancelled");
  std::string warning = Join(beside.warning, WarningOf(build.shards));
  PENSTOCK_ASSIGN_OR_RETURN(ShardManifest manifest, BuildShardManifest(std::move(build)));
  return IndexedShards{std::move(manifest), false, std::move(warning)};
}

// Returns the cached manifest if it is current. A missing one needs no warning; a damaged one, or
// one of another version, does.
absl::StatusOr<std::optional<ShardManifest>> TakeCached(const ShardCache& cache,
                                                        const std::vector<TreeFile>& files,
                                                        const ShardOptions& options,
                                                        std::string& warning) {
  auto cached = cache.Load();
  if (!cached.ok()) {
    if (!absl::IsNotFound(cached.status()))
      warning = absl::StrCat(cached.status().message(), "; indexed anew");
    return std::nullopt;
  }
  ParallelFor parallel_for;
  parallel_for.threads = options.threads;
  if (options.progress) parallel_for.watch = [&] { return options.progress(0); };
  PENSTOCK_ASSIGN_OR_RETURN(const bool current, IsCurrent(*cached, files, parallel_for));
  if (!current) return std::nullopt;
  return *std::move(cached);
}

}  // namespace

absl::StatusOr<ScannedShard> ScanOneShard(const TreeFile& shard, const ScanShard& scan,
                                          const ScanWatch& watch) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd file, shard.Open());
  PENSTOCK_ASSIGN_OR_RETURN(FileState state, shard.StateOf(file));
  WaitForTick(state.ctime_ns);
  PENSTOCK_ASSIGN_OR_RETURN(state, shard.StateOf(file));
  const std::unique_ptr<RemotePass> pass =
      shard.remote != nullptr ? shard.remote->BeginPass() : nullptr;
  ForeignFile opened = {
      .fd = file, .path = shard.path(), .bytes = state.bytes, .remote = shard.remote.get()};
  ScanWatch watching = watch;
  if (pass != nullptr) {
    opened.remote = pass.get();
    watching.piece = [&](const RemotePiece& piece) { pass->Note(piece); };
  }
  PENSTOCK_ASSIGN_OR_RETURN(ScannedShard scanned, scan(opened, shard, watching));
  PENSTOCK_ASSIGN_OR_RETURN(const FileState after, shard.StateOf(file));
  if (after != state)
    return absl::AbortedError(absl::StrCat(
        "'", opened.path, "' changed while it was indexed; index it again when it is complete"));
  scanned.state = state;
  return scanned;
}

absl::StatusOr<IndexedShards> IndexShards(const std::vector<TreeFile>& files, uint64_t number,
                                          const ShardOptions& options,
                                          const ShardIndexer& indexer) {
  if (options.state_dir.empty()) return Build(files, number, options, indexer);
  const ShardCache cache(options.state_dir, number, options.access);
  std::string warning;
  if (options.cache == CacheUse::kUse) {
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<ShardManifest> cached,
                              TakeCached(cache, files, options, warning));
    if (cached) return IndexedShards{*std::move(cached), true, ""};
  }
  PENSTOCK_ASSIGN_OR_RETURN(IndexedShards built, Build(files, number, options, indexer));
  built.warning = Join(warning, built.warning);
  if (const absl::Status stored = cache.Store(built.manifest); !stored.ok())
    built.warning =
        Join(built.warning, absl::StrCat("the manifest is not cached: ", stored.message()));
  return built;
}

}  // namespace penstock::source
