#include "server/feed/stats/user_counts.h"

#include <gtest/gtest.h>

namespace penstock::feed {
namespace {

TEST(UserCountsTest, AUserKeepsItsPlaceAndWhatWasCounted) {
  UserCounts counts;
  counts.Of(7).rows_decoded = 1;
  counts.Of(3).rows_decoded = 5;
  counts.Of(7).rows_decoded += 1;

  ASSERT_EQ(counts.all().size(), 2u);
  EXPECT_EQ(counts.all()[0].user, 7u);
  EXPECT_EQ(counts.all()[0].rows_decoded, 2u);
  EXPECT_EQ(counts.all()[1].user, 3u);
}

TEST(UserCountsTest, UsersBeyondTheLimitShareOneEntry) {
  UserCounts counts;
  for (uint32_t user = 0; user < UserCounts::kMostUsers + 50; ++user)
    ++counts.Of(user).rows_decoded;

  ASSERT_EQ(counts.all().size(), UserCounts::kMostUsers + 1);
  EXPECT_TRUE(counts.all().back().others);
  EXPECT_EQ(counts.all().back().rows_decoded, 50u);
  EXPECT_EQ(counts.Of(0).rows_decoded, 1u);
}

}  // namespace
}  // namespace penstock::feed
