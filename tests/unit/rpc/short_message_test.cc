// Messages that are too long for clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/rpc/calls/unary_call.h"

namespace penstock::rpc {
namespace {

using ::testing::HasSubstr;

TEST(ShortMessageTest, WhatIsWrongAndWhatHelpsAreLeftOfALongOne) {
  std::string accents;
  for (int i = 0; i < 3000; ++i) accents += "\u00e9";
  EXPECT_EQ(ToShortMessage("a short one; try this"), "a short one; try this");

  const std::string shortened = ToShortMessage("it went wrong: " + accents + "; try this");

  EXPECT_LT(shortened.size(), size_t{2100});
  EXPECT_TRUE(shortened.starts_with("it went wrong: \u00e9")) << shortened;
  EXPECT_TRUE(shortened.ends_with("\u00e9; try this")) << shortened;
  EXPECT_THAT(shortened, HasSubstr("\u00e9 [...] \u00e9"));
}

}  // namespace
}  // namespace penstock::rpc
