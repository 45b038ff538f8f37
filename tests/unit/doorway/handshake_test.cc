#include "server/doorway/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "common/posix/process.h"
#include "tests/support/message_of.h"
#include "tests/unit/doorway/visit.h"

namespace penstock::doorway {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> BytesOf(const shm::DoorwayHandshake& handshake) {
  std::vector<std::byte> bytes(sizeof(handshake));
  std::memcpy(bytes.data(), &handshake, sizeof(handshake));
  return bytes;
}

absl::Status NoPeerPidfd() { return absl::UnimplementedError("before Linux 6.5"); }

std::vector<posix::Fd> One(posix::Fd fd) {
  std::vector<posix::Fd> fds;
  fds.push_back(std::move(fd));
  return fds;
}

TEST(HandshakeTest, AnOldClientIsToldBothVersionsAndToUpgradeTheClient) {
  shm::DoorwayHandshake handshake = GoodHandshake();
  handshake.header.version = shm::kProtocolVersion - 1;

  const auto client = ReadHandshake(BytesOf(handshake));

  EXPECT_TRUE(absl::IsFailedPrecondition(client.status()));
  EXPECT_THAT(MessageOf(client.status()), HasSubstr("the client speaks protocol version 0"));
  EXPECT_THAT(MessageOf(client.status()), HasSubstr("this daemon version 1"));
  EXPECT_THAT(MessageOf(client.status()), HasSubstr("upgrade the client library"));
}

TEST(HandshakeTest, ANewerClientWithALongerHandshakeIsToldToUpgradeTheDaemon) {
  shm::DoorwayHandshake handshake = GoodHandshake();
  handshake.header.version = shm::kProtocolVersion + 1;
  std::vector<std::byte> bytes = BytesOf(handshake);
  bytes.resize(200);

  const auto client = ReadHandshake(bytes);

  EXPECT_TRUE(absl::IsFailedPrecondition(client.status()));
  EXPECT_THAT(MessageOf(client.status()), HasSubstr("upgrade the daemon"));
}

TEST(HandshakeTest, AClientIsWelcomedInTheVersionThatItSpeaks) {
  const shm::DoorwayHandshake handshake = GoodHandshake();

  EXPECT_EQ(ReadHandshake(BytesOf(handshake))->version, shm::kProtocolVersion);
  EXPECT_EQ(WelcomeWith(rpc::Ticket(), 7).header.version, 7u);
}

TEST(HandshakeTest, WhatIsNoHandshakeIsRefused) {
  shm::DoorwayHandshake wrong_kind = GoodHandshake();
  wrong_kind.header.kind = shm::DoorwayKind::kWelcome;
  shm::DoorwayHandshake wrong_magic = GoodHandshake();
  wrong_magic.header.magic = 0;
  std::vector<std::byte> cut = BytesOf(GoodHandshake());
  cut.pop_back();

  EXPECT_TRUE(absl::IsInvalidArgument(ReadHandshake({}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadHandshake(BytesOf(wrong_kind)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadHandshake(BytesOf(wrong_magic)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadHandshake(cut).status()));
}

TEST(HandshakeTest, AClientsNameIsMadePrintableAndEndsSomewhere) {
  shm::DoorwayHandshake handshake = GoodHandshake();
  std::memset(handshake.client, 'x', sizeof(handshake.client));  // no NUL byte
  handshake.client[0] = '\x1b';

  const auto client = ReadHandshake(BytesOf(handshake));

  ASSERT_TRUE(client.ok());
  EXPECT_EQ(client->client.size(), 64u);
  EXPECT_EQ(client->client.substr(0, 2), "?x");
}

TEST(PidfdTest, WithoutTheKernelsWordAMissingPidfdIsRefusedInWords) {
  const auto pidfd = ChoosePidfd(NoPeerPidfd(), {}, ::getpid());

  EXPECT_TRUE(absl::IsInvalidArgument(pidfd.status()));
  EXPECT_THAT(MessageOf(pidfd.status()), HasSubstr("a pidfd of its sender; this one carried 0"));
}

TEST(PidfdTest, WhatIsNoPidfdIsRefused) {
  posix::Fd event = *posix::MakeEvent();

  const auto pidfd = ChoosePidfd(NoPeerPidfd(), One(std::move(event)), ::getpid());

  EXPECT_TRUE(absl::IsInvalidArgument(pidfd.status()));
  EXPECT_THAT(MessageOf(pidfd.status()), HasSubstr("is not a pidfd"));
}

TEST(PidfdTest, APidfdOfAnotherProcessIsRefused) {
  posix::Fd of_parent = *posix::OpenPidfd(::getppid());

  const auto pidfd = ChoosePidfd(NoPeerPidfd(), One(std::move(of_parent)), ::getpid());

  EXPECT_TRUE(absl::IsPermissionDenied(pidfd.status()));
}

TEST(PidfdTest, WithoutTheKernelsWordTheClientsOwnPidfdServes) {
  posix::Fd own = *posix::OpenPidfd(::getpid());

  EXPECT_TRUE(ChoosePidfd(NoPeerPidfd(), One(std::move(own)), ::getpid()).ok());
}

TEST(PidfdTest, InASiblingPidNamespaceTheClientsOwnPidfdServes) {
  posix::Fd own = *posix::OpenPidfd(::getpid());

  EXPECT_TRUE(ChoosePidfd(NoPeerPidfd(), One(std::move(own)), 0).ok());
}

TEST(PidfdTest, TheKernelsWordNeedsNoneOfTheClient) {
  EXPECT_TRUE(ChoosePidfd(posix::OpenPidfd(::getpid()), {}, ::getpid()).ok());
}

TEST(TicketTest, TwoTicketsDiffer) { EXPECT_FALSE(*NewTicket() == *NewTicket()); }

TEST(RefusedTest, ALongReasonIsCutAndStillEnds) {
  const shm::DoorwayRefused refused = RefusedFor(absl::InternalError(std::string(1000, 'x')));

  EXPECT_EQ(::strnlen(refused.reason, sizeof(refused.reason)), sizeof(refused.reason) - 1);
}

}  // namespace
}  // namespace penstock::doorway
