#include "server/doorway/doorway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "common/posix/process.h"
#include "tests/support/files/temp_folder.h"
#include "tests/unit/doorway/visit.h"

namespace penstock::doorway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DoorwayTest : public ::testing::Test {
 protected:
  std::unique_ptr<Doorway> Open(DoorwayOptions options = {}) {
    options.path = path_;
    auto doorway = Doorway::Start(options, book_);
    EXPECT_TRUE(doorway.ok()) << doorway.status();
    return *std::move(doorway);
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "penstock.sock.door";
  GuestBook book_;
};

TEST_F(DoorwayTest, AnOldClientIsRefusedInWordsAndNeverArrives) {
  const auto doorway = Open();
  const posix::Fd socket = Enter(path_);
  shm::DoorwayHandshake handshake = GoodHandshake();
  handshake.header.version = 0;

  ASSERT_TRUE(Say(socket, &handshake, sizeof(handshake)).ok());
  const auto refused = ReadRefused(socket);

  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(refused->code, static_cast<uint32_t>(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(refused->header.version, shm::kProtocolVersion);
  EXPECT_THAT(refused->reason, HasSubstr("upgrade the client library"));
  EXPECT_TRUE(IsClosedByDaemon(socket));
  EXPECT_THAT(book_.events(), ElementsAre());
}

TEST_F(DoorwayTest, GarbageInsteadOfAHandshakeIsRefused) {
  const auto doorway = Open();
  const posix::Fd small = Enter(path_);
  const posix::Fd large = Enter(path_);
  const std::vector<char> many(shm::kMaxDoorwayBytes + 1, 'x');

  ASSERT_TRUE(Say(small, "GET / HTTP/1.1", 14).ok());
  ASSERT_TRUE(Say(large, many.data(), many.size()).ok());

  EXPECT_TRUE(ReadRefused(small).ok());
  EXPECT_TRUE(ReadRefused(large).ok());
  EXPECT_EQ(doorway->counts().bad_handshake, 2u);
  EXPECT_TRUE(IsClosedByDaemon(small));
  EXPECT_TRUE(IsClosedByDaemon(large));
}

TEST_F(DoorwayTest, WhoSaysNothingIsRefusedWhenItsTimeIsOver) {
  const auto doorway = Open({.handshake_timeout = std::chrono::milliseconds(20)});
  const posix::Fd socket = Enter(path_);

  const auto refused = ReadRefused(socket);

  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_THAT(refused->reason, HasSubstr("no Hello arrived in time"));
  EXPECT_TRUE(IsClosedByDaemon(socket));
}

TEST_F(DoorwayTest, AFloodOfSilentConnectionsDoesNotKeepOthersOut) {
  const auto doorway = Open();
  std::vector<posix::Fd> flood;
  for (int i = 0; i < 200; ++i) flood.push_back(Enter(path_));

  const posix::Fd socket = EnterAndSendHandshake(path_);

  EXPECT_TRUE(ReadWelcome(socket).ok());
  const auto refused = ReadRefused(flood.front());
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_THAT(refused->reason, HasSubstr("have not sent Hello"));
}

TEST_F(DoorwayTest, MorePeersThanAllowedAreRefusedUntilOneLeaves) {
  const auto doorway = Open({.max_peers = 1});
  posix::Fd first = EnterAndSendHandshake(path_);
  ASSERT_TRUE(ReadWelcome(first).ok());

  const auto refused = ReadRefused(EnterAndSendHandshake(path_));
  first.Close();
  ASSERT_TRUE(book_.WaitForEvents(2));
  const posix::Fd third = EnterAndSendHandshake(path_);

  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(refused->code, static_cast<uint32_t>(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(refused->reason, HasSubstr("1 clients"));
  EXPECT_EQ(doorway->counts().no_place, 1u);
  EXPECT_TRUE(ReadWelcome(third).ok());
}

TEST_F(DoorwayTest, WhoSpeaksAgainIsDisconnected) {
  const auto doorway = Open();
  const posix::Fd socket = EnterAndSendHandshake(path_);
  ASSERT_TRUE(ReadWelcome(socket).ok());

  ASSERT_TRUE(Say(socket, "more", 4).ok());

  EXPECT_TRUE(IsClosedByDaemon(socket));
  EXPECT_EQ(doorway->counts().spoke_again, 1u);
  ASSERT_TRUE(book_.WaitForEvents(2));
  EXPECT_THAT(book_.events(), ElementsAre("arrived 1", "disconnected 1"));
}

TEST_F(DoorwayTest, APeerThatIsGoneOrNeverWasCannotBeSentTo) {
  const auto doorway = Open();
  posix::Fd socket = EnterAndSendHandshake(path_);
  ASSERT_TRUE(ReadWelcome(socket).ok());
  socket.Close();
  ASSERT_TRUE(book_.WaitForEvents(2));

  EXPECT_TRUE(absl::IsUnavailable(doorway->Send(book_.arrived()[0].id, "x", 1, {})));
  EXPECT_TRUE(absl::IsUnavailable(doorway->Send(PeerId(99), "x", 1, {})));
}

TEST_F(DoorwayTest, APeerThatDoesNotReadIsNotWaitedForButDisconnected) {
  const auto doorway = Open();
  const posix::Fd socket = EnterAndSendHandshake(path_);
  ASSERT_TRUE(book_.WaitForEvents(1));

  absl::Status sent;
  const shm::DoorwaySegment message{};
  int count = 0;
  for (; count < 100'000 && sent.ok(); ++count) {
    sent = doorway->Send(book_.arrived()[0].id, &message, sizeof(message), {});
  }

  EXPECT_TRUE(absl::IsResourceExhausted(sent)) << sent;
  EXPECT_GT(count, 200);
  ASSERT_TRUE(book_.WaitForEvents(2));
  EXPECT_EQ(doorway->counts().unread, 1u);
  EXPECT_THAT(book_.events(), ElementsAre("arrived 1", "disconnected 1"));
}

TEST_F(DoorwayTest, WhoReadsNowAndThenIsSentToForEver) {
  const auto doorway = Open();
  const posix::Fd socket = EnterAndSendHandshake(path_);
  ASSERT_TRUE(ReadWelcome(socket).ok());
  const posix::Fd event = *posix::MakeEvent();
  const shm::DoorwaySegment message{};

  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 100; ++k)
      ASSERT_TRUE(
          doorway->Send(book_.arrived()[0].id, &message, sizeof(message), {event.get()}).ok());
    for (int k = 0; k < 100; ++k)
      ASSERT_TRUE(posix::Receive(socket, 64, std::chrono::seconds(5)).ok());
  }
}

// A user may have half of what others leave of 32, so its two processes share 16.
TEST_F(DoorwayTest, DescriptorsThatAUserDoesNotReadAreItsOwnTroubleAlsoWhenItIsDisconnected) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can be somebody else";
  const auto doorway = Open({.max_undelivered = 32});
  ::chmod((directory_ / "").c_str(), 0755);
  ::chmod(path_.c_str(), 0777);
  const posix::Fd ours = EnterAndSendHandshake(path_);
  ASSERT_TRUE(book_.WaitForEvents(1));
  posix::Fd theirs;
  {
    const penstock::testing::WithoutPrivileges nobody;
    theirs = EnterAndSendHandshake(path_);
  }
  ASSERT_TRUE(book_.WaitForEvents(2));
  const posix::Fd event = *posix::MakeEvent();
  const shm::DoorwaySegment message{};
  const auto send = [&](size_t peer) {
    return doorway->Send(book_.arrived()[peer].id, &message, sizeof(message), {event.get()});
  };

  int count = 0;
  absl::Status sent;
  while (count < 100 && (sent = send(1)).ok()) ++count;

  EXPECT_EQ(count, 16);
  EXPECT_TRUE(absl::IsResourceExhausted(sent)) << sent;
  ASSERT_TRUE(book_.WaitForEvents(3));
  EXPECT_EQ(book_.events().back(), "disconnected 2");
  EXPECT_TRUE(send(0).ok());
  // The client returns, and keeps what it did not read.
  posix::Fd again;
  {
    const penstock::testing::WithoutPrivileges nobody;
    again = EnterAndSendHandshake(path_);
  }
  ASSERT_TRUE(book_.WaitForEvents(4));
  EXPECT_TRUE(absl::IsResourceExhausted(send(2)));
  EXPECT_TRUE(send(0).ok());
  theirs.Close();
  std::this_thread::sleep_for(
      std::chrono::milliseconds(20));  // the check of all clients is rate-limited
  EXPECT_TRUE(send(2).ok());
}

TEST_F(DoorwayTest, WhoHoldsNothingMayBeForgottenAndComesAndGoesForEver) {
  const auto doorway = Open({.max_peers = 2});
  for (uint64_t visit = 1; visit <= 50; ++visit) {
    posix::Fd socket = EnterAndSendHandshake(path_);
    ASSERT_TRUE(ReadWelcome(socket).ok()) << visit;
    const PeerId peer = book_.arrived().back().id;
    doorway->Forget(peer);  // ignored, because it is connected
    socket.Close();
    ASSERT_TRUE(book_.WaitForEvents(3 * visit - 1));
    doorway->Forget(peer);
    doorway->Forget(peer);
    ASSERT_TRUE(book_.WaitForEvents(3 * visit));
    EXPECT_EQ(book_.events().back(), absl::StrCat("gone ", peer.value()));
  }
}

TEST_F(DoorwayTest, WhoArrivesIsKnownByTheKernelsWordAndHoldsItsTicket) {
  const auto doorway = Open();
  const posix::Fd socket = EnterAndSendHandshake(path_);

  const auto welcome = ReadWelcome(socket);

  ASSERT_TRUE(welcome.ok()) << welcome.status();
  ASSERT_EQ(book_.arrived().size(), 1u);  // the visitor is told before the Welcome is sent
  const Peer peer = book_.arrived()[0];
  EXPECT_EQ(peer.pid, ::getpid());
  EXPECT_EQ(peer.uid, ::geteuid());
  EXPECT_EQ(peer.gid, ::getegid());
  EXPECT_EQ(peer.client, "test 1.0");
  EXPECT_EQ(std::memcmp(peer.ticket.bytes, welcome->ticket, sizeof(welcome->ticket)), 0);
}

TEST_F(DoorwayTest, DescriptorsArriveInTheOrderTheyWereSent) {
  const auto doorway = Open();
  const posix::Fd socket = EnterAndSendHandshake(path_);
  ASSERT_TRUE(ReadWelcome(socket).ok());
  const posix::Fd first = *posix::MakeEvent();
  const posix::Fd second = *posix::MakeEvent();
  const PeerId peer = book_.arrived()[0].id;

  ASSERT_TRUE(doorway->Send(peer, "1", 1, {first.get()}).ok());
  ASSERT_TRUE(doorway->Send(peer, "2", 1, {first.get(), second.get()}).ok());
  const auto one = posix::Receive(socket, 64, std::chrono::seconds(5));
  const auto two = posix::Receive(socket, 64, std::chrono::seconds(5));

  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->fds.size(), 1u);
  EXPECT_EQ(two->fds.size(), 2u);
}

TEST_F(DoorwayTest, AClosedSocketIsADisconnectionAndNotADeath) {
  const auto doorway = Open();
  const pid_t child = Fork([this] {
    posix::Fd socket = EnterAndSendHandshake(path_);
    if (!ReadWelcome(socket).ok()) return 1;
    socket.Close();
    ::pause();  // stays alive, and may hold slots
    return 0;
  });

  ASSERT_TRUE(book_.WaitForEvents(2));
  EXPECT_THAT(book_.events(), ElementsAre("arrived 1", "disconnected 1"));

  ::kill(child, SIGKILL);
  ASSERT_TRUE(book_.WaitForEvents(3));
  EXPECT_THAT(book_.events(), ElementsAre("arrived 1", "disconnected 1", "gone 1"));
  WaitForExit(child);
}

TEST_F(DoorwayTest, AKilledClientIsGoneExactlyOnce) {
  const auto doorway = Open();
  const pid_t child = Fork([this] {
    const posix::Fd socket = EnterAndSendHandshake(path_);
    ::pause();
    return 0;
  });
  ASSERT_TRUE(book_.WaitForEvents(1));

  ::kill(child, SIGKILL);
  WaitForExit(child);
  ASSERT_TRUE(book_.WaitForEvents(3));
  const posix::Fd another = EnterAndSendHandshake(path_);  // the thread has completed a pass since
  ASSERT_TRUE(ReadWelcome(another).ok());

  EXPECT_THAT(book_.events(), ElementsAre("arrived 1", "disconnected 1", "gone 1", "arrived 2"));
}

TEST_F(DoorwayTest, AForkedChildThatKeepsTheSocketDoesNotKeepItsParentAlive) {
  const auto doorway = Open();
  int hold[2];
  ASSERT_EQ(::pipe(hold), 0);
  const pid_t parent = Fork([&] {
    const posix::Fd socket = EnterAndSendHandshake(path_);
    if (!ReadWelcome(socket).ok()) return 1;
    Fork([&] {  // ends when the test closes its end of the pipe
      ::close(hold[1]);
      char byte;
      return static_cast<int>(::read(hold[0], &byte, 1));
    });
    return 0;
  });

  EXPECT_EQ(WaitForExit(parent), 0);
  EXPECT_TRUE(book_.WaitForEvents(3));

  EXPECT_THAT(book_.events(), ElementsAre("arrived 1", "disconnected 1", "gone 1"));
  ::close(hold[0]);
  ::close(hold[1]);
}

TEST_F(DoorwayTest, EveryConnectionOfAProcessEndsWithIt) {
  const auto doorway = Open();
  const pid_t child = Fork([this] {
    posix::Fd first = EnterAndSendHandshake(path_);
    if (!ReadWelcome(first).ok()) return 1;
    const posix::Fd second = EnterAndSendHandshake(path_);
    return ReadWelcome(second).ok() ? 0 : 1;
  });

  EXPECT_EQ(WaitForExit(child), 0);
  ASSERT_TRUE(book_.WaitForEvents(6));

  std::vector<std::string> events = book_.events();
  EXPECT_EQ(std::count(events.begin(), events.end(), "gone 1"), 1);
  EXPECT_EQ(std::count(events.begin(), events.end(), "gone 2"), 1);
  EXPECT_EQ(std::count(events.begin(), events.end(), "disconnected 1"), 1);
  EXPECT_EQ(std::count(events.begin(), events.end(), "disconnected 2"), 1);
}

TEST_F(DoorwayTest, ItsEndClosesConnectionsAndRemovesTheSocket) {
  auto doorway = Open();
  const posix::Fd socket = EnterAndSendHandshake(path_);
  ASSERT_TRUE(ReadWelcome(socket).ok());

  doorway.reset();

  EXPECT_TRUE(IsClosedByDaemon(socket));
  EXPECT_NE(::access(path_.c_str(), F_OK), 0);
}

TEST_F(DoorwayTest, TheSocketBelongsToTheGroupAndToNobodyElse) {
  const auto doorway = Open({.group = ::getegid()});

  struct stat status;
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);

  EXPECT_EQ(status.st_mode & 0777, 0660u);
  EXPECT_EQ(status.st_gid, ::getegid());
}

}  // namespace
}  // namespace penstock::doorway
