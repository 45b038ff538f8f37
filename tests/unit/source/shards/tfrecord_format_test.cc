// The framing of TFRecord files.
#include "server/source/tfrecord/tfrecord_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files/record_maker.h"

namespace penstock::source {
namespace {

using penstock::testing::LittleEndian;
using penstock::testing::RecordBytes;
using penstock::testing::RecordSum;
using ::testing::HasSubstr;

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

absl::StatusOr<uint64_t> ParseRecord(const std::string& file, uint64_t offset = 0) {
  const size_t bytes = std::min<size_t>(kRecordHeader, file.size() - offset);
  return ParseRecordHeader(Bytes(file).subspan(offset, bytes), {"/x", offset, file.size()});
}

TEST(RecordHeaderTest, WhatIsNoRecordIsRefusedWithItsPlace) {
  const std::string record = RecordBytes("data");
  std::string damaged = record;
  damaged[0] ^= 1;
  const std::string huge = LittleEndian<uint64_t>(UINT64_MAX);

  EXPECT_THAT(ParseRecord(record + record.substr(0, 11), record.size()).status().message(),
              HasSubstr("'/x' at byte 20: the file is truncated"));
  EXPECT_THAT(ParseRecord(damaged).status().message(), HasSubstr("byte 0: wanted a record"));
  EXPECT_THAT(ParseRecord(record.substr(0, 19)).status().message(),
              HasSubstr("a record has 4 bytes"));
  EXPECT_THAT(ParseRecord(record.substr(0, 12)).status().message(), HasSubstr("truncated"));
  EXPECT_THAT(ParseRecord(huge + RecordSum(huge) + "data").status().message(),
              HasSubstr("truncated"));
}

TEST(RecordHeaderTest, ARecordIsWhatTensorFlowWritesForIt) {
  // What TensorFlow writes for an empty record.
  const std::string empty("\0\0\0\0\0\0\0\0\x29\x03\x98\x07\xD8\xEA\x82\xA2", 16);

  EXPECT_EQ(RecordBytes(""), empty);
  EXPECT_EQ(*ParseRecord(empty), 0u);
}

}  // namespace
}  // namespace penstock::source
