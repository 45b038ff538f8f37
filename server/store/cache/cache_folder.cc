#include "server/store/cache/cache_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace penstock::store {
namespace {

constexpr base::Duration kLookAgainAfter = std::chrono::seconds(10);

bool MakesHoles(const posix::Fd& file) {
  return ::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kBlock) == 0;
}

// Whether the path leads to what was opened.
bool IsSame(const posix::Fd& opened, const std::string& path) {
  struct stat used = {}, there = {};
  return ::fstat(opened.get(), &used) == 0 && ::stat(path.c_str(), &there) == 0 &&
         used.st_dev == there.st_dev && used.st_ino == there.st_ino;
}

}  // namespace

CacheFolder::CacheFolder(std::string path, FolderFiles files, uint64_t most_bytes)
    : path_(std::move(path)),
      folder_(std::move(files.folder)),
      lock_(std::move(files.lock)),
      most_bytes_(most_bytes),
      makes_holes_(MakesHoles(lock_)) {}

absl::StatusOr<CacheFolder::FolderFiles> CacheFolder::OpenFiles(const std::string& path) {
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
  posix::Fd lock = OpenIn(folder, kCacheLock, O_RDWR | O_CREAT);
  if (!lock.valid() && errno == EROFS) lock = OpenIn(folder, kCacheLock, O_RDONLY);
  if (!lock.valid()) return failed("opening its lock");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return absl::FailedPreconditionError(
        absl::StrCat("the cache folder '", path, "' is used by another daemon; give each its own"));
  return FolderFiles{.folder = std::move(folder), .lock = std::move(lock)};
}

absl::StatusOr<std::unique_ptr<CacheFolder>> CacheFolder::Open(const std::string& path,
                                                               uint64_t most_bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(FolderFiles files, OpenFiles(path));
  std::unique_ptr<CacheFolder> made(new CacheFolder(path, std::move(files), most_bytes));
  made->CountFiles();
  return made;
}

// Others use the descriptors meanwhile, so these keep their numbers.
absl::Status CacheFolder::Revive() {
  const base::MutexLock reviving(reviving_);
  if (IsSame(folder_, path_) && IsSame(lock_, absl::StrCat(path_, "/", kCacheLock)))
    return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const FolderFiles files, OpenFiles(path_));
  if (::dup3(files.lock.get(), lock_.get(), O_CLOEXEC) < 0 ||
      ::dup3(files.folder.get(), folder_.get(), O_CLOEXEC) < 0)
    return base::ErrnoStatus(errno, absl::StrCat("the cache folder '", path_, "'"));
  CountFiles();
  return absl::OkStatus();
}

void CacheFolder::CountFiles() {
  uint64_t bytes = 0;
  for (const std::string& name : ObjectsIn(folder_)) bytes += RoomOf(folder_, name).bytes;
  const base::MutexLock lock(mutex_);
  counts_.bytes = bytes;
}

std::shared_ptr<Mirror> CacheFolder::OpenMirror(const ObjectId& id, uint64_t object_bytes,
                                                const std::string& url, absl::Status* trouble) {
  const std::string name =
      absl::StrCat(absl::Hex(id[0], absl::kZeroPad16), absl::Hex(id[1], absl::kZeroPad16));
  const base::MutexLock opening(opening_);
  {
    const base::MutexLock lock(mutex_);
    if (std::shared_ptr<Mirror> mirror = mirrors_[name].lock()) return mirror;
  }
  std::shared_ptr<Mirror> made(new Mirror(*this, name, id, object_bytes));
  const absl::Status loaded = made->Load();
  if (trouble != nullptr) *trouble = loaded;
  made->files_.NoteUrl(url);
  const base::MutexLock lock(mutex_);
  absl::erase_if(numbered_, [](const auto& each) { return each.second.expired(); });
  made->number_ = numbers_++;
  numbered_[made->number_] = made;
  mirrors_[name] = made;
  return made;
}

CacheFolder::Counts CacheFolder::counts() const {
  const base::MutexLock lock(mutex_);
  return counts_;
}

// ---- Making room ----

std::optional<CacheFolder::Victims> CacheFolder::Reserve(Mirror& mirror, const KeptPiece& piece) {
  for (uint64_t takes = 0;;) {
    {
      const base::MutexLock lock(mutex_);
      const auto [kept, is_new] = mirror.kept_.try_emplace(
          piece.offset, Mirror::Kept{.bytes = piece.bytes, .checksum = piece.checksum});
      if (!is_new) return std::nullopt;
      takes = OwnBytes(mirror, piece.offset) + kRecordBytes;
      const auto expected = mirror.expected_.find(piece.offset);
      const UseTime next_use = expected == mirror.expected_.end() ? kUnknownUse : expected->second;
      const bool fits = takes <= most_bytes_ && counts_.bytes <= most_bytes_ - takes;
      const bool may_look = takes <= most_bytes_ && base::Now() >= look_again_;
      std::optional<Victims> victims;
      if (fits) victims.emplace();
      if (!fits && !may_look && takes <= most_bytes_)
        victims = MakeRoom(counts_.bytes - (most_bytes_ - takes), next_use);
      if (victims) {
        counts_.bytes += takes;
        return victims;
      }
      mirror.kept_.erase(piece.offset);
      if (!may_look) {
        mirror.expected_.erase(piece.offset);
        ++counts_.no_room;
        return std::nullopt;
      }
    }
    if (RemoveOldest(takes)) continue;
    const base::MutexLock lock(mutex_);
    look_again_ = base::Now() + kLookAgainAfter;
  }
}

std::optional<CacheFolder::Victims> CacheFolder::MakeRoom(uint64_t bytes, UseTime next_use) {
  if (next_use == kUnknownUse || !makes_holes_) return std::nullopt;
  absl::flat_hash_set<std::pair<uint32_t, uint64_t>> seen;  // one may have several entries
  const auto look = [&](const UseCalendar::Entry& entry, uint64_t day) PENSTOCK_REQUIRES(mutex_) {
    const std::shared_ptr<Mirror> mirror = numbered_[entry.object].lock();
    if (mirror == nullptr) return UseCalendar::Found{};
    const auto kept = mirror->kept_.find(entry.offset);
    const bool counts = kept != mirror->kept_.end() && kept->second.is_whole &&
                        kept->second.next_use != kUnknownUse &&
                        UseCalendar::DayOf(kept->second.next_use) == day;
    if (!counts || !seen.emplace(entry.object, entry.offset).second) return UseCalendar::Found{};
    return UseCalendar::Found{.bytes = OwnBytes(*mirror, entry.offset), .counts = true};
  };
  Victims victims;
  for (const UseCalendar::Entry& entry : calendar_.Take(bytes, next_use, Overdue(), look)) {
    std::shared_ptr<Mirror> mirror = numbered_[entry.object].lock();
    const uint64_t size = mirror->kept_.at(entry.offset).bytes;
    Erase(*mirror, entry.offset);
    victims.push_back({.mirror = std::move(mirror), .offset = entry.offset, .bytes = size});
    ++counts_.evicted;
  }
  if (victims.empty()) return std::nullopt;
  return victims;
}

// The bytes that the disk has for this piece alone. **Requires**: it is in `kept_`.
uint64_t CacheFolder::OwnBytes(const Mirror& mirror, uint64_t offset) const {
  const auto kept = mirror.kept_.find(offset);
  const auto after = std::next(kept);
  const auto before = kept == mirror.kept_.begin() ? mirror.kept_.end() : std::prev(kept);
  return OwnBlocks({.begin = offset, .end = offset + kept->second.bytes},
                   before == mirror.kept_.end() ? 0 : before->first + before->second.bytes,
                   after == mirror.kept_.end() ? UINT64_MAX : after->first)
      .bytes();
}

void CacheFolder::Erase(Mirror& mirror, uint64_t offset) {
  counts_.bytes -= std::min(OwnBytes(mirror, offset), counts_.bytes);
  mirror.kept_.erase(offset);
}

void CacheFolder::SetUse(Mirror& mirror, uint64_t offset, UseTime next_use) {
  if (next_use == kUnknownUse) return;
  const auto kept = mirror.kept_.find(offset);
  if (kept == mirror.kept_.end() || !kept->second.is_whole) return;
  const bool is_noted = kept->second.next_use != kUnknownUse &&
                        UseCalendar::DayOf(kept->second.next_use) == UseCalendar::DayOf(next_use);
  kept->second.next_use = next_use;
  if (!is_noted) calendar_.Add(next_use, {.object = mirror.number_, .offset = offset});
}

void CacheFolder::NoteTime(const PieceUses& uses) {
  now_ = std::max(now_, uses.now);
  if (uses.next != kUnknownUse && uses.next != kNeverUsed && uses.next > uses.now)
    longest_ = std::max(longest_, uses.next - uses.now);
}

// With several feeds, times are estimates.
UseTime CacheFolder::Overdue() const { return now_ - std::min(now_, longest_ / 4); }

UseTime CacheFolder::TakeExpected(Mirror& mirror, uint64_t offset) {
  const auto expected = mirror.expected_.find(offset);
  if (expected == mirror.expected_.end()) return kUnknownUse;
  const UseTime next_use = expected->second;
  mirror.expected_.erase(expected);
  return next_use;
}

bool CacheFolder::RemoveOldest(uint64_t for_bytes) {
  const base::MutexLock opening(opening_);  // so none of them is opened meanwhile
  {
    const base::MutexLock lock(mutex_);
    if (counts_.bytes <= most_bytes_ - for_bytes) return true;  // another thread has removed one
  }
  const auto is_open = [&](const std::string& name) {
    const base::MutexLock lock(mutex_);
    const auto mirror = mirrors_.find(name);
    return mirror != mirrors_.end() && !mirror->second.expired();
  };
  std::string oldest;
  RoomTaken room;
  for (const std::string& name : ObjectsIn(folder_)) {
    if (is_open(name)) continue;
    const RoomTaken taken = RoomOf(folder_, name);
    if (!oldest.empty() && taken.used_ns >= room.used_ns) continue;
    oldest = name;
    room = taken;
  }
  if (oldest.empty() || !RemoveObject(folder_, oldest)) return false;
  const base::MutexLock lock(mutex_);
  mirrors_.erase(oldest);
  counts_.bytes -= std::min(room.bytes, counts_.bytes);
  ++counts_.removed;
  return true;
}

}  // namespace penstock::store
