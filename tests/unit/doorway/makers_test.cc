#include "server/doorway/makers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/shm/python_host.h"
#include "tests/support/message_of.h"

namespace penstock::doorway {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kDaemonsUser = 999, kOtherUser = 1001;
constexpr HostToken kOneToken = {1}, kOtherToken = {2};

TEST(MakersTest, WhereNoneMayEnterNeitherMayTheOwnersOrRoots) {
  const Makers makers(std::nullopt);

  for (const uint32_t user : {0u, kDaemonsUser})
    for (const Role role : {Role::kHost, Role::kWorker})
      EXPECT_TRUE(absl::IsFailedPrecondition(makers.MayEnter(role, kOneToken, user)));
}

TEST(MakersTest, OnlyTheOwnersMayEnter) {
  const Makers makers(kDaemonsUser);

  EXPECT_TRUE(makers.MayEnter(Role::kHost, kOneToken, kDaemonsUser).ok());
  EXPECT_TRUE(makers.MayEnter(Role::kWorker, kOneToken, kDaemonsUser).ok());
  EXPECT_THAT(MessageOf(makers.MayEnter(Role::kHost, kOneToken, kOtherUser)),
              HasSubstr("only processes of user 999 may make batches"));
  EXPECT_TRUE(absl::IsPermissionDenied(makers.MayEnter(Role::kWorker, kOneToken, 0)));
}

TEST(MakersTest, AHostHasAsManyWorkersAsItsPageHasPlaces) {
  Makers makers(kDaemonsUser);
  uint64_t count = 0;
  for (; count < 1000 && makers.MayEnter(Role::kWorker, kOneToken, kDaemonsUser).ok(); ++count)
    makers.Enter(PeerId(count), Role::kWorker, kOneToken);

  EXPECT_EQ(count, shm::kMaxPythonWorkers);
  EXPECT_THAT(MessageOf(makers.MayEnter(Role::kWorker, kOneToken, kDaemonsUser)),
              HasSubstr("maximum of 256 Python workers"));
  EXPECT_TRUE(makers.MayEnter(Role::kHost, kOneToken, kDaemonsUser).ok());
  EXPECT_TRUE(makers.MayEnter(Role::kWorker, kOtherToken, kDaemonsUser).ok());
}

TEST(MakersTest, WhoLeavesMakesRoomOnceAndForItsOwnTokenAndRole) {
  Makers makers(kDaemonsUser);
  makers.Enter(PeerId(1), Role::kHost, kOneToken);
  makers.Enter(PeerId(2), Role::kHost, kOtherToken);
  makers.Enter(PeerId(3), Role::kWorker, kOneToken);

  makers.Leave(PeerId(2));
  makers.Leave(PeerId(3));
  makers.Leave(PeerId(99));  // a client
  EXPECT_THAT(MessageOf(makers.MayEnter(Role::kHost, kOneToken, kDaemonsUser)),
              HasSubstr("already has one"));
  makers.Leave(PeerId(1));
  EXPECT_TRUE(makers.MayEnter(Role::kHost, kOneToken, kDaemonsUser).ok());

  makers.Enter(PeerId(4), Role::kHost, kOneToken);
  makers.Leave(PeerId(1));
  EXPECT_FALSE(makers.MayEnter(Role::kHost, kOneToken, kDaemonsUser).ok());
}

}  // namespace
}  // namespace penstock::doorway
