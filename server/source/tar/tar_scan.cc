#include "server/source/tar/tar_scan.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "common/base/units.h"
#include "server/source/files/escape.h"
#include "server/source/files/read_exactly.h"
#include "server/source/parse/scan_steps.h"
#include "server/source/shards/shard_window.h"
#include "server/source/tar/npy_member.h"
#include "server/source/tar/tar_walk.h"
#include "server/source/tar/wds_index.h"
#include "server/source/tar/wds_name.h"
#include "server/source/tar/wds_samples.h"

namespace penstock::source {
namespace {

constexpr uint64_t kLongestIndex = base::kGiB;

// The walk's next member; nullopt at the end.
absl::StatusOr<std::optional<TarMember>> NextMember(TarWalk& walk, ShardWindow& window) {
  while (!walk.done()) {
    const TarWalk::ByteRange range = walk.wants();
    PENSTOCK_ASSIGN_OR_RETURN(const auto bytes, window.Read(range.offset, range.bytes));
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<TarMember> member, walk.Take(bytes));
    if (member) return member;
  }
  return std::nullopt;
}

// The next member that belongs to a sample.
absl::StatusOr<std::optional<TarMember>> NextOfSample(TarWalk& walk, ShardWindow& window) {
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<TarMember> member, NextMember(walk, window));
    if (!member || SplitWdsName(member->name)) return member;
  }
}

class TarScanner {
 public:
  TarScanner(const ForeignFile& shard, const ForeignFile* index, const TarWanted& wanted,
             const ScanWatch& watch)
      : shard_(shard),
        index_(index),
        path_(shard.path),
        roles_(WdsRoles::Of(wanted.image, wanted.label)),
        steps_(watch) {}

  absl::StatusOr<ScannedShard> Scan() {
    PENSTOCK_RETURN_IF_ERROR(CheckNotCompressed());
    PENSTOCK_ASSIGN_OR_RETURN(ScannedShard scanned, Find());
    scanned.warning = std::move(warning_);
    return scanned;
  }

 private:
  absl::Status CheckNotCompressed() const {
    std::array<std::byte, 6> begin;
    const auto bytes = std::span(begin).first(std::min<uint64_t>(begin.size(), shard_.bytes));
    PENSTOCK_RETURN_IF_ERROR(shard_.Read(0, bytes));
    const absl::string_view compression = CompressionOf(bytes);
    if (compression.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("'", path_, "' is compressed (", compression,
                     "), so no sample in it can be reached without unpacking all that precedes it; "
                     "unpack it to a plain .tar: compression does not make photographs smaller"));
  }

  absl::StatusOr<ScannedShard> Find() {
    PENSTOCK_ASSIGN_OR_RETURN(const std::optional<std::vector<TarMember>> members, ByIndex());
    ShardWindow window(shard_);
    WdsSamples samples(path_, roles_);
    if (members) {
      for (const TarMember& member : *members)
        PENSTOCK_RETURN_IF_ERROR(Add(member, samples, window));
      return std::move(samples).Finish();
    }
    TarWalk walk(path_, shard_.bytes);
    for (;;) {
      PENSTOCK_ASSIGN_OR_RETURN(const std::optional<TarMember> member, NextMember(walk, window));
      if (!member) return std::move(samples).Finish();
      PENSTOCK_RETURN_IF_ERROR(Add(*member, samples, window));
    }
  }

  absl::Status Add(const TarMember& member, WdsSamples& samples, ShardWindow& window) {
    const uint64_t before = samples.samples();
    PENSTOCK_ASSIGN_OR_RETURN(const WdsSamples::Added added, samples.Add(member));
    PENSTOCK_RETURN_IF_ERROR(steps_.Add(samples.samples() - before));
    if (added == WdsSamples::Added::kMember || added == WdsSamples::Added::kArray)
      steps_.Note({.offset = member.offset, .bytes = member.bytes});
    if (added == WdsSamples::Added::kArray) {
      PENSTOCK_ASSIGN_OR_RETURN(const ArrayMember found, ReadNpyMember(member, window));
      samples.SetArray(found);
    }
    if (added != WdsSamples::Added::kLabel) return absl::OkStatus();
    PENSTOCK_ASSIGN_OR_RETURN(
        const auto bytes, window.Read(member.offset, std::min(member.bytes, kLongestWdsLabel + 1)));
    return samples.SetLabel(member, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  // The members from the index beside the shard, if it is present and valid.
  absl::StatusOr<std::optional<std::vector<TarMember>>> ByIndex() {
    if (index_ == nullptr) return std::nullopt;
    auto members = ReadIndex();
    if (members.ok()) {
      const absl::Status right = CheckAgainstShard(*members);
      if (right.ok()) return *std::move(members);
      if (!absl::IsInvalidArgument(right)) return right;
      members =
          base::Annotate(right, absl::StrCat("'", index_->path, "' does not match this shard"));
    }
    warning_ = absl::StrCat("the index beside a shard is ignored: ", members.status().message());
    return std::nullopt;
  }

  absl::StatusOr<std::vector<TarMember>> ReadIndex() const {
    if (index_->bytes > kLongestIndex)
      return absl::InvalidArgumentError(
          absl::StrCat("'", index_->path, "' has more than ", base::FormatBytes(kLongestIndex)));
    std::string text(index_->bytes, '\0');
    PENSTOCK_RETURN_IF_ERROR(index_->Read(0, std::as_writable_bytes(std::span(text))));
    return ParseWdsIndex(text, shard_.bytes, index_->path);
  }

  // Compares each member with its header, because an index may be older than its shard and fit it
  // by chance: the members may have other names, or another order.
  absl::Status CheckAgainstShard(const std::vector<TarMember>& members) const {
    ShardWindow window(shard_);
    uint64_t end = 0;
    for (const TarMember& member : members) {
      PENSTOCK_RETURN_IF_ERROR(CheckNext(end, &member, window));
      end = TarDataEnd(member.offset, member.bytes);
    }
    return CheckNext(end, nullptr, window);
  }

  absl::Status CheckNext(uint64_t from, const TarMember* wanted, ShardWindow& window) const {
    if (from > shard_.bytes)
      return absl::InvalidArgumentError(absl::StrCat("its last member, with padding, ends at byte ",
                                                     from, ", the shard ends at ", shard_.bytes));
    TarWalk walk(path_, shard_.bytes, std::min(from, shard_.bytes));
    std::optional<TarMember> found;
    if (from == 0 || from < shard_.bytes) {
      PENSTOCK_ASSIGN_OR_RETURN(found, NextOfSample(walk, window));
    }
    const bool same = wanted == nullptr
                          ? !found
                          : found && found->name == wanted->name &&
                                found->offset == wanted->offset && found->bytes == wanted->bytes;
    if (same) return absl::OkStatus();
    const auto say = [](const TarMember* member) {
      return member == nullptr ? std::string("no more members")
                               : absl::StrCat("'", EscapeForDisplay(member->name), "' of ",
                                              member->bytes, " bytes at ", member->offset);
    };
    return absl::InvalidArgumentError(absl::StrCat("after byte ", from, " it lists ", say(wanted),
                                                   ", but the shard has ",
                                                   say(found ? &*found : nullptr)));
  }

  const ForeignFile& shard_;
  const ForeignFile* const index_;
  const std::string& path_;
  const WdsRoles roles_;
  ScanSteps steps_;
  std::string warning_;
};

}  // namespace

absl::StatusOr<ScannedShard> ScanTarShard(const ForeignFile& shard, const ForeignFile* index,
                                          const TarWanted& wanted, const ScanWatch& watch) {
  return TarScanner(shard, index, wanted, watch).Scan();
}

absl::StatusOr<std::string> ReadTarKey(const ForeignFile& shard, uint64_t from, uint64_t offset) {
  ShardWindow window(shard);
  TarWalk walk(shard.path, shard.bytes, from);
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::optional<TarMember> member, NextOfSample(walk, window));
    if (!member || member->offset > offset)
      return absl::DataLossError(absl::StrCat("'", shard.path, "' has no member at byte ", offset));
    if (member->offset == offset) return EscapeForDisplay(SplitWdsName(member->name)->key);
  }
}

}  // namespace penstock::source
