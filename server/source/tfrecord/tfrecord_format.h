// The framing of TFRecord files (https://www.tensorflow.org/tutorials/load_data/tfrecord): a
// sequence of records. Each consists of the length (64 bits, little endian), the masked CRC-32C of
// these eight bytes, the data, and the masked CRC-32C of the data. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

inline constexpr uint64_t kRecordHeader = 12;  // bytes before the data
inline constexpr uint64_t kRecordFooter = 4;   // bytes after the data

// The position of a record, and the size of its file.
struct RecordPlace {
  absl::string_view file;
  uint64_t offset = 0, file_bytes = 0;
};

// Returns the size of the record's data, which together with its footer lies within the file.
// `header`: the first kRecordHeader bytes of the record, or as many as the file has.
// **Errors**: InvalidArgument if it is truncated, its CRC doesn't match, or it is longer than the
// file.
absl::StatusOr<uint64_t> ParseRecordHeader(std::span<const std::byte> header,
                                           const RecordPlace& place);

}  // namespace penstock::source
