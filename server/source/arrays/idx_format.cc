#include "server/source/arrays/idx_format.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace penstock::source {
namespace {

constexpr uint32_t kUnsignedByte = 0x08;
constexpr uint32_t kMaxChannels = 16;  // the maximum of the finish step

uint32_t Word(std::span<const std::byte> bytes, size_t at) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) word = word << 8 | std::to_integer<uint32_t>(bytes[at + i]);
  return word;
}

template <typename... Words>
absl::Status Wrong(const std::string& path, const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat("'", path, "': ", words...));
}

absl::string_view TypeName(uint32_t type) {
  switch (type) {
    case 0x09:
      return "signed bytes";
    case 0x0B:
      return "16-bit integers";
    case 0x0C:
      return "32-bit integers";
    case 0x0D:
      return "32-bit floats";
    case 0x0E:
      return "64-bit floats";
    default:
      return "an unknown type";
  }
}

absl::Status CheckMagic(uint32_t magic, IdxRole role, const std::string& path) {
  const uint32_t type = magic >> 8, dimensions = magic & 0xFF;
  const bool images = role == IdxRole::kImages;
  const absl::string_view wanted = images ? "images of unsigned bytes (00000803, or 00000804 with "
                                            "channels)"
                                          : "labels of unsigned bytes (00000801)";
  const auto wrong = [&](absl::string_view got) {
    return Wrong(path, "the magic number at byte 0 is ", absl::Hex(magic, absl::kZeroPad8), ", ",
                 got, "; wanted an IDX file of ", wanted);
  };
  if (magic >> 16 != 0) return wrong("which is not an IDX file");
  if (type != kUnsignedByte) return wrong(TypeName(type));
  const bool fits = images ? dimensions == 3 || dimensions == 4 : dimensions == 1;
  if (!fits) return wrong(absl::StrCat(dimensions, " dimensions"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<IdxHeader> ParseIdxHeader(std::span<const std::byte> begin, IdxRole role,
                                         const std::string& path) {
  if (begin.size() < 4)
    return Wrong(path, "it is truncated: it has ", begin.size(),
                 " bytes, an IDX file's magic number alone has 4");
  const uint32_t magic = Word(begin, 0);
  PENSTOCK_RETURN_IF_ERROR(CheckMagic(magic, role, path));
  IdxHeader header;
  header.dimensions = magic & 0xFF;
  if (begin.size() < header.header_bytes())
    return Wrong(path, "it is truncated: its header has ", header.header_bytes(),
                 " bytes, the file ", begin.size());
  for (uint32_t d = 0; d < header.dimensions; ++d) {
    header.sizes[d] = Word(begin, 4 + 4 * size_t{d});
    if (header.sizes[d] == 0)
      return Wrong(path, "dimension ", d, ", at byte ", 4 + 4 * d, ", is 0; wanted at least 1");
    if (d > 0 && __builtin_mul_overflow(header.item_bytes, header.sizes[d], &header.item_bytes))
      return Wrong(path, "an item of its dimensions has more than 2⁶⁴ bytes");
  }
  uint64_t all;
  if (__builtin_mul_overflow(header.item_bytes, header.items(), &all) ||
      all > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) - kLongestIdxHeader)
    return Wrong(path, "its dimensions make ", header.items(), " items of ", header.item_bytes,
                 " bytes, more than a file can hold");
  if (header.dimensions == 4 && header.sizes[3] > kMaxChannels)
    return Wrong(path, "its last dimension is ", header.sizes[3],
                 "; wanted images × height × width × channels with at most ", kMaxChannels,
                 " channels");
  return header;
}

}  // namespace penstock::source
