#include "server/source/shard_files.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/base/check.h"
#include "server/source/listing.h"

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

bool IsSame(const FileState& a, const FileState& b) {
  return a.bytes == b.bytes && a.mtime_ns == b.mtime_ns;
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
  if (Handle handle = Known(shard); handle != nullptr) return handle;
  PENSTOCK_ASSIGN_OR_RETURN(Handle handle, OpenAnew(shard));
  PENSTOCK_RETURN_IF_ERROR(CheckUnchanged(handle, shard));
  return handle;
}

// One that is open and as it was; null: none. It may have lost its name, to a file that was put in
// its place or to nobody: what the name leads to now counts.
ShardFiles::Handle ShardFiles::Known(size_t shard) const {
  Handle handle;
  {
    const base::MutexLock lock(mutex_);
    handle = open_[shard];
  }
  if (handle == nullptr) return nullptr;
  struct stat stat {};
  if (::fstat(handle->get(), &stat) == 0 && stat.st_nlink > 0 &&
      IsSame(StateOf(stat), states_[shard]))
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

absl::Status ShardFiles::Read(const Handle& handle, size_t shard, uint64_t offset,
                              std::span<std::byte> into) const {
  const absl::Status read = ReadExactly(*handle, path(shard), offset, into);
  if (read.ok()) return read;
  Forget(shard);
  return Trouble(read);
}

absl::Status ShardFiles::CheckUnchanged(const Handle& handle, size_t shard) const {
  const absl::StatusOr<FileState> now = StateOfFile(*handle, path(shard));
  if (now.ok() && IsSame(*now, states_[shard])) return absl::OkStatus();
  Forget(shard);
  if (!now.ok()) return Trouble(now.status());
  if (now->bytes < states_[shard].bytes)
    return absl::UnavailableError(absl::StrCat("'", path(shard), "' was cut off: it has ",
                                               now->bytes, " bytes and had ", states_[shard].bytes,
                                               " when it was indexed; put it back"));
  return absl::UnavailableError(absl::StrCat("'", path(shard),
                                             "' is another file, or was written to, since it was "
                                             "indexed; put it back, or open a new session "
                                             "for what it holds now"));
}

absl::StatusOr<FileState> StateOfFile(const posix::Fd& file, const std::string& path) {
  struct stat stat {};
  if (::fstat(file.get(), &stat) != 0)
    return base::ErrnoStatus(errno, absl::StrCat("'", path, "'"));
  return StateOf(stat);
}

}  // namespace penstock::source
