#include "server/source/tar/tar_format.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "server/source/files/escape.h"

namespace penstock::source {
namespace {

// Position and size of a header's field.
struct Part {
  size_t at, bytes;
};
constexpr Part kNamePart = {0, 100}, kSizePart = {124, 12}, kChecksumPart = {148, 8},
               kPrefixPart = {345, 155};
constexpr size_t kTypeAt = 156, kMagicAt = 257;
constexpr absl::string_view kPosixMagic("ustar\0", 6);

constexpr uint64_t kLargestMember = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

using Block = std::span<const std::byte, kTarBlock>;

absl::string_view TextOf(Block block, const Part& part) {
  return {reinterpret_cast<const char*>(block.data()) + part.at, part.bytes};
}

// The field up to its first NUL byte, or all of it.
absl::string_view Name(Block block, const Part& part) {
  const absl::string_view text = TextOf(block, part);
  return text.substr(0, text.find('\0'));
}

// GNU: if the first byte's highest bit is set, the rest is a big-endian number.
std::optional<uint64_t> Base256(absl::string_view field) {
  uint64_t number = static_cast<uint8_t>(field[0]) & 0x7F;
  for (const char c : field.substr(1)) {
    if (number > kLargestMember >> 8) return std::nullopt;
    number = number << 8 | static_cast<uint8_t>(c);
  }
  return number;
}

// Octal digits, optionally after spaces and before a space or a NUL byte; empty is 0.
std::optional<uint64_t> Octal(absl::string_view field) {
  field = field.substr(0, field.find('\0'));
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
  uint64_t number = 0;
  for (const char c : field) {
    if (c < '0' || c > '7') return std::nullopt;
    number = number << 3 | static_cast<uint64_t>(c - '0');  // twelve digits at most
  }
  return number;
}

std::optional<uint64_t> Number(absl::string_view field) {
  const uint8_t first = static_cast<uint8_t>(field[0]);
  if (first == 0xFF) return std::nullopt;  // negative
  return (first & 0x80) != 0 ? Base256(field) : Octal(field);
}

// The sum of all bytes, with the checksum field counted as spaces. Some old programs added signed
// bytes.
bool IsChecksumRight(Block block, uint64_t wanted) {
  int64_t plain = 0, with_sign = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    const bool own = i >= kChecksumPart.at && i < kChecksumPart.at + kChecksumPart.bytes;
    const auto byte = own ? uint8_t{' '} : std::to_integer<uint8_t>(block[i]);
    plain += byte;
    with_sign += static_cast<int8_t>(byte);
  }
  const auto sum = static_cast<int64_t>(wanted);
  return sum == plain || sum == with_sign;
}

TarKind KindOf(char type) {
  switch (type) {
    case '0':
    case '\0':
    case '7':  // contiguous file
      return TarKind::kFile;
    case '1':
    case '2':
      return TarKind::kLink;
    case 'L':
      return TarKind::kLongName;
    case 'K':
      return TarKind::kLongLink;
    case 'x':
    case 'X':
      return TarKind::kExtended;
    case 'g':
      return TarKind::kExtendedForAll;
    case 'S':
    case 'M':
      return TarKind::kPartial;
    default:
      return TarKind::kOther;
  }
}

// Links, devices and folders have no data, whatever size they state.
bool HasData(char type) { return type < '1' || type > '6'; }

// A record's key and value. Parses and removes it from `text`; nullopt if malformed.
struct Record {
  absl::string_view key, value;
};
std::optional<Record> TakeRecord(absl::string_view& text) {
  const size_t space = text.find(' ');
  uint64_t length = 0;
  if (space == absl::string_view::npos || !absl::SimpleAtoi(text.substr(0, space), &length))
    return std::nullopt;
  if (length > text.size() || length < space + 3 || text[length - 1] != '\n') return std::nullopt;
  const absl::string_view body = text.substr(space + 1, length - space - 2);
  const size_t equals = body.find('=');
  if (equals == absl::string_view::npos || equals == 0) return std::nullopt;
  text.remove_prefix(length);
  return Record{body.substr(0, equals), body.substr(equals + 1)};
}

}  // namespace

absl::StatusOr<TarHeader> ParseTarHeader(Block block, const TarPlace& place) {
  if (std::all_of(block.begin(), block.end(), [](std::byte b) { return b == std::byte{0}; }))
    return TarHeader();
  const std::optional<uint64_t> checksum = Octal(TextOf(block, kChecksumPart));
  if (!checksum || !IsChecksumRight(block, *checksum))
    return Wrong(place, "wanted a tar header, got a block with a wrong checksum; the shard is ",
                 place.offset == 0 ? "not a tar file, or damaged" : "damaged", ": copy it again");
  const char type = static_cast<char>(block[kTypeAt]);
  TarHeader header;
  header.name = std::string(Name(block, kNamePart));
  const absl::string_view prefix = Name(block, kPrefixPart);
  if (TextOf(block, {kMagicAt, kPosixMagic.size()}) == kPosixMagic && !prefix.empty())
    header.name = absl::StrCat(prefix, "/", header.name);
  header.kind = KindOf(type);
  if (!HasData(type)) return header;
  const std::optional<uint64_t> bytes = Number(TextOf(block, kSizePart));
  if (!bytes)
    return Wrong(place, "the size of '", EscapeForDisplay(header.name),
                 "' is not a number; the shard is damaged: copy it again");
  header.bytes = *bytes;
  return header;
}

absl::StatusOr<PaxRecords> ParsePaxRecords(std::span<const std::byte> data, const TarPlace& place) {
  PaxRecords records;
  absl::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  while (!text.empty() && text.front() != '\0') {
    const std::optional<Record> record = TakeRecord(text);
    if (!record)
      return Wrong(place,
                   "an extended header has no valid record 'LENGTH KEY=VALUE' at its "
                   "byte ",
                   data.size() - text.size(), "; copy the shard again");
    uint64_t bytes = 0;
    if (record->key == "path") {
      records.path = std::string(record->value);
    } else if (record->key == "size") {
      if (!absl::SimpleAtoi(record->value, &bytes) || bytes > kLargestMember)
        return Wrong(place, "an extended header has the invalid size '",
                     EscapeForDisplay(std::string(record->value)), "'; copy the shard again");
      records.bytes = bytes;
    } else if (absl::StartsWith(record->key, "GNU.sparse.")) {
      records.is_sparse = true;
    }
  }
  return records;
}

absl::string_view CompressionOf(std::span<const std::byte> begin) {
  struct Known {
    absl::string_view magic, name;
  };
  static constexpr std::array<Known, 5> kKnown = {{{"\x1F\x8B", "gzip"},
                                                   {"\x28\xB5\x2F\xFD", "zstd"},
                                                   {"\xFD"
                                                    "7zXZ",
                                                    "xz"},
                                                   {"BZh", "bzip2"},
                                                   {"\x04\x22\x4D\x18", "lz4"}}};
  const absl::string_view text(reinterpret_cast<const char*>(begin.data()), begin.size());
  for (const Known& known : kKnown)
    if (absl::StartsWith(text, known.magic)) return known.name;
  return "";
}

absl::Status CheckMemberName(const std::string& name, const TarPlace& place) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  const bool climbs = std::find(parts.begin(), parts.end(), "..") != parts.end();
  if (!climbs && !absl::StartsWith(name, "/")) return absl::OkStatus();
  return Wrong(place, "the member '", EscapeForDisplay(name), "' ",
               climbs ? "has a '..' in its name" : "has an absolute name",
               "; pack the shard again from within its folder");
}

}  // namespace penstock::source
