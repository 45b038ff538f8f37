// The framing of TFRecord files (https://www.tensorflow.org/tutorials/load_data/tfrecord): one
// record after the other, each its length as 64 bits little endian, the masked CRC-32C of these
// eight bytes, the data, and the masked CRC-32C of the data. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

inline constexpr uint64_t kRecordHeader = 12;  // bytes before the data
inline constexpr uint64_t kRecordFooter = 4;   // bytes behind

// Where a record begins, in a file of so many bytes.
struct RecordPlace {
  absl::string_view file;
  uint64_t offset = 0, file_bytes = 0;
};

// The bytes of the record's data, which lie within the file with their footer. `header` is what the
// file has of the first kRecordHeader bytes from the place on. InvalidArgument: truncated, a wrong
// sum, more data than the file has.
absl::StatusOr<uint64_t> ParseRecordHeader(std::span<const std::byte> header,
                                           const RecordPlace& place);

// Whether data, with their footer behind them, are what was written.
bool IsRecordWhole(std::span<const std::byte> data_and_footer);

}  // namespace penstock::source
