#include "server/source/images/image_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "common/base/check.h"
#include "server/source/files/escape.h"

namespace penstock::source {
namespace {

class ImageReader final : public Dataset::Reader {
 public:
  explicit ImageReader(std::shared_ptr<const ImageFiles> files) : files_(std::move(files)) {}

  absl::StatusOr<Opened> Open(uint64_t sample) override;
  absl::Status Read(std::span<std::byte> into) override;

 private:
  absl::Status Trouble(int error_number) const;
  absl::Status WhyNotOpened(const absl::Status& trouble) const;
  absl::Status CheckUnchanged(const struct stat& stat) const;
  absl::Status ReadAll(std::span<std::byte> into);

  std::shared_ptr<const ImageFiles> files_;  // shared with the dataset and its other readers
  posix::Fd file_;
  uint64_t sample_ = 0;
  uint64_t bytes_ = 0;
};

absl::StatusOr<Dataset::Reader::Opened> ImageReader::Open(uint64_t sample) {
  file_ = posix::Fd();
  sample_ = sample;
  if (files_->StampAt(sample) == kNoFile) return Opened{0, base::Fault::kNotAnImage};
  // Non-blocking, so that a FIFO with an image's name cannot block the thread.
  absl::StatusOr<posix::Fd> file =
      files_->tree.OpenBeneath(files_->RelativePath(sample), O_RDONLY | O_NONBLOCK);
  if (!file.ok()) return WhyNotOpened(file.status());
  struct stat stat {};
  if (::fstat(file->get(), &stat) != 0) return Trouble(errno);
  PENSTOCK_RETURN_IF_ERROR(CheckUnchanged(stat));
  if (stat.st_size == 0) return Opened{0, base::Fault::kEmpty};
  file_ = *std::move(file);
  bytes_ = static_cast<uint64_t>(stat.st_size);
  return Opened{bytes_, base::Fault::kNone};
}

// A socket can never be opened, so look at the entry without opening it.
absl::Status ImageReader::WhyNotOpened(const absl::Status& trouble) const {
  const auto there = files_->tree.OpenBeneath(files_->RelativePath(sample_), O_PATH);
  struct stat stat {};
  if (!there.ok() || ::fstat(there->get(), &stat) != 0 || S_ISREG(stat.st_mode)) return trouble;
  return CheckUnchanged(stat);
}

absl::Status ImageReader::CheckUnchanged(const struct stat& stat) const {
  if (!S_ISREG(stat.st_mode))
    return files_->NoteChange(sample_, "it was a regular file and is not any more");
  const FileState now = files_->tree.StateOf(stat);
  if (files_->StampAt(sample_) == StampOf(now)) return absl::OkStatus();
  return files_->NoteChange(sample_, files_->FindChange(sample_, now));
}

absl::Status ImageReader::Read(std::span<std::byte> into) {
  PENSTOCK_CHECK(file_.valid() && into.size() == bytes_);
  const absl::Status status = ReadAll(into);
  file_ = posix::Fd();
  return status;
}

absl::Status ImageReader::ReadAll(std::span<std::byte> into) {
  for (size_t at = 0; at < into.size();) {
    const ssize_t count =
        ::pread(file_.get(), into.data() + at, into.size() - at, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Trouble(errno);
    if (count == 0) break;  // the file shrank; the comparison below reports it
    at += static_cast<size_t>(count);
  }
  struct stat stat {};
  if (::fstat(file_.get(), &stat) != 0) return Trouble(errno);
  return CheckUnchanged(stat);
}

absl::Status ImageReader::Trouble(int error_number) const {
  const absl::Status status =
      base::ErrnoStatus(error_number, absl::StrCat("reading '", files_->DisplayPath(sample_), "'"));
  return absl::UnavailableError(status.message());
}

}  // namespace

std::string DescribeNewState(uint32_t bytes, const FileState& now) {
  constexpr uint64_t kLargest = std::numeric_limits<uint32_t>::max();
  if (bytes != std::min(now.bytes, kLargest))
    return absl::StrCat("its size was ", bytes, " and is ", now.bytes);
  return absl::StrCat("it was written to, or replaced, at ", TimeText(now.ctime_ns),
                      "; its size is the same (changing its permissions, owner, name or links "
                      "counts, too)");
}

std::string ImageFiles::DisplayPath(uint64_t sample) const {
  return EscapeForDisplay(tree.FullPath(RelativePath(sample)));
}

absl::Status ImageFiles::NoteChange(uint64_t sample, const std::string& how) const {
  if (!changed.exchange(true)) Forget();
  return Changed(DisplayPath(sample), how);
}

absl::Status AddFileContent(const std::shared_ptr<const ImageFiles>& files, uint64_t sample,
                            Sha256& sum) {
  const std::unique_ptr<Dataset::Reader> reader = MakeImageReader(files);
  PENSTOCK_ASSIGN_OR_RETURN(const Dataset::Reader::Opened opened, reader->Open(sample));
  sum.Add(opened.bytes);
  if (opened.bytes == 0) return absl::OkStatus();
  std::vector<std::byte> bytes(opened.bytes);
  PENSTOCK_RETURN_IF_ERROR(reader->Read(bytes));
  sum.AddBytes(bytes);
  return absl::OkStatus();
}

std::unique_ptr<Dataset::Reader> MakeImageReader(std::shared_ptr<const ImageFiles> files) {
  return std::make_unique<ImageReader>(std::move(files));
}

}  // namespace penstock::source
