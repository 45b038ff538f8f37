#include "server/kept/row_file.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

#include "common/base/crc32c.h"
#include "common/posix/memory.h"

namespace penstock::kept {
namespace {

constexpr uint64_t kBlock = 4096;  // of ext4, XFS and tmpfs, unless they were made otherwise
constexpr off_t kGrowth = off_t{1} << 30;

}  // namespace

class RowFile::FolderRow final : public KeptRow {
 public:
  FolderRow(std::shared_ptr<RowFile> file, uint64_t place, std::vector<uint32_t> sums)
      : file_(std::move(file)), place_(place), sums_(std::move(sums)) {}
  ~FolderRow() override { file_->FreePlace(place_); }

  Medium medium() const override { return Medium::kFolder; }
  uint64_t bytes() const override { return file_->row_bytes_; }
  Copied CopyTo(const RowParts& parts) const override;

 private:
  absl::Status Read(const RowParts& parts) const;

  const std::shared_ptr<RowFile> file_;
  const uint64_t place_;
  const std::vector<uint32_t> sums_;
};

absl::Status RowFile::FolderRow::Read(const RowParts& parts) const {
  off_t offset = file_->OffsetOf(place_);
  for (std::span<std::byte> part : parts) {
    while (!part.empty()) {
      const ssize_t got = ::pread(file_->file_.get(), part.data(), part.size(), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return base::ErrnoStatus(errno, "reading a kept row");
      if (got == 0) return absl::DataLossError("a kept row is cut off");
      part = part.subspan(static_cast<size_t>(got));
      offset += got;
    }
  }
  return absl::OkStatus();
}

KeptRow::Copied RowFile::FolderRow::CopyTo(const RowParts& parts) const {
  if (BytesOf(parts) != bytes() || parts.size() != sums_.size()) return Copied::kWrong;
  if (!Read(parts).ok()) return Copied::kFailed;
  for (size_t i = 0; i < parts.size(); ++i)
    if (base::Crc32cOfThirds(parts[i]) != sums_[i]) return Copied::kWrong;
  return Copied::kDone;
}

absl::StatusOr<posix::Fd> RowFile::Make(const std::string& folder) {
  posix::Fd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file.valid())
    return base::ErrnoStatus(errno, absl::StrCat("a file without a name in '", folder, "'"));
  PENSTOCK_RETURN_IF_ERROR(
      posix::GiveBackPages(file, 0, kBlock));  // or the limit could not be kept
  return file;
}

uint64_t RowFile::RoomOf(uint64_t row_bytes) { return (row_bytes + kBlock - 1) / kBlock * kBlock; }

absl::Status RowFile::Check(const std::string& folder) { return Make(folder).status(); }

absl::Status RowFile::Open() {
  if (file_.valid()) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(file_, Make(folder_));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const KeptRow>> RowFile::Write(const MemoryRow& row) {
  if (row.bytes() != row_bytes_) return absl::InvalidArgumentError("a row of another size");
  PENSTOCK_RETURN_IF_ERROR(Open());
  const uint64_t place = TakePlace();
  // Frees the place if it cannot be written.
  auto kept = std::make_shared<const FolderRow>(shared_from_this(), place, row.sums());
  std::span<const std::byte> rest = row.data();
  off_t offset = OffsetOf(place);
  GrowFor(offset + static_cast<off_t>(RoomOf(row_bytes_)));
  while (!rest.empty()) {
    const ssize_t put = ::pwrite(file_.get(), rest.data(), rest.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return base::ErrnoStatus(errno, "writing a kept row");
    rest = rest.subspan(static_cast<size_t>(put));
    offset += put;
  }
  return kept;
}

uint64_t RowFile::TakePlace() {
  const base::MutexLock lock(mutex_);
  if (free_.empty()) return end_++;
  const uint64_t place = free_.back();
  free_.pop_back();
  return place;
}

// For a write beyond a file's end XFS takes as much of the disk again as the file has.
void RowFile::GrowFor(off_t end) {
  if (end <= size_) return;
  size_ = (end + kGrowth - 1) / kGrowth * kGrowth;
  (void)!::ftruncate(file_.get(), size_);  // else the write does it
}

off_t RowFile::OffsetOf(uint64_t place) const {
  return static_cast<off_t>(place * RoomOf(row_bytes_));
}

void RowFile::FreePlace(uint64_t place) {
  if (is_given_up_) return;
  // A place that the disk does not take back is used again before others.
  const uint64_t room = RoomOf(row_bytes_);
  posix::GiveBackPages(file_, place * room, room).IgnoreError();
  const base::MutexLock lock(mutex_);
  free_.push_back(place);
}

}  // namespace penstock::kept
