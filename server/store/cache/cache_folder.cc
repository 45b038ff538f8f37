#include "server/store/cache/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/hash.h"

namespace penstock::store {
namespace {

constexpr base::Duration kLookAgainAfter = std::chrono::seconds(10);
constexpr char kData[] = ".data", kIndex[] = ".index";
constexpr uint64_t kMagic = 0x31524f5252494d50;  // "PMIRROR1"

struct IndexHeader {
  uint64_t magic = kMagic;
  ObjectId id = {};
  uint64_t object_bytes = 0;
  bool operator==(const IndexHeader&) const = default;
};

struct IndexRecord {
  uint64_t offset = 0, bytes = 0, checksum = 0;
  uint64_t check = 0;  // of the three; a record that was not written whole has another
};

template <typename T>
std::span<const std::byte> BytesOf(const T& value, size_t bytes = sizeof(T)) {
  return {reinterpret_cast<const std::byte*>(&value), bytes};
}

uint64_t CheckOf(const IndexRecord& record) {
  return base::Hash(BytesOf(record, offsetof(IndexRecord, check)));
}

posix::Fd OpenIn(const posix::Fd& folder, const std::string& name, int flags) {
  return posix::Fd(
      ::openat(folder.get(), name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
}

bool ReadWhole(const posix::Fd& file, uint64_t offset, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = ::pread(file.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into = into.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return true;
}

bool WriteWhole(const posix::Fd& file, uint64_t offset, std::span<const std::byte> from) {
  while (!from.empty()) {
    const ssize_t put = ::pwrite(file.get(), from.data(), from.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    from = from.subspan(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
  return true;
}

// The bytes that a file takes, and when it was last used.
struct Taken {
  uint64_t bytes = 0;
  int64_t used_ns = 0;
};
Taken TakenBy(const posix::Fd& folder, const std::string& name) {
  struct stat stat {};
  if (::fstatat(folder.get(), name.c_str(), &stat, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return {static_cast<uint64_t>(stat.st_blocks) * 512,
          stat.st_mtim.tv_sec * int64_t{1'000'000'000} + stat.st_mtim.tv_nsec};
}

// The names without their ending of all objects in the folder.
std::vector<std::string> ObjectsIn(const posix::Fd& folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = copy < 0 ? nullptr : ::fdopendir(copy);
  if (entries == nullptr) return names;
  while (const dirent* const entry = ::readdir(entries)) {
    const absl::string_view name = entry->d_name;
    if (absl::EndsWith(name, kData))
      names.emplace_back(name.substr(0, name.size() - strlen(kData)));
  }
  ::closedir(entries);
  return names;
}

}  // namespace

// ---- One object ----

absl::Status Mirror::Load(const ObjectId& id, uint64_t object_bytes) {
  const base::MutexLock lock(mutex_);
  const IndexHeader header = {.id = id, .object_bytes = object_bytes};
  const posix::Fd index = OpenIn(folder_.folder_, name_ + kIndex, O_RDWR | O_CREAT);
  const posix::Fd data = OpenIn(folder_.folder_, name_ + kData, O_RDWR | O_CREAT);
  if (!index.valid() || !data.valid()) return base::ErrnoStatus(errno, "opening a mirror");
  IndexHeader there;
  uint64_t end = sizeof there;
  if (!ReadWhole(index, 0, {reinterpret_cast<std::byte*>(&there), sizeof there}) ||
      there != header) {
    if (::ftruncate(index.get(), 0) != 0 || ::ftruncate(data.get(), 0) != 0 ||
        !WriteWhole(index, 0, BytesOf(header)))
      return base::ErrnoStatus(errno, "beginning a mirror");
    return absl::OkStatus();
  }
  for (IndexRecord record;
       ReadWhole(index, end, {reinterpret_cast<std::byte*>(&record), sizeof record});
       end += sizeof record) {
    const bool fits = record.offset <= object_bytes && record.bytes <= object_bytes - record.offset;
    if (record.check != CheckOf(record) || !fits) break;
    kept_[record.offset] = {.bytes = record.bytes, .checksum = record.checksum, .is_whole = true};
  }
  // What follows was not written whole. New records come in its place.
  if (::ftruncate(index.get(), static_cast<off_t>(end)) != 0)
    return base::ErrnoStatus(errno, "shortening a mirror's index");
  (void)::futimens(index.get(), nullptr);  // it was used now
  return absl::OkStatus();
}

bool Mirror::Has(uint64_t offset, uint64_t bytes) const {
  const base::MutexLock lock(mutex_);
  const auto kept = kept_.find(offset);
  return kept != kept_.end() && kept->second.is_whole && kept->second.bytes == bytes;
}

bool Mirror::Read(uint64_t offset, std::span<std::byte> into) {
  Kept kept;
  {
    const base::MutexLock lock(mutex_);
    const auto found = kept_.find(offset);
    if (found == kept_.end() || !found->second.is_whole || found->second.bytes != into.size())
      return false;
    kept = found->second;
  }
  const posix::Fd data = OpenIn(folder_.folder_, name_ + kData, O_RDONLY);
  const bool is_intact =
      data.valid() && ReadWhole(data, offset, into) && base::Hash(into) == kept.checksum;
  if (!is_intact) {
    const base::MutexLock lock(mutex_);
    kept_.erase(offset);
  }
  const base::MutexLock lock(folder_.mutex_);
  ++(is_intact ? folder_.counts_.found : folder_.counts_.damaged);
  return is_intact;
}

void Mirror::Keep(uint64_t offset, std::span<const std::byte> piece) {
  const uint64_t checksum = base::Hash(piece);
  {
    const base::MutexLock lock(mutex_);
    if (!kept_.try_emplace(offset, Kept{.bytes = piece.size(), .checksum = checksum}).second)
      return;
  }
  const uint64_t takes = piece.size() + sizeof(IndexRecord);
  const bool has_room = folder_.Reserve(takes);
  const bool written = has_room && Write(offset, piece, checksum);
  if (has_room && !written) folder_.GiveBack(takes);
  {
    const base::MutexLock lock(mutex_);
    if (written)
      kept_[offset].is_whole = true;
    else
      kept_.erase(offset);
  }
  const base::MutexLock lock(folder_.mutex_);
  ++(written ? folder_.counts_.kept : folder_.counts_.no_room);
}

// The bytes come before their record, so that a record never stands for bytes that nobody wrote.
bool Mirror::Write(uint64_t offset, std::span<const std::byte> piece, uint64_t checksum) {
  if (is_torn_) return false;
  const posix::Fd data = OpenIn(folder_.folder_, name_ + kData, O_WRONLY);
  if (!data.valid() || !WriteWhole(data, offset, piece)) return false;
  IndexRecord record = {.offset = offset, .bytes = piece.size(), .checksum = checksum};
  record.check = CheckOf(record);
  const posix::Fd index = OpenIn(folder_.folder_, name_ + kIndex, O_WRONLY | O_APPEND);
  if (!index.valid()) return false;
  const ssize_t put = ::write(index.get(), &record, sizeof record);
  if (put > 0 && put != sizeof record) is_torn_ = true;
  return put == sizeof record;
}

// ---- The folder ----

absl::StatusOr<std::unique_ptr<CacheFolder>> CacheFolder::Open(const std::string& path,
                                                               uint64_t most_bytes) {
  const auto failed = [&](absl::string_view what) {
    return base::ErrnoStatus(errno, absl::StrCat("the cache folder '", path, "': ", what));
  };
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failed("making it");
  posix::Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return failed("opening it");
  struct stat stat {};
  if (::fstat(folder.get(), &stat) != 0) return failed("looking at it");
  if (stat.st_uid != ::geteuid() || (stat.st_mode & 077) != 0)
    return absl::FailedPreconditionError(absl::StrCat(
        "the cache folder '", path,
        "' must be this user's, and closed to all others; run chmod 700, or name another one"));
  posix::Fd lock = OpenIn(folder, "lock", O_RDWR | O_CREAT);
  if (!lock.valid()) return failed("opening its lock");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return absl::FailedPreconditionError(
        absl::StrCat("the cache folder '", path, "' is used by another daemon; give each its own"));
  std::unique_ptr<CacheFolder> made(
      new CacheFolder(std::move(folder), std::move(lock), most_bytes));
  made->CountFiles();
  return made;
}

void CacheFolder::CountFiles() {
  uint64_t bytes = 0;
  for (const std::string& name : ObjectsIn(folder_))
    bytes += TakenBy(folder_, name + kData).bytes + TakenBy(folder_, name + kIndex).bytes;
  const base::MutexLock lock(mutex_);
  counts_.bytes = bytes;
}

std::shared_ptr<Mirror> CacheFolder::OpenMirror(const ObjectId& id, uint64_t object_bytes) {
  const std::string name =
      absl::StrCat(absl::Hex(id[0], absl::kZeroPad16), absl::Hex(id[1], absl::kZeroPad16));
  const base::MutexLock lock(mutex_);
  std::weak_ptr<Mirror>& known = mirrors_[name];
  if (std::shared_ptr<Mirror> mirror = known.lock()) return mirror;
  std::shared_ptr<Mirror> made(new Mirror(*this, name));
  if (!made->Load(id, object_bytes).ok()) return nullptr;
  known = made;
  return made;
}

CacheFolder::Counts CacheFolder::counts() const {
  const base::MutexLock lock(mutex_);
  return counts_;
}

bool CacheFolder::Reserve(uint64_t bytes) {
  const base::MutexLock lock(mutex_);
  if (bytes > most_bytes_) return false;
  while (counts_.bytes > most_bytes_ - bytes) {
    if (base::Now() < full_until_) return false;
    if (!RemoveOldest()) {
      full_until_ = base::Now() + kLookAgainAfter;
      return false;
    }
  }
  counts_.bytes += bytes;
  return true;
}

void CacheFolder::GiveBack(uint64_t bytes) {
  const base::MutexLock lock(mutex_);
  counts_.bytes -= std::min(bytes, counts_.bytes);
}

bool CacheFolder::RemoveOldest() {
  std::string oldest;
  int64_t oldest_used = 0;
  for (const std::string& name : ObjectsIn(folder_)) {
    const auto mirror = mirrors_.find(name);
    if (mirror != mirrors_.end() && !mirror->second.expired()) continue;
    const int64_t used = TakenBy(folder_, name + kIndex).used_ns;
    if (oldest.empty() || used < oldest_used) {
      oldest = name;
      oldest_used = used;
    }
  }
  if (oldest.empty()) return false;
  uint64_t freed = 0;
  for (const char* const ending : {kIndex, kData}) {
    freed += TakenBy(folder_, oldest + ending).bytes;
    if (::unlinkat(folder_.get(), (oldest + ending).c_str(), 0) != 0 && errno != ENOENT)
      return false;
  }
  mirrors_.erase(oldest);
  counts_.bytes -= std::min(freed, counts_.bytes);
  ++counts_.removed;
  return true;
}

}  // namespace penstock::store
