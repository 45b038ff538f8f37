#include "server/app/config/range_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::app {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<plan::Range> Resolved(absl::string_view text, uint64_t samples) {
  PENSTOCK_ASSIGN_OR_RETURN(const RangeText range, ParseRange(text));
  return Resolve(range, samples);
}

TEST(RangeTextTest, WhatIsNoRangeIsRefusedInWords) {
  for (const char* text : {"",
                           "5",
                           "..",
                           "5..",
                           "..5",
                           "5..5",
                           "6..5",
                           "-1..5",
                           "0...5",
                           "0 .. 5",
                           "0..5%",
                           "0%..5",
                           "0..18446744073709551616",
                           "0%..101%",
                           "0%..100.1%",
                           "1.5..2",
                           "0%..1.%",
                           "0%..1.2.3%",
                           "0%..0.1234567%",
                           "a..b",
                           "1e3..2e3",
                           "%..%"}) {
    const absl::Status status = ParseRange(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("wanted a range like 0..50000")) << text;
  }
}

TEST(RangeTextTest, OneThatReachesOutIsRefusedWithWhatThereIs) {
  const absl::Status status = Resolved("10..21", 20).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the dataset has 20 (0 to 19)"));
  EXPECT_THAT(std::string(Resolved("0%..1%", 20).status().message()), HasSubstr("is empty"));
}

TEST(RangeTextTest, TheFirstIsMeantAndTheEndIsNot) {
  EXPECT_EQ(*Resolved("0..20", 20), (plan::Range{0, 20}));
  EXPECT_EQ(*Resolved("7..8", 20), (plan::Range{7, 1}));
}

TEST(RangeTextTest, PercentsDivideADatasetWithoutGapOrOverlap) {
  EXPECT_EQ(*Resolved("0%..90%", 1001), (plan::Range{0, 900}));
  EXPECT_EQ(*Resolved("90%..100%", 1001), (plan::Range{900, 101}));
  EXPECT_EQ(*Resolved("12.5%..33.333333%", 800), (plan::Range{100, 166}));
  EXPECT_EQ(*Resolved("0%..100%", plan::kMaxSamples), (plan::Range{0, plan::kMaxSamples}));
}

}  // namespace
}  // namespace penstock::app
