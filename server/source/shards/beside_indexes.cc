#include "server/source/shards/beside_indexes.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/posix/memory.h"
#include "server/source/files/index_memory.h"

namespace penstock::source {
namespace {

// So many requests are under way at a time. If none of the first ones finds an index, there are no
// more of them.
constexpr size_t kIndexesAtOnce = 64;

class IndexFinder {
 public:
  IndexFinder(const std::vector<TreeFile>& files, const IndexFileUser& user,
              const std::function<bool()>& watch)
      : files_(files), user_(user), watch_(watch) {
    found_.shards.resize(files.size());
  }

  absl::StatusOr<BesideIndexes> Find() && {
    const size_t first = std::min(files_.size(), kIndexesAtOnce);
    PENSTOCK_RETURN_IF_ERROR(FindIn(0, first));
    if (is_any_there_) PENSTOCK_RETURN_IF_ERROR(FindIn(first, files_.size()));
    const base::MutexLock lock(mutex_);
    if (refused_ > 1) absl::StrAppend(&found_.warning, " (and so with ", refused_ - 1, " more)");
    return std::move(found_);
  }

 private:
  absl::Status FindIn(size_t begin, size_t end) {
    ParallelFor parallel_for = {.threads = kIndexesAtOnce};
    parallel_for.watch = watch_;
    return parallel_for.ForEach(end - begin, [&](size_t i) {
      FindOne(begin + i);
      return absl::OkStatus();
    });
  }

  void FindOne(size_t i) {
    const TreeFile& shard = files_[i];
    if (shard.remote == nullptr || shard.remote->version().empty()) return;
    uint64_t held = 0;
    absl::StatusOr<std::optional<std::string>> file = ReadFile(*shard.remote, held);
    if (file.ok() && !*file) return shard.remote->NoteIndexFile(IndexFileUse::kAbsent);
    is_any_there_ = true;
    absl::StatusOr<ScannedShard> read = file.ok() ? Parse(shard, **file) : file.status();
    memory_.GiveBack(held);
    if (!read.ok()) return Refuse(shard, read.status());
    read->state = shard.remote->state();
    found_.shards[i] = *std::move(read);
    shard.remote->NoteIndexFile(IndexFileUse::kUsed);
  }

  absl::StatusOr<std::optional<std::string>> ReadFile(const RemoteFile& shard, uint64_t& held) {
    const uint64_t most = MostIndexFileBytes(shard.state().bytes);
    uint64_t read = 0;
    const auto take = [&](uint64_t more) -> absl::Status {
      read += more;
      if (read > most)
        return absl::ResourceExhaustedError(absl::StrCat("it has more than ", most, " bytes"));
      PENSTOCK_RETURN_IF_ERROR(memory_.Take(more, shard.path()));
      held += more;
      return absl::OkStatus();
    };
    return shard.ReadBeside(kIndexFileSuffix, take);
  }

  absl::StatusOr<ScannedShard> Parse(const TreeFile& shard, const std::string& file) const {
    PENSTOCK_ASSIGN_OR_RETURN(
        const posix::Fd memory,
        posix::MakeMemory("penstock-index", std::max<size_t>(file.size(), 1)));
    PENSTOCK_ASSIGN_OR_RETURN(
        const posix::Mapping mapping,
        posix::Mapping::Map(memory, std::max<size_t>(file.size(), 1), posix::Access::kReadWrite));
    std::copy_n(reinterpret_cast<const std::byte*>(file.data()), file.size(), mapping.data());
    const ForeignFile index = {
        .fd = memory, .path = absl::StrCat(shard.path(), kIndexFileSuffix), .bytes = file.size()};
    const IndexTopic topic = {
        .kind = user_.kind, .roles = user_.roles, .shard_bytes = shard.remote->state().bytes};
    return user_.parsers->ReadIndex(index, topic,
                                    {.version = shard.remote->version(), .path = shard.path()});
  }

  void Refuse(const TreeFile& shard, const absl::Status& why) {
    shard.remote->NoteIndexFile(IndexFileUse::kRefused);
    const base::MutexLock lock(mutex_);
    if (refused_++ == 0)
      found_.warning =
          absl::StrCat("the index beside '", shard.path(), "' is not used: ", why.message(),
                       "; the shard was scanned instead; make its index again");
  }

  const std::vector<TreeFile>& files_;
  const IndexFileUser& user_;
  const std::function<bool()>& watch_;
  IndexMemory memory_;
  std::atomic<bool> is_any_there_{false};
  base::Mutex mutex_;
  uint64_t refused_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  BesideIndexes found_;  // each shard by one thread; the warning under the lock
};

}  // namespace

absl::StatusOr<BesideIndexes> ReadBesideIndexes(const std::vector<TreeFile>& files,
                                                const IndexFileUser& user,
                                                const std::function<bool()>& watch) {
  return IndexFinder(files, user, watch).Find();
}

}  // namespace penstock::source
