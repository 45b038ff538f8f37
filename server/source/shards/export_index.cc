#include "server/source/shards/export_index.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/units.h"
#include "server/source/files/parallel_for.h"
#include "server/source/files/read_exactly.h"
#include "server/source/shards/upload_versions.h"

namespace penstock::source {
namespace {

constexpr uint64_t kHashedAtOnce = base::kMiB;

class IndexExporter {
 public:
  IndexExporter(const std::vector<TreeFile>& files, const ShardIndexer& indexer,
                const IndexExport& exported)
      : files_(files), indexer_(indexer), exported_(exported) {}

  absl::Status Export() {
    ParallelFor parallel_for = {.threads = exported_.threads};
    parallel_for.watch = [&] {
      if (!exported_.watch(found_.load())) ended_ = true;
      return !ended_.load();
    };
    return parallel_for.ForEach(files_.size(), [&](size_t i) { return ExportOne(files_[i]); });
  }

 private:
  absl::Status ExportOne(const TreeFile& shard) {
    const ScanWatch watch = {.found = [&](uint64_t more) { found_ += more; },
                             .cancelled = [&] { return ended_.load(); }};
    PENSTOCK_ASSIGN_OR_RETURN(const ScannedShard scanned,
                              ScanOneShard(shard, indexer_.scan, watch));
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> versions,
                              FindVersions(shard, scanned.state));
    const IndexTopic topic = {.kind = indexer_.beside.kind,
                              .roles = indexer_.beside.roles,
                              .shard_bytes = scanned.state.bytes};
    ExportedIndex index = {.shard = shard.path(), .samples = scanned.samples.size()};
    index.file = WriteIndexFile(scanned, topic, versions, index.shard);
    if (index.file.size() > MostIndexFileBytes(topic.shard_bytes))
      return absl::ResourceExhaustedError(absl::StrCat(
          "the index of '", index.shard, "' has ", index.file.size(), " bytes, and at most ",
          MostIndexFileBytes(topic.shard_bytes), " are read; use smaller shards"));
    return exported_.take(std::move(index));
  }

  // The versions in which the store has the shard, or may have it. `state`: when it was scanned.
  absl::StatusOr<std::vector<std::string>> FindVersions(const TreeFile& shard,
                                                        const FileState& state) const {
    if (shard.remote == nullptr) return HashUploads(shard, state);
    const std::string version = shard.remote->version();
    if (!version.empty() && version.size() <= kLongestIndexText) return std::vector{version};
    return absl::FailedPreconditionError(
        absl::StrCat("'", shard.path(), "': the store does not say which version it is"));
  }

  absl::StatusOr<std::vector<std::string>> HashUploads(const TreeFile& shard,
                                                       const FileState& state) const {
    PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd file, shard.Open());
    PENSTOCK_ASSIGN_OR_RETURN(UploadVersions versions, UploadVersions::Make(state.bytes));
    const std::string path = shard.path();
    std::vector<std::byte> block(std::min(kHashedAtOnce, state.bytes));
    for (uint64_t at = 0; at < state.bytes;) {
      if (ended_.load()) return absl::CancelledError("the export was cancelled");
      const auto into = std::span(block).first(std::min(kHashedAtOnce, state.bytes - at));
      PENSTOCK_RETURN_IF_ERROR(ReadExactly(file, path, at, into));
      versions.Add(into);
      at += into.size();
    }
    PENSTOCK_ASSIGN_OR_RETURN(const FileState after, shard.StateOf(file));
    if (after == state) return versions.Finish();
    return absl::AbortedError(
        absl::StrCat("'", path, "' changed while it was read; make its index when it is complete"));
  }

  const std::vector<TreeFile>& files_;
  const ShardIndexer& indexer_;
  const IndexExport& exported_;
  std::atomic<uint64_t> found_{0};
  std::atomic<bool> ended_{false};
};

}  // namespace

absl::Status ExportIndexFiles(const std::vector<TreeFile>& files, const ShardIndexer& indexer,
                              const IndexExport& exported) {
  return IndexExporter(files, indexer, exported).Export();
}

}  // namespace penstock::source
