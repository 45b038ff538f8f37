#include "server/store/cache/mirror_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/hash.h"

namespace penstock::store {
namespace {

constexpr char kData[] = ".data", kIndex[] = ".index", kNewIndex[] = ".index.new", kUrl[] = ".url";
constexpr size_t kLongestUrlText = 8192;
constexpr uint64_t kMagic = 0x31524f5252494d50;  // "PMIRROR1"

struct IndexHeader {
  uint64_t magic = kMagic;
  ObjectId id = {};
  uint64_t object_bytes = 0;
  bool operator==(const IndexHeader&) const = default;
};

struct IndexRecord {
  KeptPiece piece;
  uint64_t check = 0;  // of the piece; a record that was not written whole has another
};
static_assert(sizeof(IndexRecord) == kRecordBytes);

template <typename T>
std::span<const std::byte> AsBytes(const T& value) {
  return {reinterpret_cast<const std::byte*>(&value), sizeof value};
}
template <typename T>
std::span<std::byte> AsWritable(T& value) {
  return {reinterpret_cast<std::byte*>(&value), sizeof value};
}

IndexRecord MakeRecord(const KeptPiece& piece) {
  return {.piece = piece, .check = base::Hash(AsBytes(piece))};
}

absl::Status Trouble(const std::string& file) {
  return base::ErrnoStatus(errno, absl::StrCat("'", file, "'"));
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
    if (put == 0) errno = ENOSPC;
    if (put <= 0) return false;
    from = from.subspan(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
  return true;
}

// Calls `each` for the records that are whole; returns where they end.
uint64_t ForEachRecord(const posix::Fd& index, uint64_t object_bytes,
                       const std::function<void(const KeptPiece&)>& each) {
  uint64_t end = sizeof(IndexHeader);
  std::vector<IndexRecord> some(4096);
  for (;;) {
    const ssize_t got = ::pread(index.get(), some.data(), some.size() * sizeof(IndexRecord),
                                static_cast<off_t>(end));
    if (got < 0 && errno == EINTR) continue;
    const size_t whole = got <= 0 ? 0 : static_cast<size_t>(got) / sizeof(IndexRecord);
    for (size_t i = 0; i < whole; ++i) {
      const KeptPiece& piece = some[i].piece;
      const bool fits = piece.offset <= object_bytes && piece.bytes <= object_bytes - piece.offset;
      if (some[i].check != base::Hash(AsBytes(piece)) || !fits) return end;
      each(piece);
      end += sizeof(IndexRecord);
    }
    if (whole == 0) return end;
  }
}

struct FileTaken {
  uint64_t bytes = 0;
  int64_t changed_ns = 0;
};
FileTaken TakenBy(const posix::Fd& folder, const std::string& name) {
  struct stat stat {};
  if (::fstatat(folder.get(), name.c_str(), &stat, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return {static_cast<uint64_t>(stat.st_blocks) * 512,
          stat.st_mtim.tv_sec * int64_t{1'000'000'000} + stat.st_mtim.tv_nsec};
}

}  // namespace

posix::Fd OpenIn(const posix::Fd& folder, const std::string& name, int flags) {
  return posix::Fd(
      ::openat(folder.get(), name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
}

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

RoomTaken RoomOf(const posix::Fd& folder, const std::string& object) {
  const FileTaken index = TakenBy(folder, object + kIndex);
  return {.bytes = TakenBy(folder, object + kData).bytes + index.bytes,
          .used_ns = index.changed_ns};
}

std::string ReadUrl(const posix::Fd& folder, const std::string& object) {
  const posix::Fd file = OpenIn(folder, object + kUrl, O_RDONLY);
  std::string url(kLongestUrlText, '\0');
  const ssize_t got = file.valid() ? ::pread(file.get(), url.data(), url.size(), 0) : 0;
  url.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return url;
}

bool RemoveObject(const posix::Fd& folder, const std::string& object) {
  for (const char* const ending : {kUrl, kNewIndex, kIndex, kData})
    if (::unlinkat(folder.get(), (object + ending).c_str(), 0) != 0 && errno != ENOENT)
      return false;
  return true;
}

absl::Status MirrorFiles::Load(const ObjectId& id, uint64_t object_bytes,
                               const std::function<void(const KeptPiece&)>& each) {
  const IndexHeader header = {.id = id, .object_bytes = object_bytes};
  const posix::Fd index = OpenIn(folder_, name_ + kIndex, O_RDWR | O_CREAT);
  if (!index.valid() && errno == EROFS) return LoadReadOnly(id, object_bytes, each);
  if (!index.valid()) return Trouble(name_ + kIndex);
  const posix::Fd data = OpenIn(folder_, name_ + kData, O_RDWR | O_CREAT);
  if (!data.valid()) return Trouble(name_ + kData);
  struct stat stat {};
  if (::fstat(data.get(), &stat) != 0) return Trouble(name_ + kData);
  if (!S_ISREG(stat.st_mode))
    return absl::FailedPreconditionError(absl::StrCat("'", name_, kData, "' is no usual file"));
  records_ = 0;
  is_torn_ = is_read_only_ = false;
  IndexHeader there;
  if (!ReadWhole(index, 0, AsWritable(there)) || there != header) {
    if (::ftruncate(index.get(), 0) != 0 || ::ftruncate(data.get(), 0) != 0 ||
        !WriteWhole(index, 0, AsBytes(header)))
      return Trouble(name_ + kIndex);
    stamp_ = MakeStamp(index);
    return absl::OkStatus();
  }
  const uint64_t end = ForEachRecord(index, object_bytes, each);
  records_ = (end - sizeof header) / sizeof(IndexRecord);
  // What follows was not written whole. New records come in its place.
  if (::ftruncate(index.get(), static_cast<off_t>(end)) != 0) return Trouble(name_ + kIndex);
  (void)::futimens(index.get(), nullptr);  // it was used now
  stamp_ = MakeStamp(index);
  return absl::OkStatus();
}

// Nothing is written until the file system takes it again.
absl::Status MirrorFiles::LoadReadOnly(const ObjectId& id, uint64_t object_bytes,
                                       const std::function<void(const KeptPiece&)>& each) {
  is_read_only_ = true;
  const IndexHeader header = {.id = id, .object_bytes = object_bytes};
  const posix::Fd index = OpenIn(folder_, name_ + kIndex, O_RDONLY);
  IndexHeader there;
  if (!index.valid() || !ReadWhole(index, 0, AsWritable(there)) || there != header)
    return absl::OkStatus();
  records_ = (ForEachRecord(index, object_bytes, each) - sizeof header) / sizeof(IndexRecord);
  stamp_ = MakeStamp(index);
  is_torn_ = true;  // perhaps; then it is cut off before anything is written
  return absl::OkStatus();
}

MirrorFiles::IndexStamp MirrorFiles::MakeStamp(const posix::Fd& index) {
  struct stat stat {};
  if (::fstat(index.get(), &stat) != 0) return {};
  return {.inode = stat.st_ino,
          .bytes = static_cast<uint64_t>(stat.st_size),
          .changed_ns = stat.st_mtim.tv_sec * int64_t{1'000'000'000} + stat.st_mtim.tv_nsec};
}

bool MirrorFiles::IsIndexMine() const {
  const posix::Fd index = OpenIn(folder_, name_ + kIndex, O_RDONLY);
  return index.valid() && MakeStamp(index) == stamp_;
}

std::optional<uint64_t> MirrorFiles::DataBytes() const {
  struct stat stat {};
  if (::fstatat(folder_.get(), (name_ + kData).c_str(), &stat, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(stat.st_mode))
    return std::nullopt;
  return static_cast<uint64_t>(stat.st_size);
}

void MirrorFiles::NoteUrl(const std::string& url) const {
  if (url.empty() || url.size() > kLongestUrlText || ReadUrl(folder_, name_) == url) return;
  const posix::Fd file = OpenIn(folder_, name_ + kUrl, O_WRONLY | O_CREAT | O_TRUNC);
  if (file.valid())
    (void)WriteWhole(file, 0, {reinterpret_cast<const std::byte*>(url.data()), url.size()});
}

bool MirrorFiles::Look(uint64_t& object_bytes,
                       const std::function<void(const KeptPiece&)>& each) const {
  const posix::Fd index = OpenIn(folder_, name_ + kIndex, O_RDONLY);
  IndexHeader there;
  if (!index.valid() || !ReadWhole(index, 0, AsWritable(there)) || there.magic != kMagic)
    return false;
  object_bytes = there.object_bytes;
  ForEachRecord(index, object_bytes, each);
  return true;
}

bool MirrorFiles::Read(const KeptPiece& piece, std::span<std::byte> into) const {
  const posix::Fd data = OpenIn(folder_, name_ + kData, O_RDONLY);
  return data.valid() && ReadWhole(data, piece.offset, into) && base::Hash(into) == piece.checksum;
}

absl::Status MirrorFiles::Write(const KeptPiece& piece, std::span<const std::byte> bytes) {
  if (is_read_only_ && !OpenIn(folder_, name_ + kIndex, O_WRONLY | O_CREAT).valid())
    return Trouble(name_ + kIndex);
  is_read_only_ = false;
  if (is_torn_) PENSTOCK_RETURN_IF_ERROR(MendEnd());
  const posix::Fd data = OpenIn(folder_, name_ + kData, O_WRONLY);
  if (!data.valid() || !WriteWhole(data, piece.offset, bytes)) return Trouble(name_ + kData);
  return Append(piece);
}

// Cuts off what was not written whole.
absl::Status MirrorFiles::MendEnd() {
  const posix::Fd index = OpenIn(folder_, name_ + kIndex, O_WRONLY);
  const uint64_t end = sizeof(IndexHeader) + records_ * sizeof(IndexRecord);
  if (!index.valid() || ::ftruncate(index.get(), static_cast<off_t>(end)) != 0)
    return Trouble(name_ + kIndex);
  stamp_ = MakeStamp(index);
  is_torn_ = false;
  return absl::OkStatus();
}

bool MirrorFiles::Punch(const FileSpan& blocks) {
  if (blocks.bytes() == 0) return true;
  const posix::Fd data = OpenIn(folder_, name_ + kData, O_WRONLY);
  if (!data.valid()) return errno == ENOENT;  // there is nothing that takes room
  return ::fallocate(data.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     static_cast<off_t>(blocks.begin), static_cast<off_t>(blocks.bytes())) == 0;
}

void MirrorFiles::NoteGone(uint64_t offset) {
  if (!is_torn_) Append({.offset = offset}).IgnoreError();
}

absl::Status MirrorFiles::Append(const KeptPiece& piece) {
  const IndexRecord record = MakeRecord(piece);
  const posix::Fd index = OpenIn(folder_, name_ + kIndex, O_WRONLY | O_APPEND);
  if (!index.valid()) return Trouble(name_ + kIndex);
  // Whoever changed it may have left anything: such an index is written anew.
  if (MakeStamp(index) != stamp_)
    return absl::DataLossError(absl::StrCat("'", name_, kIndex, "' was changed by somebody else"));
  const ssize_t put = ::write(index.get(), &record, sizeof record);
  if (put == sizeof record) {
    ++records_;
    stamp_ = MakeStamp(index);
    return absl::OkStatus();
  }
  const absl::Status trouble =
      put < 0 ? Trouble(name_ + kIndex) : absl::ResourceExhaustedError("the disk is full");
  if (put > 0) is_torn_ = true;
  return trouble;
}

bool MirrorFiles::Compact(const ObjectId& id, uint64_t object_bytes,
                          const std::vector<KeptPiece>& pieces) {
  std::vector<IndexRecord> records;
  records.reserve(pieces.size());
  for (const KeptPiece& piece : pieces) records.push_back(MakeRecord(piece));
  const IndexHeader header = {.id = id, .object_bytes = object_bytes};
  const posix::Fd index = OpenIn(folder_, name_ + kNewIndex, O_WRONLY | O_CREAT | O_TRUNC);
  const bool written =
      index.valid() && WriteWhole(index, 0, AsBytes(header)) &&
      WriteWhole(index, sizeof header, std::as_bytes(std::span<const IndexRecord>(records))) &&
      ::renameat(folder_.get(), (name_ + kNewIndex).c_str(), folder_.get(),
                 (name_ + kIndex).c_str()) == 0;
  if (!written) return false;
  records_ = records.size();
  stamp_ = MakeStamp(index);
  is_torn_ = false;
  return true;
}

}  // namespace penstock::store
