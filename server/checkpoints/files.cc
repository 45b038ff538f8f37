#include "server/checkpoints/files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "common/telemetry/log.h"

namespace penstock::checkpoints {
namespace {

constexpr char kSuffix[] = ".checkpoints";
constexpr uint32_t kVersion = 1;

struct FileHeader {
  char magic[12] = {'c', 'h', 'e', 'c', 'k', 'p', 'o', 'i', 'n', 't', 's', '\n'};
  uint32_t version = kVersion;
  uint64_t dataset = 0, samples = 0;
  uint32_t user = 0, room = 0;
  uint64_t block_samples = kBlockSamples;
};
static_assert(sizeof(FileHeader) == 48);

constexpr uint64_t kFirstBlock = 4096;
constexpr uint64_t kBlocksBetweenLooks = 256;  // at the space that is left

FileHeader MakeHeader(const ShelfPlace& place) {
  FileHeader header;
  header.dataset = place.key.dataset;
  header.samples = place.key.samples;
  header.user = place.key.user;
  header.room = place.room;
  return header;
}

uint64_t OffsetOf(const ShelfPlace& place, uint64_t number) {
  return kFirstBlock + number * BlockBytes(place.room);
}

// Returns how many bytes there were.
absl::StatusOr<size_t> ReadAt(const posix::Fd& file, uint64_t offset, std::span<std::byte> into) {
  size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::pread(file.get(), into.data() + done, into.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::ErrnoStatus(errno, "reading");
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

absl::Status WriteAt(const posix::Fd& file, uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put =
        ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return base::ErrnoStatus(errno, "writing");
    offset += static_cast<uint64_t>(put);
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

// Whatever is at this path, opening it does not wait. **Errors**: it is not a file.
absl::StatusOr<posix::Fd> OpenFile(const std::string& path, int flags) {
  posix::Fd file(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!file.valid()) return base::ErrnoStatus(errno, path);
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return base::ErrnoStatus(errno, path);
  if (!S_ISREG(facts.st_mode)) return absl::FailedPreconditionError(path + " is not a file");
  return file;
}

bool HasHeader(const posix::Fd& file, const FileHeader& wanted) {
  FileHeader header;
  const auto got = ReadAt(file, 0, std::as_writable_bytes(std::span(&header, 1)));
  return got.ok() && *got == sizeof header && std::memcmp(&header, &wanted, sizeof header) == 0;
}

}  // namespace

CheckpointFiles::CheckpointFiles(std::shared_ptr<CheckpointStore> store, Options options)
    : store_(std::move(store)), options_(std::move(options)) {
  store_->BeWritten(true);
  thread_ = std::thread([this] { Serve(); });
}

CheckpointFiles::~CheckpointFiles() {
  store_->EndWaiting();
  thread_.join();
}

void CheckpointFiles::Serve() {
  ::pthread_setname_np(::pthread_self(), "checkpoints");
  if (const absl::Status ready = Prepare(); !ready.ok()) {
    store_->BeWritten(false);
    return Say(ready);
  }
  base::TimePoint next = base::Now() + options_.write_every;
  while (!store_->is_ended()) {
    if (const auto place = store_->AwaitOpened(std::max(base::Duration(0), next - base::Now())))
      Read(*place);
    if (base::Now() < next) continue;
    WriteChanged();
    next = base::Now() + options_.write_every;
  }
  WriteChanged();
}

// A tmpfs would only hold in memory what is in memory already.
absl::Status CheckpointFiles::Prepare() {
  std::error_code error;
  std::filesystem::create_directories(options_.folder, error);
  if (error) return absl::UnavailableError(absl::StrCat("creating it: ", error.message()));
  (void)::chmod(options_.folder.c_str(), 0700);
  struct statfs system {};
  if (::statfs(options_.folder.c_str(), &system) != 0) return base::ErrnoStatus(errno, "statfs");
  if (system.f_type == TMPFS_MAGIC && !options_.even_in_memory)
    return absl::FailedPreconditionError("it is in memory (a tmpfs)");
  RemoveOldest();
  return absl::OkStatus();
}

std::string CheckpointFiles::PathOf(const ShelfPlace& place) const {
  return absl::StrCat(options_.folder, "/", place.key.user, "-", absl::Hex(place.key.dataset), "-",
                      place.key.samples, "-", place.room, kSuffix);
}

absl::StatusOr<posix::Fd> CheckpointFiles::OpenFor(const ShelfPlace& place) {
  const std::string path = PathOf(place);
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd file, OpenFile(path, O_RDWR | O_CREAT));
  in_use_.insert(path);
  const FileHeader header = MakeHeader(place);
  if (HasHeader(file, header)) return file;
  if (::ftruncate(file.get(), 0) != 0) return base::ErrnoStatus(errno, path);
  PENSTOCK_RETURN_IF_ERROR(WriteAt(file, 0, std::as_bytes(std::span(&header, 1))));
  return file;
}

// Holes in the file read as zeros: samples without checkpoints.
void CheckpointFiles::Read(const ShelfPlace& place) {
  const absl::StatusOr<posix::Fd> opened = OpenFile(PathOf(place), O_RDONLY);
  if (!opened.ok() || !HasHeader(*opened, MakeHeader(place))) return;
  const posix::Fd& file = *opened;
  in_use_.insert(PathOf(place));
  (void)::futimens(file.get(), nullptr);  // used now, so not the oldest
  std::vector<std::byte> block(BlockBytes(place.room));
  const uint64_t blocks = (place.key.samples + kBlockSamples - 1) / kBlockSamples;
  uint64_t at = 0;
  while (!store_->is_ended()) {
    const off_t data = ::lseek(file.get(), static_cast<off_t>(OffsetOf(place, at)), SEEK_DATA);
    if (data < 0) return;
    at = std::max(at, (static_cast<uint64_t>(data) - kFirstBlock) / block.size());
    if (at >= blocks) return;
    const auto got = ReadAt(file, OffsetOf(place, at), block);
    if (!got.ok()) return Say(got.status());
    if (*got < block.size() || !store_->Fill(place, at, block)) return;
    ++at;
  }
}

void CheckpointFiles::WriteChanged() {
  bool wrote = false;
  for (uint64_t i = 0; const auto block = store_->TakeChanged(); ++i) {
    absl::Status written = i % kBlocksBetweenLooks == 0 ? LookForSpace() : absl::OkStatus();
    if (written.ok()) written = Write(*block);
    if (!written.ok()) {
      store_->PutBack(*block);
      open_path_.clear();
      return Say(written);
    }
    wrote = true;
  }
  open_path_.clear();
  open_ = posix::Fd();
  if (wrote) {
    RemoveOldest();
    said_.clear();
  }
}

absl::Status CheckpointFiles::LookForSpace() const {
  struct statfs system {};
  if (::statfs(options_.folder.c_str(), &system) != 0) return base::ErrnoStatus(errno, "statfs");
  if (static_cast<uint64_t>(system.f_bavail) * static_cast<uint64_t>(system.f_bsize) <
      options_.keep_free)
    return absl::ResourceExhaustedError("too little space is left there");
  return absl::OkStatus();
}

absl::Status CheckpointFiles::Write(const CheckpointStore::BlockCopy& block) {
  if (const std::string path = PathOf(block.place); path != open_path_) {
    PENSTOCK_ASSIGN_OR_RETURN(open_, OpenFor(block.place));
    open_path_ = path;
  }
  return WriteAt(open_, OffsetOf(block.place, block.number), block.bytes);
}

// Files that this daemon uses are removed last.
void CheckpointFiles::RemoveOldest() {
  struct Found {
    bool in_use;
    int64_t seconds;
    uint64_t bytes;
    std::string path;
  };
  std::vector<Found> files;
  uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at(options_.folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string path = at->path().string();
    struct stat facts {};
    if (!path.ends_with(kSuffix) || ::lstat(path.c_str(), &facts) != 0) continue;
    files.push_back({in_use_.contains(path), facts.st_mtime,
                     static_cast<uint64_t>(facts.st_blocks) * 512, path});
    bytes += files.back().bytes;
  }
  std::ranges::sort(files, {}, [](const Found& f) { return std::pair(f.in_use, f.seconds); });
  for (const Found& file : files) {
    if (bytes <= store_->max_bytes() + store_->max_bytes() / 4) return;
    if (::unlink(file.path.c_str()) == 0) bytes -= file.bytes;
    in_use_.erase(file.path);
  }
}

void CheckpointFiles::Say(const absl::Status& trouble) {
  if (trouble.message() == said_) return;
  said_ = std::string(trouble.message());
  PENSTOCK_LOG(kInfo, "checkpoints_not_stored", {"folder", options_.folder}, {"reason", said_});
}

}  // namespace penstock::checkpoints
