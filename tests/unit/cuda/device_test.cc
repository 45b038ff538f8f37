#include "common/cuda/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::cuda {
namespace {

TEST(UuidTest, HasSixteenBytes) {
  const auto uuid = Uuid::FromBytes("fifteen bytes..");

  EXPECT_EQ(uuid.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(uuid.status().message()), ::testing::HasSubstr("16 bytes, got 15"));
}

TEST(UuidTest, ReadsAsNvidiaSmiWritesIt) {
  const auto uuid = Uuid::FromBytes(
      absl::string_view("\x8f\x1c\x00\x01\x23\x45\x67\x89\xab\xcd\xef\x10\x20\x30\x40\xff", 16));

  ASSERT_TRUE(uuid.ok());
  EXPECT_EQ(uuid->ToString(), "GPU-8f1c0001-2345-6789-abcd-ef10203040ff");
}

TEST(UuidTest, EqualBytesAreOneGpu) {
  EXPECT_EQ(*Uuid::FromBytes("0123456789abcdef"), *Uuid::FromBytes("0123456789abcdef"));
  EXPECT_NE(*Uuid::FromBytes("0123456789abcdef"), *Uuid::FromBytes("0123456789abcdeF"));
}

TEST(StickyTest, OrdinaryErrorsAreNot) {
  EXPECT_FALSE(IsSticky(absl::OkStatus()));
  EXPECT_FALSE(IsSticky(absl::InternalError("a plain error")));
}

}  // namespace
}  // namespace penstock::cuda
