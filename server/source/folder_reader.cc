#include "server/source/folder_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/base/check.h"
#include "server/source/for_people.h"
#include "server/source/listing.h"

namespace penstock::source {
namespace {

class FolderReader final : public Dataset::Reader {
 public:
  explicit FolderReader(std::shared_ptr<const FolderState> state) : state_(std::move(state)) {}

  absl::StatusOr<Opened> Open(uint64_t sample) override;
  absl::Status Read(std::span<std::byte> into) override;

 private:
  absl::Status Trouble(int error_number) const;
  absl::Status ReadAll(std::span<std::byte> into);

  std::shared_ptr<const FolderState> state_;  // with the dataset and its other readers
  posix::Fd file_;
  uint64_t sample_ = 0;
  uint64_t bytes_ = 0;
};

absl::StatusOr<Dataset::Reader::Opened> FolderReader::Open(uint64_t sample) {
  file_ = posix::Fd();
  sample_ = sample;
  // Not blocking: a FIFO with an image's name must not hold the thread.
  PENSTOCK_ASSIGN_OR_RETURN(
      posix::Fd file,
      state_->tree.OpenBeneath(state_->manifest.RelativePath(sample), O_RDONLY | O_NONBLOCK));
  struct stat stat {};
  if (::fstat(file.get(), &stat) != 0) return Trouble(errno);
  if (!S_ISREG(stat.st_mode)) return Opened{0, base::Fault::kNotAnImage};
  if (!state_->manifest.IsUnchanged(sample, StateOf(stat))) {
    state_->DropCache();
    return Opened{0, base::Fault::kChangedOnDisk};
  }
  if (stat.st_size == 0) return Opened{0, base::Fault::kEmpty};
  file_ = std::move(file);
  bytes_ = static_cast<uint64_t>(stat.st_size);
  return Opened{bytes_, base::Fault::kNone};
}

absl::Status FolderReader::Read(std::span<std::byte> into) {
  PENSTOCK_CHECK(file_.valid() && into.size() == bytes_);
  const absl::Status status = ReadAll(into);
  file_ = posix::Fd();
  return status;
}

// A file that changes meanwhile is trouble now, and a fault when it is opened again.
absl::Status FolderReader::ReadAll(std::span<std::byte> into) {
  for (size_t at = 0; at < into.size();) {
    const ssize_t count =
        ::pread(file_.get(), into.data() + at, into.size() - at, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Trouble(errno);
    if (count == 0) break;  // shorter than it was: the comparison below says so
    at += static_cast<size_t>(count);
  }
  struct stat stat {};
  if (::fstat(file_.get(), &stat) != 0) return Trouble(errno);
  if (state_->manifest.IsUnchanged(sample_, StateOf(stat))) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("'", state_->PathForPeople(sample_), "' changed while it was read"));
}

absl::Status FolderReader::Trouble(int error_number) const {
  const absl::Status status = base::ErrnoStatus(
      error_number, absl::StrCat("reading '", state_->PathForPeople(sample_), "'"));
  return absl::UnavailableError(status.message());
}

}  // namespace

std::string FolderState::PathForPeople(uint64_t sample) const {
  return ForPeople(tree.FullPath(manifest.RelativePath(sample)));
}

void FolderState::DropCache() const {
  if (cache && !dropped.exchange(true)) cache->Forget();
}

std::unique_ptr<Dataset::Reader> MakeFolderReader(std::shared_ptr<const FolderState> state) {
  return std::make_unique<FolderReader>(std::move(state));
}

}  // namespace penstock::source
