#include "server/store/client/content_range.h"

#include <gtest/gtest.h>

namespace penstock::store {
namespace {

TEST(ContentRangeTest, WhatServersWrite) {
  const auto range = ParseContentRange("bytes 10-19/100");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->first, 10u);
  EXPECT_EQ(range->last, 19u);
  EXPECT_EQ(range->total, 100u);
  EXPECT_EQ(ParseContentRange("bytes 0-0/*")->total, 0u);
  EXPECT_EQ(ParseContentRange("Bytes 0-0/1")->last, 0u);
}

TEST(ContentRangeTest, WhatIsNone) {
  for (const char* text : {"", "bytes", "bytes */100", "bytes 5-4/100", "bytes 0-100/100",
                           "bytes -1-2/3", "bytes 0-1", "items 0-1/2", "bytes 0-1/x",
                           "bytes +0-1/2", "bytes 0- 1/2", "bytes 99999999999999999999-1/2"})
    EXPECT_FALSE(ParseContentRange(text).has_value()) << text;
}

}  // namespace
}  // namespace penstock::store
