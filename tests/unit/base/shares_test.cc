#include "common/base/shares.h"

#include <gtest/gtest.h>

namespace penstock::base {
namespace {

constexpr bool kPrivileged = true, kOther = false;

TEST(SharesTest, OneUserHasHalfOfWhatOthersLeave) {
  Shares shares(8);

  EXPECT_EQ(shares.ShareOf(1, kOther), 4u);
  shares.Add(1, 4);
  EXPECT_FALSE(shares.CanTake(1, kOther));
  EXPECT_EQ(shares.ShareOf(1, kOther), 4u);
  EXPECT_EQ(shares.ShareOf(2, kOther), 2u);
  shares.Add(2, 2);
  EXPECT_TRUE(shares.CanTake(3, kOther));
}

TEST(SharesTest, SomethingIsLeftForOneMoreUserUntilAllIsTaken) {
  Shares shares(1024);
  uint32_t users = 0;
  while (shares.CanTake(users, kOther)) {
    shares.Add(users, shares.ShareOf(users, kOther));
    ++users;
  }

  EXPECT_EQ(shares.held(), shares.most());
  EXPECT_GE(users, 11u);
}

TEST(SharesTest, ThePrivilegedHaveAllThatIsLeftAndWhatIsKeptForThem) {
  Shares shares(8, 2);

  for (uint32_t user = 1; shares.CanTake(user, kOther); ++user)
    shares.Add(user, shares.ShareOf(user, kOther));

  EXPECT_EQ(shares.held(), 6u);
  EXPECT_TRUE(shares.CanTake(0, kPrivileged, 2));
  EXPECT_FALSE(shares.CanTake(0, kPrivileged, 3));
}

TEST(SharesTest, WhatIsGivenBackMayBeTakenAgain) {
  Shares shares(2);
  shares.Add(1);
  ASSERT_FALSE(shares.CanTake(1, kOther));

  shares.Remove(1);
  shares.Remove(7);  // holds nothing

  EXPECT_TRUE(shares.CanTake(1, kOther));
  EXPECT_EQ(shares.held(), 0u);
}

TEST(SharesTest, TheOnlyOneOfItsKindMayBeTaken) {
  EXPECT_TRUE(Shares(1).CanTake(5, kOther));
  EXPECT_FALSE(Shares(0).CanTake(5, kOther));
  EXPECT_FALSE(Shares(1).CanTake(5, kOther, 2));
}

}  // namespace
}  // namespace penstock::base
