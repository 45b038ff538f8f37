#include "server/store/cache/cache_survey.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/store/cache/mirror_files.h"

namespace penstock::store {
namespace {

using PiecesByOffset = std::map<uint64_t, KeptPiece>;

absl::StatusOr<posix::Fd> OpenCache(const std::string& path) {
  posix::Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid())
    return base::ErrnoStatus(errno, absl::StrCat("the cache folder '", path, "'"));
  if (OpenIn(folder, kCacheLock, O_RDONLY).valid()) return folder;
  return absl::FailedPreconditionError(
      absl::StrCat("'", path,
                   "' is no folder of a cache: it has no file 'lock'; name the folder in "
                   "PENSTOCK_STORE_CACHE"));
}

PiecesByOffset PiecesIn(const posix::Fd& folder, const std::string& name, uint64_t& object_bytes) {
  PiecesByOffset pieces;
  MirrorFiles(folder, name).Look(object_bytes, [&](const KeptPiece& piece) {
    if (piece.bytes == 0)
      pieces.erase(piece.offset);
    else
      pieces[piece.offset] = piece;
  });
  return pieces;
}

CachedObject Survey(const posix::Fd& folder, const std::string& name) {
  const std::pair<std::string, std::string> url =
      absl::StrSplit(ReadUrl(folder, name), absl::MaxSplits('\n', 1));
  CachedObject object = {.name = name, .url = url.first, .endpoint = url.second};
  const PiecesByOffset pieces = PiecesIn(folder, name, object.object_bytes);
  object.pieces = pieces.size();
  for (const auto& [offset, piece] : pieces) object.kept_bytes += piece.bytes;
  const RoomTaken room = RoomOf(folder, name);
  object.disk_bytes = room.bytes;
  object.used_ns = room.used_ns;
  return object;
}

void SortByUrl(std::vector<CachedObject>& objects) {
  std::sort(objects.begin(), objects.end(), [](const CachedObject& a, const CachedObject& b) {
    return std::tie(a.url, a.endpoint, a.name) < std::tie(b.url, b.endpoint, b.name);
  });
}

// The pieces whose bytes are not what was written. One that made room meanwhile is not damaged.
absl::StatusOr<uint64_t> CountDamaged(const posix::Fd& folder, const std::string& name,
                                      const std::function<bool(uint64_t)>& read) {
  const MirrorFiles files(folder, name);
  std::vector<KeptPiece> bad;
  std::vector<std::byte> bytes;
  uint64_t object_bytes = 0;
  for (const auto& [offset, piece] : PiecesIn(folder, name, object_bytes)) {
    bytes.resize(piece.bytes);
    if (!files.Read(piece, bytes)) bad.push_back(piece);
    if (!read(piece.bytes)) return absl::CancelledError("verifying was cancelled");
  }
  if (bad.empty()) return uint64_t{0};
  const PiecesByOffset now = PiecesIn(folder, name, object_bytes);
  return static_cast<uint64_t>(std::count_if(bad.begin(), bad.end(), [&](const KeptPiece& piece) {
    const auto still = now.find(piece.offset);
    return still != now.end() && still->second.checksum == piece.checksum;
  }));
}

}  // namespace

absl::StatusOr<std::vector<CachedObject>> SurveyCache(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd folder, OpenCache(path));
  std::vector<CachedObject> objects;
  for (const std::string& name : ObjectsIn(folder)) objects.push_back(Survey(folder, name));
  SortByUrl(objects);
  return objects;
}

absl::StatusOr<std::vector<CachedObject>> VerifyCache(
    const std::string& path, const std::function<bool(uint64_t)>& progress) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd folder, OpenCache(path));
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<CachedObject> objects, SurveyCache(path));
  uint64_t done = 0;
  for (CachedObject& object : objects) {
    PENSTOCK_ASSIGN_OR_RETURN(
        object.damaged,
        CountDamaged(folder, object.name, [&](uint64_t bytes) { return progress(done += bytes); }));
  }
  return objects;
}

absl::StatusOr<KnownLines> VerifyAnswers(const std::string& path) {
  PENSTOCK_RETURN_IF_ERROR(OpenCache(path).status());
  return VerifyKnown(absl::StrCat(path, "/", kKnownFile));
}

absl::StatusOr<uint64_t> ClearCache(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd folder, OpenCache(path));
  const posix::Fd lock = OpenIn(folder, kCacheLock, O_RDWR);
  if (!lock.valid() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return absl::FailedPreconditionError(
        absl::StrCat("the cache folder '", path,
                     "' is used by a daemon; end its trainers and wait for it to end, or stop it"));
  uint64_t freed = 0;
  for (const std::string& name : ObjectsIn(folder)) {
    const uint64_t bytes = RoomOf(folder, name).bytes;
    if (!RemoveObject(folder, name))
      return base::ErrnoStatus(errno, absl::StrCat("removing '", path, "/", name, ".data'"));
    freed += bytes;
  }
  if (::unlinkat(folder.get(), kKnownFile, 0) != 0 && errno != ENOENT)
    return base::ErrnoStatus(errno, absl::StrCat("removing '", path, "/", kKnownFile, "'"));
  return freed;
}

}  // namespace penstock::store
