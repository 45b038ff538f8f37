#include "server/source/files/mapped_file.h"

#include <cerrno>
#include <utility>

namespace penstock::source {
namespace {

absl::Status Trouble(const absl::Status& status) {
  return absl::UnavailableError(status.message());
}

}  // namespace

absl::StatusOr<std::unique_ptr<MappedFile>> MappedFile::Map(TreeFile file, posix::Fd opened,
                                                            uint64_t bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(const FileState state, file.StateOf(opened));
  std::unique_ptr<MappedFile> mapped(new MappedFile(std::move(file), state, bytes));
  PENSTOCK_ASSIGN_OR_RETURN(View view, mapped->MapOpened(std::move(opened)));
  const base::MutexLock lock(mapped->mutex_);
  mapped->view_ = std::move(view);
  return mapped;
}

absl::StatusOr<MappedFile::View> MappedFile::MapOpened(posix::Fd opened) const {
  auto mapping = posix::Mapping::Map(opened, bytes_, posix::Access::kReadOnly);
  if (!mapping.ok())
    return base::Annotate(mapping.status(), absl::StrCat("'", path(), "' cannot be mapped"));
  View view;
  view.mapped_ = std::make_shared<const View::Mapped>(
      View::Mapped{.file = std::move(opened), .mapping = *std::move(mapping)});
  return view;
}

absl::StatusOr<MappedFile::View> MappedFile::Look() const {
  {
    const base::MutexLock lock(mutex_);
    if (view_.mapped_ != nullptr) return view_;
  }
  PENSTOCK_ASSIGN_OR_RETURN(View view, OpenAnew());
  const base::MutexLock lock(mutex_);
  if (view_.mapped_ == nullptr) view_ = std::move(view);  // else another thread was first
  return view_;
}

// Doesn't hold the mutex, because it may block for ever.
absl::StatusOr<MappedFile::View> MappedFile::OpenAnew() const {
  absl::StatusOr<posix::Fd> opened = file_.Open();
  if (!opened.ok()) return Trouble(opened.status());
  const absl::Status same = CheckUnchanged(*opened);
  if (absl::IsDataLoss(same)) changed_ = true;
  PENSTOCK_RETURN_IF_ERROR(same);
  absl::StatusOr<View> view = MapOpened(*std::move(opened));
  if (!view.ok()) return Trouble(view.status());
  return view;
}

// A different ctime may only mean that the file lost its name, so check the file that the name
// leads to now.
absl::Status MappedFile::Check(const View& view, Copied copied) const {
  const absl::Status same = CheckUnchanged(view.mapped_->file);
  if (copied == Copied::kWhole && same.ok()) return absl::OkStatus();
  OpenAnewNext();
  if (same.ok()) return Trouble(base::ErrnoStatus(EIO, absl::StrCat("reading '", path(), "'")));
  PENSTOCK_RETURN_IF_ERROR(Look().status());
  return absl::UnavailableError(absl::StrCat("'", path(), "' changed while it was read"));
}

absl::Status MappedFile::Read(uint64_t offset, std::span<std::byte> into) const {
  PENSTOCK_ASSIGN_OR_RETURN(const View view, Look());
  const absl::Status read = ReadExactly(view.mapped_->file, path(), offset, into);
  PENSTOCK_RETURN_IF_ERROR(Check(view, Copied::kWhole));
  return read;
}

void MappedFile::OpenAnewNext() const {
  const base::MutexLock lock(mutex_);
  view_ = {};
}

// Call it after a read, because data from a truncated or modified file looks like good data.
absl::Status MappedFile::CheckUnchanged(const posix::Fd& file) const {
  const absl::StatusOr<FileState> now = file_.StateOf(file);
  if (!now.ok()) return Trouble(now.status());
  if (*now == state_) return absl::OkStatus();
  return Changed(path(), DescribeChange(state_, *now));
}

}  // namespace penstock::source
