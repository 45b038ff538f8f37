#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/plan/plan.h"

namespace penstock::plan {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const Range& range, const Range& whole) {
  const absl::Status status = Validate(range, whole);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(RangeTest, OneThatIsEmptyOrReachesOutIsRefusedWithWhatThereIs) {
  const Range whole = {100, 50};

  EXPECT_THAT(Refusal({100, 0}, whole), HasSubstr("from sample 100 is empty"));
  EXPECT_THAT(Refusal({99, 1}, whole), HasSubstr("the dataset has 50 (100 to 149)"));
  EXPECT_THAT(Refusal({150, 1}, whole), HasSubstr("1 samples from number 150"));
  EXPECT_THAT(Refusal({149, 2}, whole), HasSubstr("ask for a range within it"));
  EXPECT_THAT(Refusal({100, UINT64_MAX}, whole), HasSubstr("100 to 149"));
  EXPECT_THAT(Refusal({UINT64_MAX, UINT64_MAX}, whole), HasSubstr("100 to 149"));
}

TEST(RangeTest, AnyPartIsOneAndSoIsTheWhole) {
  const Range whole = {100, 50};

  EXPECT_TRUE(Validate({100, 1}, whole).ok());
  EXPECT_TRUE(Validate({149, 1}, whole).ok());
  EXPECT_TRUE(Validate(whole, whole).ok());
}

TEST(RangeTest, ContainsItsOwnSamplesAlone) {
  const Range range = {100, 50};

  EXPECT_FALSE(range.Contains(0));
  EXPECT_FALSE(range.Contains(99));
  EXPECT_TRUE(range.Contains(100));
  EXPECT_TRUE(range.Contains(149));
  EXPECT_FALSE(range.Contains(150));
  EXPECT_FALSE(range.Contains(UINT64_MAX));
}

}  // namespace
}  // namespace penstock::plan
