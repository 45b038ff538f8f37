#include "server/source/images/folder_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/base/check.h"
#include "server/source/files/escape.h"

namespace penstock::source {
namespace {

class FolderReader final : public Dataset::Reader {
 public:
  explicit FolderReader(std::shared_ptr<const FolderState> state) : state_(std::move(state)) {}

  absl::StatusOr<Opened> Open(uint64_t sample) override;
  absl::Status Read(std::span<std::byte> into) override;

 private:
  absl::Status Trouble(int error_number) const;
  absl::Status WhyNotOpened(const absl::Status& trouble) const;
  absl::Status CheckUnchanged(const struct stat& stat) const;
  absl::Status ReadAll(std::span<std::byte> into);

  std::shared_ptr<const FolderState> state_;  // shared with the dataset and its other readers
  posix::Fd file_;
  uint64_t sample_ = 0;
  uint64_t bytes_ = 0;
};

absl::StatusOr<Dataset::Reader::Opened> FolderReader::Open(uint64_t sample) {
  file_ = posix::Fd();
  sample_ = sample;
  if (!state_->manifest.IsFile(sample)) return Opened{0, base::Fault::kNotAnImage};
  // Non-blocking, so that a FIFO with an image's name cannot block the thread.
  absl::StatusOr<posix::Fd> file =
      state_->tree.OpenBeneath(state_->manifest.RelativePath(sample), O_RDONLY | O_NONBLOCK);
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
absl::Status FolderReader::WhyNotOpened(const absl::Status& trouble) const {
  const auto there = state_->tree.OpenBeneath(state_->manifest.RelativePath(sample_), O_PATH);
  struct stat stat {};
  if (!there.ok() || ::fstat(there->get(), &stat) != 0 || S_ISREG(stat.st_mode)) return trouble;
  return CheckUnchanged(stat);
}

absl::Status FolderReader::CheckUnchanged(const struct stat& stat) const {
  if (!S_ISREG(stat.st_mode))
    return state_->NoteChange(sample_, "it was a regular file and is not any more");
  const FileState now = state_->tree.StateOf(stat);
  if (state_->manifest.IsUnchanged(sample_, now)) return absl::OkStatus();
  return state_->NoteChange(sample_, state_->manifest.FindChange(sample_, now));
}

absl::Status FolderReader::Read(std::span<std::byte> into) {
  PENSTOCK_CHECK(file_.valid() && into.size() == bytes_);
  const absl::Status status = ReadAll(into);
  file_ = posix::Fd();
  return status;
}

absl::Status FolderReader::ReadAll(std::span<std::byte> into) {
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

absl::Status FolderReader::Trouble(int error_number) const {
  const absl::Status status =
      base::ErrnoStatus(error_number, absl::StrCat("reading '", state_->DisplayPath(sample_), "'"));
  return absl::UnavailableError(status.message());
}

}  // namespace

std::string FolderState::DisplayPath(uint64_t sample) const {
  return EscapeForDisplay(tree.FullPath(manifest.RelativePath(sample)));
}

absl::Status FolderState::NoteChange(uint64_t sample, const std::string& how) const {
  if (!changed.exchange(true) && cache) cache->Forget();
  return Changed(DisplayPath(sample), how);
}

std::unique_ptr<Dataset::Reader> MakeFolderReader(std::shared_ptr<const FolderState> state) {
  return std::make_unique<FolderReader>(std::move(state));
}

}  // namespace penstock::source
