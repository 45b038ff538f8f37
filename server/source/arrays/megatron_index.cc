#include "server/source/arrays/megatron_index.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/base/check.h"

namespace penstock::source {
namespace {

using base::DType;

constexpr absl::string_view kMegatronMagic("MMIDIDX\0\0", 9);
constexpr uint64_t kVersionAt = 9, kTypeAt = 17, kSequencesAt = 18, kEntriesAt = 26, kHeader = 34;
constexpr uint64_t kLengthBytes = 4, kPointerBytes = 8, kEntryBytes = 8;
constexpr absl::string_view kRemedy = "; write both files again with Megatron's own tools";

template <typename... Words>
absl::Status Wrong(const MegatronIndex::Files& files, const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat("'", files.index, "': ", words...));
}

absl::StatusOr<DType> ToDType(int code, const MegatronIndex::Files& files) {
  switch (code) {
    case 1:
      return DType::kUInt8;
    case 2:
      return DType::kInt8;
    case 3:
      return DType::kInt16;
    case 4:
      return DType::kInt32;
    case 5:
      return DType::kInt64;
    case 8:
      return DType::kUInt16;
    default:
      return Wrong(files, "the type of its tokens, at byte ", kTypeAt, ", is ", code,
                   code == 6 || code == 7 ? ", floating point" : "",
                   "; wanted an integer type: 1 to 5, or 8");
  }
}

}  // namespace

bool IsMegatronIndex(std::span<const std::byte> begin) {
  return absl::StartsWith({reinterpret_cast<const char*>(begin.data()), begin.size()},
                          kMegatronMagic);
}

template <typename Number>
Number MegatronIndex::At(uint64_t byte) const {
  PENSTOCK_CHECK(byte <= bytes_.size() && sizeof(Number) <= bytes_.size() - byte);
  Number number;
  std::memcpy(&number, bytes_.data() + byte, sizeof(number));
  return number;
}

uint64_t MegatronIndex::LengthAt(uint64_t sequence) const {
  return kHeader + sequence * kLengthBytes;
}
uint64_t MegatronIndex::PointerAt(uint64_t sequence) const {
  return LengthAt(sequences_) + sequence * kPointerBytes;
}
uint64_t MegatronIndex::DocumentAt(uint64_t document) const {
  return PointerAt(sequences_) + document * kEntryBytes;
}

uint64_t MegatronIndex::TokensOf(uint64_t sequence) const {
  PENSTOCK_CHECK(sequence < sequences_);
  return static_cast<uint64_t>(At<int32_t>(LengthAt(sequence)));
}
uint64_t MegatronIndex::ByteOf(uint64_t sequence) const {
  PENSTOCK_CHECK(sequence < sequences_);
  return At<uint64_t>(PointerAt(sequence));
}
uint64_t MegatronIndex::FirstOf(uint64_t document) const {
  PENSTOCK_CHECK(document <= documents_);
  return At<uint64_t>(DocumentAt(document));
}

absl::StatusOr<MegatronIndex> MegatronIndex::Parse(std::span<const std::byte> bytes,
                                                   const Files& files) {
  MegatronIndex index;
  index.bytes_ = bytes;
  PENSTOCK_RETURN_IF_ERROR(index.ParseHeader(files));
  PENSTOCK_RETURN_IF_ERROR(index.CheckSequences(files));
  PENSTOCK_RETURN_IF_ERROR(index.CheckNothingTwice(files));
  PENSTOCK_RETURN_IF_ERROR(index.CheckDocuments(files));
  return index;
}

absl::Status MegatronIndex::ParseHeader(const Files& files) {
  if (!IsMegatronIndex(bytes_))
    return Wrong(files, "wanted a Megatron index, which begins with MMIDIDX; byte 0 differs",
                 kRemedy);
  if (bytes_.size() < kHeader)
    return Wrong(files, "it is truncated: its header has ", kHeader, " bytes, the file ",
                 bytes_.size());
  const auto version = At<uint64_t>(kVersionAt);
  if (version != 1)
    return Wrong(files, "its version, at byte ", kVersionAt, ", is ", version, "; wanted 1");
  PENSTOCK_ASSIGN_OR_RETURN(type_, ToDType(At<uint8_t>(kTypeAt), files));
  sequences_ = At<uint64_t>(kSequencesAt);
  const auto entries = At<uint64_t>(kEntriesAt);
  if (sequences_ == 0 || entries < 2)
    return Wrong(files, "its header, at byte ", kSequencesAt, ", says ", sequences_,
                 " sequences and ", entries, " document entries; wanted at least one document");
  documents_ = entries - 1;
  // Products of the two cannot overflow, because each is less than the file's size.
  const bool fits = sequences_ <= bytes_.size() && entries <= bytes_.size();
  const uint64_t end = fits ? DocumentAt(entries) : UINT64_MAX;
  if (!fits || (bytes_.size() != end && bytes_.size() - sequences_ != end))
    return Wrong(files, "its header, at byte ", kSequencesAt, ", says ", sequences_,
                 " sequences and ", entries, " document entries, which ",
                 fits ? absl::StrCat("end at byte ", end, ", or ", end + sequences_, " with modes")
                      : "end beyond the file",
                 "; the file ends at byte ", bytes_.size(), kRemedy);
  return absl::OkStatus();
}

absl::Status MegatronIndex::CheckSequences(const Files& files) const {
  const uint64_t token = base::ElementBytes(type_);
  if (files.bin_bytes % token != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("'", files.bin, "': it ends at byte ", files.bin_bytes,
                     ", in the middle of a token: by '", files.index, "' tokens have type ",
                     base::DTypeName(type_), ", ", token, " bytes each", kRemedy));
  for (uint64_t s = 0; s < sequences_; ++s) {
    const auto tokens = At<int32_t>(LengthAt(s));
    if (tokens < 0)
      return Wrong(files, "sequence ", s, ", at byte ", LengthAt(s), ", has ", tokens,
                   " tokens; wanted 0 or more", kRemedy);
    const uint64_t byte = ByteOf(s), bytes = TokensOf(s) * token;
    if (byte > files.bin_bytes || bytes > files.bin_bytes - byte)
      return Wrong(files, "sequence ", s, ", at byte ", PointerAt(s), ", points at ", bytes,
                   " bytes from byte ", byte, " on, outside of '", files.bin,
                   "', which ends at byte ", files.bin_bytes, kRemedy);
    if (byte % token != 0)
      return Wrong(files, "sequence ", s, ", at byte ", PointerAt(s), ", begins at byte ", byte,
                   " of '", files.bin, "', in the middle of a token of ", token, " bytes", kRemedy);
  }
  return absl::OkStatus();
}

// In files that Megatron writes, each sequence begins where the previous one ends.
absl::Status MegatronIndex::CheckNothingTwice(const Files& files) const {
  const uint64_t token = base::ElementBytes(type_);
  bool in_order = true;
  uint64_t end = 0;
  for (uint64_t s = 0; s < sequences_ && in_order; ++s) {
    in_order = ByteOf(s) >= end;
    end = ByteOf(s) + TokensOf(s) * token;
  }
  if (in_order) return absl::OkStatus();
  std::vector<uint64_t> by_place;
  for (uint64_t s = 0; s < sequences_; ++s)
    if (TokensOf(s) > 0) by_place.push_back(s);
  std::sort(by_place.begin(), by_place.end(),
            [this](uint64_t a, uint64_t b) { return ByteOf(a) < ByteOf(b); });
  for (size_t i = 1; i < by_place.size(); ++i) {
    const uint64_t before = by_place[i - 1], behind = by_place[i];
    if (ByteOf(before) + TokensOf(before) * token > ByteOf(behind))
      return Wrong(files, "sequence ", behind, ", at byte ", PointerAt(behind), ", begins at byte ",
                   ByteOf(behind), " of '", files.bin, "', where sequence ", before,
                   " has not ended: the same tokens twice", kRemedy);
  }
  return absl::OkStatus();
}

absl::Status MegatronIndex::CheckDocuments(const Files& files) const {
  for (uint64_t d = 0; d <= documents_; ++d) {
    const uint64_t first = FirstOf(d), least = d == 0 ? 0 : FirstOf(d - 1);
    const bool fits = d == 0            ? first == 0
                      : d == documents_ ? first == sequences_
                                        : first >= least && first <= sequences_;
    if (!fits)
      return Wrong(files, "document ", d, ", at byte ", DocumentAt(d), ", begins with sequence ",
                   first, "; wanted ",
                   d == 0            ? "0"
                   : d == documents_ ? absl::StrCat(sequences_, ", the end of all")
                                     : absl::StrCat(least, " to ", sequences_),
                   kRemedy);
  }
  return absl::OkStatus();
}

}  // namespace penstock::source
