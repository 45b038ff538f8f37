#include "common/shm/python_slot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::shm {
namespace {

using ::testing::HasSubstr;

// A slot with two arrays: 1,000 bytes of data, a table of 96, a skeleton of 50.
constexpr PythonSlotHeader kWhole = {.magic = kPythonSlotMagic,
                                     .version = kPythonSlotVersion,
                                     .buffer_count = 2,
                                     .total_bytes = 1024 + 96 + 50,
                                     .tail_offset = 1024,
                                     .table_bytes = 96,
                                     .skeleton_bytes = 50,
                                     .tail_crc32 = 1,
                                     .reserved = 0,
                                     .reserved_too = 0};
constexpr uint64_t kBytes = 4096;

void ExpectRefused(const PythonSlotHeader& header, const char* words, uint64_t bytes = kBytes) {
  const absl::Status status = CheckPythonSlot(header, bytes);
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(words));
}

TEST(PythonSlotTest, AWholeSlotIsAccepted) {
  EXPECT_TRUE(CheckPythonSlot(kWhole, kBytes).ok());
  EXPECT_TRUE(CheckPythonSlot(kWhole, kWhole.total_bytes).ok());
}

TEST(PythonSlotTest, MemoryThatNobodyFinishedIsNoSlot) {
  ExpectRefused(PythonSlotHeader{}, "has not finished it");
  ExpectRefused(kWhole, "has not finished it", 63);
}

TEST(PythonSlotTest, AnotherVersionIsNamed) {
  PythonSlotHeader header = kWhole;
  header.version = kPythonSlotVersion + 1;
  ExpectRefused(header, "version: got 2, expected 1");
}

TEST(PythonSlotTest, LengthsThatReachOutsideAreRefused) {
  constexpr uint64_t kLargest = ~uint64_t{0};
  for (const uint64_t wrong : {uint64_t{0}, uint64_t{63}, uint64_t{5000}, kLargest}) {
    for (uint64_t PythonSlotHeader::*field :
         {&PythonSlotHeader::total_bytes, &PythonSlotHeader::tail_offset,
          &PythonSlotHeader::table_bytes, &PythonSlotHeader::skeleton_bytes}) {
      PythonSlotHeader header = kWhole;
      header.*field = wrong;
      ExpectRefused(header, "contradict each other");
    }
  }
  ExpectRefused(kWhole, "contradict each other", kWhole.total_bytes - 1);
}

TEST(PythonSlotTest, TooManyBuffersAndReservedWordsAreRefused) {
  PythonSlotHeader many = kWhole, reserved = kWhole, reserved_too = kWhole;
  many.buffer_count = kPythonSlotMaxBuffers + 1;
  reserved.reserved = 1;
  reserved_too.reserved_too = 1;
  for (const PythonSlotHeader& header : {many, reserved, reserved_too}) {
    ExpectRefused(header, "contradict each other");
  }
}

}  // namespace
}  // namespace penstock::shm
