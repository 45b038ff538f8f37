#include "server/source/row_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/base/check.h"
#include "common/base/mutex.h"
#include "common/base/units.h"
#include "common/posix/gather.h"
#include "common/posix/memory.h"
#include "server/source/hash.h"
#include "server/source/listing.h"

namespace penstock::source {
namespace {

constexpr uint64_t kHashedWhole = base::kGiB;
constexpr uint64_t kPiece = base::kMiB;
constexpr uint64_t kPieces = 64;

absl::Status Trouble(const absl::Status& status) {
  return absl::UnavailableError(status.message());
}

// The pieces of `bytes` that are hashed: calls `piece` with offset and size of each.
template <typename Piece>
absl::Status ForEachPiece(uint64_t bytes, const Piece& piece) {
  const uint64_t count = bytes <= kHashedWhole ? (bytes + kPiece - 1) / kPiece : kPieces;
  const uint64_t step = bytes <= kHashedWhole ? kPiece : (bytes - kPiece) / (kPieces - 1);
  for (uint64_t i = 0; i < count; ++i)
    PENSTOCK_RETURN_IF_ERROR(piece(i * step, std::min(kPiece, bytes - i * step)));
  return absl::OkStatus();
}

class KeptRows final : public RowStore {
 public:
  KeptRows(std::unique_ptr<std::byte[]> memory, const RowExtent& extent)
      : memory_(std::move(memory)), extent_(extent) {}

  absl::Status Copy(std::span<const uint64_t> rows, std::byte* into) const override {
    PENSTOCK_CHECK(posix::GatherRows(
        {.from = memory_.get(), .row_bytes = extent_.row_bytes, .rows = rows}, into));
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> Hash() const override {
    Hasher hasher;
    PENSTOCK_RETURN_IF_ERROR(ForEachPiece(extent_.bytes(), [&](uint64_t at, uint64_t bytes) {
      hasher.Add({reinterpret_cast<const char*>(memory_.get() + at), bytes});
      return absl::OkStatus();
    }));
    return hasher.Digest();
  }

 private:
  const std::unique_ptr<std::byte[]> memory_;
  const RowExtent extent_;
};

// What is mapped of a file, and what the file was then.
struct Mapped {
  posix::Fd file;
  posix::Mapping mapping;
  FileIdentity identity;
};

absl::StatusOr<Mapped> Map(const TreeFile& file, posix::Fd opened, const RowExtent& extent) {
  Mapped mapped;
  PENSTOCK_ASSIGN_OR_RETURN(mapped.identity, IdentityOf(opened, file.path()));
  auto mapping =
      posix::Mapping::Map(opened, extent.offset + extent.bytes(), posix::Access::kReadOnly);
  if (!mapping.ok())
    return base::Annotate(mapping.status(), absl::StrCat("'", file.path(), "' cannot be mapped"));
  mapped.mapping = *std::move(mapping);
  mapped.file = std::move(opened);
  return mapped;
}

class MappedRows final : public RowStore {
 public:
  MappedRows(TreeFile file, Mapped mapped, const RowExtent& extent)
      : file_(std::move(file)),
        extent_(extent),
        identity_(mapped.identity),
        mapped_(std::make_shared<const Mapped>(std::move(mapped))) {}

  absl::Status Copy(std::span<const uint64_t> rows, std::byte* into) const override {
    PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<const Mapped> mapped, Current());
    const bool read = posix::GatherRows({.from = mapped->mapping.data() + extent_.offset,
                                         .row_bytes = extent_.row_bytes,
                                         .rows = rows},
                                        into);
    const absl::Status same = CheckUnchanged(mapped->file);
    if (read && same.ok()) return absl::OkStatus();
    OpenAnewNext();
    if (!same.ok()) return same;
    return Trouble(base::ErrnoStatus(EIO, absl::StrCat("reading '", file_.path(), "'")));
  }

  absl::StatusOr<uint64_t> Hash() const override {
    PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<const Mapped> mapped, Current());
    Hasher hasher;
    std::vector<std::byte> piece(std::min(kPiece, extent_.bytes()));
    PENSTOCK_RETURN_IF_ERROR(ForEachPiece(extent_.bytes(), [&](uint64_t at, uint64_t bytes) {
      const std::span<std::byte> into = std::span(piece).first(bytes);
      PENSTOCK_RETURN_IF_ERROR(ReadExactly(mapped->file, file_.path(), extent_.offset + at, into));
      hasher.Add({reinterpret_cast<const char*>(into.data()), into.size()});
      return absl::OkStatus();
    }));
    return hasher.Digest();
  }

 private:
  // What is mapped, or what the file's path leads to now, once it was in trouble: a file server
  // that is back gives the same file under the same name, and none to those who held it open.
  absl::StatusOr<std::shared_ptr<const Mapped>> Current() const {
    const base::MutexLock lock(mutex_);
    if (mapped_ != nullptr) return mapped_;
    absl::StatusOr<posix::Fd> opened = file_.Open();
    if (!opened.ok()) return Trouble(opened.status());
    PENSTOCK_RETURN_IF_ERROR(CheckUnchanged(*opened));
    absl::StatusOr<Mapped> mapped = Map(file_, *std::move(opened), extent_);
    if (!mapped.ok()) return Trouble(mapped.status());
    mapped_ = std::make_shared<const Mapped>(*std::move(mapped));
    return mapped_;
  }

  void OpenAnewNext() const {
    const base::MutexLock lock(mutex_);
    mapped_ = nullptr;
  }

  // Behind a read: what the pages of a file that was cut off or written to held is not told apart.
  absl::Status CheckUnchanged(const posix::Fd& file) const {
    const absl::StatusOr<FileIdentity> now = IdentityOf(file, file_.path());
    if (!now.ok()) return Trouble(now.status());
    if (*now == identity_) return absl::OkStatus();
    if (now->bytes < identity_.bytes)
      return absl::UnavailableError(absl::StrCat("'", file_.path(), "' was cut off: it has ",
                                                 now->bytes, " bytes and had ", identity_.bytes,
                                                 " when it was opened; put it back"));
    return absl::UnavailableError(absl::StrCat(
        "'", file_.path(),
        "' is another file, or was written to, since it was opened; open a new session "
        "for what it holds now"));
  }

  const TreeFile file_;
  const RowExtent extent_;
  const FileIdentity identity_;
  mutable base::Mutex mutex_;
  // With the copies under way; null: to be opened again.
  mutable std::shared_ptr<const Mapped> mapped_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<posix::Fd> TreeFile::Open() const {
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd file, tree->OpenBeneath(name, O_RDONLY | O_NONBLOCK));
  struct stat stat {};
  if (::fstat(file.get(), &stat) != 0)
    return base::ErrnoStatus(errno, absl::StrCat("'", path(), "'"));
  if (S_ISREG(stat.st_mode)) return file;
  return absl::InvalidArgumentError(absl::StrCat("'", path(), "' is no regular file"));
}

absl::StatusOr<FileIdentity> IdentityOf(const posix::Fd& file, const std::string& path) {
  struct stat stat {};
  if (::fstat(file.get(), &stat) != 0)
    return base::ErrnoStatus(errno, absl::StrCat("'", path, "'"));
  return FileIdentity{.device = stat.st_dev,
                      .inode = stat.st_ino,
                      .bytes = static_cast<uint64_t>(stat.st_size),
                      .mtime_ns = MtimeOf(stat)};
}

absl::Status ReadExactly(const posix::Fd& file, const std::string& path, uint64_t offset,
                         std::span<std::byte> into) {
  for (size_t at = 0; at < into.size();) {
    const ssize_t count =
        ::pread(file.get(), into.data() + at, into.size() - at, static_cast<off_t>(offset + at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::ErrnoStatus(errno, absl::StrCat("reading '", path, "'"));
    if (count == 0)
      return absl::DataLossError(absl::StrCat("'", path, "' is truncated: it ends at byte ",
                                              offset + at, ", wanted ", offset + into.size()));
    at += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

std::unique_ptr<RowStore> KeepRows(std::unique_ptr<std::byte[]> memory, const RowExtent& extent) {
  return std::make_unique<KeptRows>(std::move(memory), extent);
}

absl::StatusOr<std::unique_ptr<RowStore>> MapRows(TreeFile file, posix::Fd opened,
                                                  const RowExtent& extent) {
  PENSTOCK_ASSIGN_OR_RETURN(Mapped mapped, Map(file, std::move(opened), extent));
  return std::make_unique<MappedRows>(std::move(file), std::move(mapped), extent);
}

}  // namespace penstock::source
