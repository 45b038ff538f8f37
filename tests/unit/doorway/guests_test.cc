#include "server/doorway/guests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.h"

namespace penstock::doorway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint32_t kOwner = 999, kAlice = 1000, kMallory = 1001;

uint64_t FillWith(Guests& guests, uint32_t user, uint64_t first_peer) {
  uint64_t count = 0;
  for (; guests.MayEnter(user).ok(); ++count) guests.Enter(PeerId(first_peer + count), user);
  return count;
}

TEST(GuestsTest, OneUserTakesHalfOfWhatOthersLeaveAndIsToldInWords) {
  Guests guests(32, kOwner);

  EXPECT_EQ(FillWith(guests, kMallory, 1), 15u);

  EXPECT_THAT(MessageOf(guests.MayEnter(kMallory)),
              AllOf(HasSubstr("user 1001 has 15 of the 32 connections"),
                    HasSubstr("server.max_connections")));
  EXPECT_EQ(FillWith(guests, kAlice, 100), 8u);
}

TEST(GuestsTest, SomePlacesAreForThoseInCharge) {
  Guests guests(32, kOwner);
  for (uint32_t user = 1; user < 50; ++user) FillWith(guests, user, user * 1000);

  EXPECT_TRUE(guests.MayEnter(kOwner).ok());
  EXPECT_TRUE(guests.MayEnter(0).ok());
  EXPECT_EQ(FillWith(guests, kOwner, 100'000), 2u);
  EXPECT_THAT(MessageOf(guests.MayEnter(0)), HasSubstr("maximum of 32 clients"));
}

TEST(GuestsTest, WhereNobodyIsInChargeRootIsAUserLikeOthers) {
  Guests guests(32, std::nullopt);

  EXPECT_EQ(FillWith(guests, 0, 1), 16u);
  EXPECT_EQ(FillWith(guests, kAlice, 100), 8u);
}

TEST(GuestsTest, WhoLeavesAndIsForgottenMakesRoom) {
  Guests guests(2, kOwner);
  for (uint64_t peer = 1; peer < 1000; ++peer) {
    ASSERT_TRUE(guests.MayEnter(kAlice).ok()) << peer;
    guests.Enter(PeerId(peer), kAlice);
    guests.LeavePlace(PeerId(peer));
    guests.Forget(PeerId(peer));
    guests.Forget(PeerId(peer));  // a second call changes nothing
  }
}

TEST(GuestsTest, WhoLeavesWithSessionsOpenIsLimitedAloneAndToldWhy) {
  Guests guests(4, kOwner);
  uint64_t peer = 0;
  while (guests.MayEnter(kMallory).ok() && peer < 1000) {
    guests.Enter(PeerId(++peer), kMallory);
    guests.LeavePlace(PeerId(peer));
  }

  EXPECT_EQ(peer, 8u);
  EXPECT_THAT(MessageOf(guests.MayEnter(kMallory)), HasSubstr("did not close their sessions"));
  EXPECT_TRUE(guests.MayEnter(kAlice).ok());
}

}  // namespace
}  // namespace penstock::doorway
