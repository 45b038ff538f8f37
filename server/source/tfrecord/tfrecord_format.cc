#include "server/source/tfrecord/tfrecord_format.h"

#include <bit>
#include <cstring>

#include "common/base/crc32c.h"

namespace penstock::source {
namespace {

static_assert(std::endian::native == std::endian::little, "records are little-endian");

template <typename Number>
Number At(std::span<const std::byte> bytes, size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

template <typename... Words>
absl::Status Wrong(const RecordPlace& place, const Words&... words) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", place.file, "' at byte ", place.offset, ": ", words...));
}

}  // namespace

absl::StatusOr<uint64_t> ParseRecordHeader(std::span<const std::byte> header,
                                           const RecordPlace& place) {
  if (header.size() < kRecordHeader)
    return Wrong(place, "the file is truncated: a record's header has ", kRecordHeader,
                 " bytes, but only ", header.size(), " are left; copy it again");
  const auto bytes = At<uint64_t>(header, 0);
  if (At<uint32_t>(header, 8) != base::MaskedCrc32c(header.first(8)))
    return Wrong(place, "wanted a record, got a length with a wrong checksum; the file is ",
                 place.offset == 0 ? "no TFRecord file, compressed, or damaged" : "damaged",
                 ": write it without compression, or copy it again");
  const uint64_t left = place.file_bytes - place.offset - kRecordHeader;
  if (left < kRecordFooter || bytes > left - kRecordFooter)
    return Wrong(place, "the file is truncated: a record has ", bytes,
                 " bytes and a checksum, but only ", left, " bytes are left; copy it again");
  return bytes;
}

}  // namespace penstock::source
