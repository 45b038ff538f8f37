#include "server/source/tar/tar_walk.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "common/base/check.h"
#include "server/source/files/escape.h"

namespace penstock::source {
namespace {

bool IsNote(TarKind kind) {
  return kind == TarKind::kLongName || kind == TarKind::kExtended ||
         kind == TarKind::kExtendedForAll;
}

}  // namespace

TarWalk::ByteRange TarWalk::wants() const {
  PENSTOCK_CHECK(!done_);
  if (reads_ == Reads::kNote) return {at_ + kTarBlock, note_.bytes};
  return {at_, std::min(kTarBlock, shard_bytes_ - std::min(at_, shard_bytes_))};
}

absl::StatusOr<std::optional<TarMember>> TarWalk::Take(std::span<const std::byte> bytes) {
  PENSTOCK_CHECK(bytes.size() == wants().bytes);
  absl::StatusOr<std::optional<TarMember>> taken = std::optional<TarMember>();
  if (reads_ == Reads::kNote) {
    if (const absl::Status status = TakeNote(bytes); !status.ok()) taken = status;
  } else {
    taken = TakeHeader(bytes);
  }
  if (!taken.ok()) done_ = true;
  return taken;
}

absl::StatusOr<std::optional<TarMember>> TarWalk::TakeHeader(std::span<const std::byte> bytes) {
  if (bytes.empty() && seen_ == 0 && reads_ == Reads::kHeader)
    return Wrong(place(), "wanted a tar header, got the end of the file; copy the shard again");
  if (bytes.empty() || (bytes.size() < kTarBlock && reads_ == Reads::kSecondZero)) {
    done_ = true;
    return std::nullopt;
  }
  if (bytes.size() < kTarBlock)
    return Wrong(place(), "the shard is truncated: a header has ", kTarBlock, " bytes, but only ",
                 bytes.size(), " are left; copy it again");
  PENSTOCK_ASSIGN_OR_RETURN(TarHeader header, ParseTarHeader(bytes.first<kTarBlock>(), place()));
  ++seen_;
  if (reads_ == Reads::kSecondZero && header.kind != TarKind::kEnd)
    return Wrong(place(),
                 "a member follows a block of zeros, which ends a shard; pack the shard again");
  if (header.kind == TarKind::kEnd) {
    if (long_name_ || next_.path || next_.bytes)
      return Wrong(place(),
                   "the shard ends between a member's extended header and the member; copy "
                   "it again");
    done_ = reads_ == Reads::kSecondZero;
    reads_ = Reads::kSecondZero;
    at_ += kTarBlock;
    return std::nullopt;
  }
  if (IsNote(header.kind)) {
    PENSTOCK_RETURN_IF_ERROR(BeginNote(header));
    return std::nullopt;
  }
  if (header.kind == TarKind::kLongLink) {  // the notes before it are about the next member
    PENSTOCK_RETURN_IF_ERROR(CheckFits(header));
    reads_ = Reads::kHeader;
    MoveTo(TarDataEnd(at_ + kTarBlock, header.bytes));
    return std::nullopt;
  }
  return Finish(std::move(header));
}

absl::Status TarWalk::BeginNote(const TarHeader& header) {
  PENSTOCK_RETURN_IF_ERROR(CheckFits(header));
  if (header.bytes > kLongestNote)
    return Wrong(place(), "a name or an extended header has ", header.bytes, " bytes; at most ",
                 kLongestNote, " are supported: pack the shard again");
  note_ = header;
  reads_ = Reads::kNote;
  return absl::OkStatus();
}

absl::Status TarWalk::TakeNote(std::span<const std::byte> bytes) {
  if (note_.kind == TarKind::kLongName) {
    const absl::string_view name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    long_name_ = std::string(name.substr(0, name.find('\0')));
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(PaxRecords records, ParsePaxRecords(bytes, place()));
    (note_.kind == TarKind::kExtended ? next_ : all_) = std::move(records);
  }
  reads_ = Reads::kHeader;
  MoveTo(TarDataEnd(at_ + kTarBlock, note_.bytes));
  return absl::OkStatus();
}

// Combines a header with the notes that preceded it.
absl::StatusOr<std::optional<TarMember>> TarWalk::Finish(TarHeader header) {
  const PaxRecords said = std::exchange(next_, PaxRecords());
  if (auto name = std::exchange(long_name_, std::nullopt)) header.name = *std::move(name);
  if (const auto& path = said.path ? said.path : all_.path) header.name = *path;
  if (header.kind == TarKind::kFile && absl::EndsWith(header.name, "/"))
    header.kind = TarKind::kOther;
  const bool has_data = header.kind == TarKind::kFile || header.kind == TarKind::kPartial;
  if (const auto bytes = said.bytes ? said.bytes : all_.bytes; bytes && has_data)
    header.bytes = *bytes;
  if (header.kind == TarKind::kPartial || said.is_sparse || all_.is_sparse)
    return Wrong(
        place(), "'", EscapeForDisplay(header.name),
        "' is a sparse file or continues in another volume; pack the shard again without them");
  if (header.kind == TarKind::kLink)
    return Wrong(place(), "'", EscapeForDisplay(header.name),
                 "' is a link, which has no data of its own; pack the shard again with tar "
                 "--dereference --hard-dereference");
  PENSTOCK_RETURN_IF_ERROR(CheckFits(header));
  const TarPlace here = place();
  const uint64_t data = at_ + kTarBlock;
  if (header.kind != TarKind::kFile) {
    MoveTo(TarDataEnd(data, header.bytes));
    return std::nullopt;
  }
  PENSTOCK_RETURN_IF_ERROR(CheckMemberName(header.name, here));
  MoveTo(TarDataEnd(data, header.bytes));
  return TarMember{.name = std::move(header.name), .offset = data, .bytes = header.bytes};
}

// Includes the padding after the data: a shard that ends within it was truncated. Python's tarfile
// does the same.
absl::Status TarWalk::CheckFits(const TarHeader& header) const {
  const uint64_t left = shard_bytes_ - at_ - kTarBlock;
  if (header.bytes <= left && TarDataEnd(0, header.bytes) <= left) return absl::OkStatus();
  if (header.bytes <= left)
    return Wrong(place(), "the shard is truncated: it ends in the padding of '",
                 EscapeForDisplay(header.name), "', which has ", header.bytes, " bytes, padded to ",
                 TarDataEnd(0, header.bytes), ", but only ", left, " are left; copy it again");
  return Wrong(place(), "the shard is truncated: '", EscapeForDisplay(header.name), "' has ",
               header.bytes, " bytes, but only ", left, " are left; copy it again");
}

void TarWalk::MoveTo(uint64_t next) { at_ = std::min(next, shard_bytes_); }

}  // namespace penstock::source
