#include "server/source/core/remote_ranges.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace penstock::source {
namespace {

constexpr size_t kAtOnce = size_t{8} << 20;

}  // namespace

RemoteRanges::RemoteRanges(std::shared_ptr<const RemoteFile> file, const RangesLayout& layout)
    : file_(std::move(file)), layout_(layout) {
  PENSTOCK_CHECK(layout.piece_bytes > 0 && layout.begin <= layout.end &&
                 layout.end <= file_->state().bytes);
}

RemotePiece RemoteRanges::PieceAt(uint64_t offset) const {
  const uint64_t begin = offset - (offset - layout_.begin) % layout_.piece_bytes;
  return {.offset = begin, .bytes = std::min(layout_.piece_bytes, layout_.end - begin)};
}

template <typename Each>
absl::Status RemoteRanges::ForEachPiece(uint64_t offset, uint64_t bytes, const Each& each) const {
  PENSTOCK_CHECK(offset >= layout_.begin && offset <= layout_.end && bytes <= layout_.end - offset);
  for (const uint64_t end = offset + bytes; offset < end;) {
    const RemotePiece piece = PieceAt(offset);
    PENSTOCK_RETURN_IF_ERROR(each(piece));
    offset = piece.offset + piece.bytes;
  }
  return absl::OkStatus();
}

absl::Status RemoteRanges::Read(uint64_t offset, std::span<std::byte> into) const {
  const absl::Status read =
      ForEachPiece(offset, into.size(), [&](const RemotePiece& piece) -> absl::Status {
        const uint64_t from = offset > piece.offset ? offset - piece.offset : 0;
        const size_t count = std::min<uint64_t>(piece.bytes - from, into.size());
        PENSTOCK_RETURN_IF_ERROR(ToReadStatus(file_->ReadPiece(piece, from, into.first(count))));
        into = into.subspan(count);
        return absl::OkStatus();
      });
  if (absl::IsDataLoss(read)) changed_ = true;
  return read;
}

void RemoteRanges::Expect(uint64_t offset, uint64_t bytes, const UseTimes& times) const {
  ForEachPiece(offset, bytes, [&](const RemotePiece& piece) {
    file_->Expect(piece, times);
    return absl::OkStatus();
  }).IgnoreError();
}

absl::StatusOr<FetchOutcome> RemoteRanges::Fetch(uint64_t offset, uint64_t bytes) const {
  FetchOutcome all = {.is_kept = true};
  PENSTOCK_RETURN_IF_ERROR(
      ForEachPiece(offset, bytes, [&](const RemotePiece& piece) -> absl::Status {
        PENSTOCK_ASSIGN_OR_RETURN(const FetchOutcome one, file_->Fetch(piece));
        all.bytes += one.bytes;
        all.is_kept &= one.is_kept;
        return absl::OkStatus();
      }));
  return all;
}

absl::Status RemoteRanges::ReadOnce(uint64_t offset, std::span<std::byte> into) const {
  const absl::Status read = ReadInParts(*file_, offset, into);
  if (absl::IsDataLoss(read)) changed_ = true;
  return read;
}

absl::Status ReadKeptParts(const RemoteFile& file, uint64_t offset, std::span<std::byte> into) {
  while (!into.empty()) {
    const size_t count = std::min(into.size(), kAtOnce);
    absl::Status read = file.ReadPiece({.offset = offset, .bytes = count}, 0, into.first(count));
    if (absl::IsUnavailable(read)) read = file.Read(offset, into.first(count));  // more patiently
    PENSTOCK_RETURN_IF_ERROR(read);
    offset += count;
    into = into.subspan(count);
  }
  return absl::OkStatus();
}

absl::Status ReadInParts(const RemoteFile& file, uint64_t offset, std::span<std::byte> into) {
  while (!into.empty()) {
    const size_t count = std::min(into.size(), kAtOnce);
    PENSTOCK_RETURN_IF_ERROR(file.Read(offset, into.first(count)));
    offset += count;
    into = into.subspan(count);
  }
  return absl::OkStatus();
}

}  // namespace penstock::source
