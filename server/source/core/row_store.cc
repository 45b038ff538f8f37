#include "server/source/core/row_store.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/hash.h"
#include "common/base/units.h"
#include "common/posix/gather.h"
#include "server/source/core/remote_ranges.h"
#include "server/source/files/mapped_file.h"

namespace penstock::source {
namespace {

constexpr uint64_t kHashedWhole = base::kGiB;
constexpr uint64_t kPiece = base::kMiB;
constexpr uint64_t kPieces = 64;

// Calls `piece(offset, size)` for each piece of `bytes` that is hashed.
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

  uint64_t bytes() const override { return extent_.bytes(); }
  absl::Status Read(uint64_t offset, std::span<std::byte> into) const override {
    std::memcpy(into.data(), memory_.get() + offset, into.size());
    return absl::OkStatus();
  }
  // The rows are in memory; the file is not read again.
  bool changed() const override { return false; }

  absl::StatusOr<uint64_t> Hash() const override {
    base::Hasher hasher;
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

class MappedRows final : public RowStore {
 public:
  MappedRows(std::unique_ptr<MappedFile> file, const RowExtent& extent)
      : file_(std::move(file)), extent_(extent) {}

  absl::Status Copy(std::span<const uint64_t> rows, std::byte* into) const override {
    PENSTOCK_ASSIGN_OR_RETURN(const MappedFile::View view, file_->Look());
    const bool read = posix::GatherRows(
        {.from = view.data() + extent_.offset, .row_bytes = extent_.row_bytes, .rows = rows}, into);
    return file_->Check(view, read ? MappedFile::Copied::kWhole : MappedFile::Copied::kBusError);
  }

  uint64_t bytes() const override { return extent_.bytes(); }
  absl::Status Read(uint64_t offset, std::span<std::byte> into) const override {
    return file_->Read(extent_.offset + offset, into);
  }
  bool changed() const override { return file_->changed(); }

  absl::StatusOr<uint64_t> Hash() const override {
    base::Hasher hasher;
    std::vector<std::byte> piece(std::min(kPiece, extent_.bytes()));
    PENSTOCK_RETURN_IF_ERROR(ForEachPiece(extent_.bytes(), [&](uint64_t at, uint64_t bytes) {
      const std::span<std::byte> into = std::span(piece).first(bytes);
      PENSTOCK_RETURN_IF_ERROR(file_->Read(extent_.offset + at, into));
      hasher.Add({reinterpret_cast<const char*>(into.data()), into.size()});
      return absl::OkStatus();
    }));
    return hasher.Digest();
  }

 private:
  const std::unique_ptr<MappedFile> file_;
  const RowExtent extent_;
};

constexpr uint64_t kShortRows = 64 * base::kKiB, kLongRow = 8 * base::kMiB;

RangesLayout ToRangesLayout(const RowExtent& extent) {
  const uint64_t row = std::max<uint64_t>(extent.row_bytes, 1);
  const uint64_t several = std::max<uint64_t>(kShortRows / row, 1) * row;
  return {.begin = extent.offset,
          .end = extent.offset + extent.bytes(),
          .piece_bytes = std::min(several, kLongRow)};
}

class FetchedRows final : public RowStore {
 public:
  FetchedRows(std::shared_ptr<const RemoteFile> file, const RowExtent& extent)
      : ranges_(std::move(file), ToRangesLayout(extent)), extent_(extent) {}

  absl::Status Copy(std::span<const uint64_t> rows, std::byte* into) const override {
    for (const uint64_t row : rows) {
      PENSTOCK_RETURN_IF_ERROR(ranges_.Read(OffsetOf(row), {into, extent_.row_bytes}));
      into += extent_.row_bytes;
    }
    return absl::OkStatus();
  }
  uint64_t bytes() const override { return extent_.bytes(); }
  absl::Status Read(uint64_t offset, std::span<std::byte> into) const override {
    return ranges_.ReadOnce(extent_.offset + offset, into);
  }
  bool changed() const override { return ranges_.changed(); }
  bool is_remote() const override { return true; }
  void Expect(uint64_t row, const UseTimes& times) const override {
    ranges_.Expect(OffsetOf(row), extent_.row_bytes, times);
  }
  absl::StatusOr<FetchOutcome> Fetch(uint64_t row) const override {
    return ranges_.Fetch(OffsetOf(row), extent_.row_bytes);
  }
  absl::StatusOr<uint64_t> Hash() const override { return StampOf(ranges_.file().state()); }

 private:
  uint64_t OffsetOf(uint64_t row) const { return extent_.offset + row * extent_.row_bytes; }

  const RemoteRanges ranges_;
  const RowExtent extent_;
};

}  // namespace

std::unique_ptr<RowStore> FetchRows(std::shared_ptr<const RemoteFile> file,
                                    const RowExtent& extent) {
  return std::make_unique<FetchedRows>(std::move(file), extent);
}

std::unique_ptr<RowStore> KeepRows(std::unique_ptr<std::byte[]> memory, const RowExtent& extent) {
  return std::make_unique<KeptRows>(std::move(memory), extent);
}

absl::StatusOr<std::unique_ptr<RowStore>> MapRows(TreeFile file, posix::Fd opened,
                                                  const RowExtent& extent) {
  PENSTOCK_ASSIGN_OR_RETURN(
      std::unique_ptr<MappedFile> mapped,
      MappedFile::Map(std::move(file), std::move(opened), extent.offset + extent.bytes()));
  return std::make_unique<MappedRows>(std::move(mapped), extent);
}

}  // namespace penstock::source
