#include "server/source/shards/shard_files.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/base/check.h"
#include "server/source/core/content_digest.h"

namespace penstock::source {
namespace {

constexpr size_t kMostOpen = 1024;
constexpr rlim_t kShare = 4;

size_t MostOpen() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  return std::clamp<size_t>(limit.rlim_cur / kShare, 1, kMostOpen);
}

absl::Status Trouble(const absl::Status& status) {
  return absl::UnavailableError(status.message());
}

}  // namespace

ShardFiles::ShardFiles(std::vector<TreeFile> files, std::vector<FileState> states)
    : files_(std::move(files)),
      states_(std::move(states)),
      most_open_(MostOpen()),
      open_(files_.size()) {
  PENSTOCK_CHECK(files_.size() == states_.size());
}

absl::StatusOr<ShardFiles::Handle> ShardFiles::Open(size_t shard) const {
  PENSTOCK_CHECK(shard < files_.size());
  if (remote(shard) != nullptr) return std::make_shared<const posix::Fd>();
  if (Handle handle = Known(shard); handle != nullptr) return handle;
  PENSTOCK_ASSIGN_OR_RETURN(Handle handle, OpenAnew(shard));
  PENSTOCK_RETURN_IF_ERROR(CheckUnchanged(handle, shard));
  return handle;
}

// Returns the shard if it is open and unchanged, else null. If its name was removed or given to
// another file, the file that the name leads to now decides.
ShardFiles::Handle ShardFiles::Known(size_t shard) const {
  Handle handle;
  {
    const base::MutexLock lock(mutex_);
    handle = open_[shard];
  }
  if (handle == nullptr) return nullptr;
  struct stat stat {};
  if (::fstat(handle->get(), &stat) == 0 && stat.st_nlink > 0 &&
      files_[shard].tree->StateOf(stat) == states_[shard])
    return handle;
  Forget(shard);
  return nullptr;
}

absl::StatusOr<ShardFiles::Handle> ShardFiles::OpenAnew(size_t shard) const {
  absl::StatusOr<posix::Fd> file = files_[shard].Open();
  if (!file.ok()) return Trouble(file.status());
  Handle handle = std::make_shared<const posix::Fd>(*std::move(file));
  const base::MutexLock lock(mutex_);
  if (open_[shard] == nullptr) {
    if (opened_.size() == most_open_) {
      open_[opened_.front()] = nullptr;
      opened_.pop_front();
    }
    opened_.push_back(shard);
  }
  open_[shard] = handle;
  return handle;
}

void ShardFiles::Forget(size_t shard) const {
  const base::MutexLock lock(mutex_);
  if (open_[shard] == nullptr) return;
  open_[shard] = nullptr;
  opened_.erase(std::find(opened_.begin(), opened_.end(), shard));
}

absl::Status ShardFiles::Read(const Handle& handle, size_t shard, const RemotePiece& piece,
                              uint64_t from, std::span<std::byte> into) const {
  if (remote(shard) != nullptr) return ReadRemote(shard, piece, from, into);
  const absl::Status read = ReadExactly(*handle, path(shard), piece.offset + from, into);
  if (read.ok()) return read;
  PENSTOCK_RETURN_IF_ERROR(CheckUnchanged(handle, shard));
  Forget(shard);
  return Trouble(read);
}

// Only another version in the store, or none, is data loss.
absl::Status ShardFiles::ReadRemote(size_t shard, const RemotePiece& piece, uint64_t from,
                                    std::span<std::byte> into) const {
  absl::Status read = ToReadStatus(remote(shard)->ReadPiece(piece, from, into));
  if (absl::IsDataLoss(read)) changed_ = true;
  return read;
}

// A shard that only lost its name may be absent briefly; the file that the name leads to decides.
absl::Status ShardFiles::CheckUnchanged(const Handle& handle, size_t shard) const {
  if (remote(shard) != nullptr) return absl::OkStatus();
  const absl::StatusOr<FileState> now = files_[shard].StateOf(*handle);
  if (now.ok() && *now == states_[shard]) return absl::OkStatus();
  Forget(shard);
  if (!now.ok()) return Trouble(now.status());
  const absl::StatusOr<posix::Fd> named = files_[shard].Open();
  if (!named.ok()) return Trouble(named.status());
  const absl::StatusOr<FileState> there = files_[shard].StateOf(*named);
  if (!there.ok()) return Trouble(there.status());
  if (*there != states_[shard]) return NoteChange(shard, *there);
  return absl::UnavailableError(absl::StrCat("'", path(shard), "' changed while it was read"));
}

uint64_t ShardFiles::content_pieces() const {
  uint64_t pieces = 0;
  for (const FileState& state : states_) pieces += PiecesOf(state.bytes);
  return pieces;
}

absl::Status ShardFiles::AddContent(uint64_t piece, Sha256& sum) const {
  size_t shard = 0;
  for (; piece >= PiecesOf(states_[shard].bytes); ++shard) piece -= PiecesOf(states_[shard].bytes);
  sum.Add(uint64_t{shard});
  PENSTOCK_ASSIGN_OR_RETURN(const Handle handle, Open(shard));
  const auto read = [&](uint64_t offset, std::span<std::byte> into) {
    if (remote(shard) != nullptr) return remote(shard)->Read(offset, into);
    return Read(handle, shard, {.offset = offset, .bytes = into.size()}, 0, into);
  };
  PENSTOCK_RETURN_IF_ERROR(AddPiece(states_[shard].bytes, piece, read, sum));
  return CheckUnchanged(handle, shard);
}

absl::Status ShardFiles::NoteChange(size_t shard, const FileState& now) const {
  changed_ = true;
  return Changed(path(shard), DescribeChange(states_[shard], now));
}

}  // namespace penstock::source
