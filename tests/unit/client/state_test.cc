#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/penstock.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] =
    "epoch=3 consumed=640 seed=18446744073709551615 fingerprint=00000000deadbeef "
    "quarantine_version=2";

std::string WhyNot(const std::string& text) {
  const Result<State> state = State::FromString(text);
  EXPECT_EQ(state.status().code(), Code::kInvalidArgument);
  return state.status().message();
}

TEST(StateTest, WhatIsMissingIsNamed) {
  EXPECT_THAT(WhyNot("epoch=3 consumed=640 fingerprint=1 quarantine_version=0"),
              HasSubstr("seed is missing"));
  EXPECT_THAT(WhyNot(""), HasSubstr("consumed is missing"));
}

TEST(StateTest, WhatIsUnknownOrTwiceIsNamed) {
  EXPECT_THAT(WhyNot(std::string(kText) + " rank=1"), HasSubstr("'rank' is unknown"));
  EXPECT_THAT(WhyNot(std::string(kText) + " epoch=4"),
              HasSubstr("'epoch' is unknown or comes twice"));
}

TEST(StateTest, WhatIsNoNumberIsNamed) {
  EXPECT_THAT(WhyNot("epoch=-1"), HasSubstr("'epoch=-1' is not a number"));
  EXPECT_THAT(WhyNot("seed=18446744073709551616"), HasSubstr("is not a number"));
  EXPECT_THAT(WhyNot("fingerprint=0x12"), HasSubstr("is not a number"));
  EXPECT_THAT(WhyNot("fingerprint=11112222333344445"), HasSubstr("is not a number"));
  EXPECT_THAT(WhyNot("epoch"), HasSubstr("is not a number"));
}

TEST(StateTest, TextAndStateAreTheSameThing) {
  const State state = {3, 640, ~uint64_t{0}, 0xDEADBEEF, 2};

  EXPECT_EQ(state.ToString(), kText);
  EXPECT_EQ(*State::FromString(kText), state);
}

TEST(ResultDeathTest, ReadingAFailedResultEndsTheProcessWithItsMessage) {
  Result<int> result(Status(Code::kNotFound, "no such dataset"));

  EXPECT_EXIT((void)*result, ::testing::ExitedWithCode(1), "penstock: not found: no such dataset");
}

}  // namespace
}  // namespace penstock
