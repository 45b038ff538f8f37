// Hosts and Python workers at the doorway: which of them enter, and what they get there.
#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>

#include "common/posix/process.h"
#include "common/shm/python_host.h"
#include "server/doorway/doorway.h"
#include "tests/support/files/temp_folder.h"
#include "tests/unit/doorway/visit.h"

namespace penstock::doorway {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Code = absl::StatusCode;

class RolesTest : public ::testing::Test {
 protected:
  // A private daemon's doorway, unless the options say otherwise.
  std::unique_ptr<Doorway> Open(DoorwayOptions options = {.makers = ::geteuid()}) {
    options.path = path_;
    auto doorway = Doorway::Start(options, book_);
    EXPECT_TRUE(doorway.ok()) << doorway.status();
    return *std::move(doorway);
  }

  // Expects a refusal with this code, and returns its words.
  static std::string RefusalOf(const posix::Fd& socket, Code code) {
    const auto refused = ReadRefused(socket);
    if (!refused.ok()) return refused.status().ToString();
    EXPECT_EQ(refused->code, static_cast<uint32_t>(code)) << refused->reason;
    EXPECT_TRUE(IsClosedByDaemon(socket));
    return refused->reason;
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "penstock.sock.door";
  GuestBook book_;
};

size_t OpenFiles() {
  size_t count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

TEST_F(RolesTest, ASystemDaemonAdmitsNoMakersInWords) {
  const auto doorway = Open({});

  EXPECT_THAT(RefusalOf(EnterWith(path_, HostHandshake()), Code::kFailedPrecondition),
              AllOf(HasSubstr("not a private one"), HasSubstr("use a private daemon")));
  EXPECT_THAT(RefusalOf(EnterWith(path_, WorkerHandshake()), Code::kFailedPrecondition),
              HasSubstr("not a private one"));
  EXPECT_EQ(book_.asked(), 0u);
  EXPECT_THAT(book_.events(), IsEmpty());
  EXPECT_TRUE(ReadWelcome(EnterAndSendHandshake(path_)).ok());
}

TEST_F(RolesTest, MakersOfAnotherUserAreRefusedAlsoThoseOfRoot) {
  const auto doorway = Open({.makers = ::geteuid() + 7});

  for (const auto& words :
       {RefusalOf(EnterWith(path_, HostHandshake()), Code::kPermissionDenied),
        RefusalOf(EnterWith(path_, WorkerHandshake()), Code::kPermissionDenied)}) {
    EXPECT_THAT(words, HasSubstr(absl::StrCat("only processes of user ", ::geteuid() + 7)));
    EXPECT_THAT(words, HasSubstr(absl::StrCat("this one is of user ", ::geteuid())));
  }
  EXPECT_EQ(book_.asked(), 0u);
  EXPECT_THAT(book_.events(), IsEmpty());
}

TEST_F(RolesTest, TheKernelSaysWhoseProcessAMakerIs) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can be somebody else";
  const auto doorway = Open();
  ::chmod((directory_ / "").c_str(), 0755);
  ::chmod(path_.c_str(), 0777);
  posix::Fd theirs;
  {
    const penstock::testing::WithoutPrivileges nobody;
    theirs = EnterWith(path_, HostHandshake());
  }

  EXPECT_THAT(RefusalOf(theirs, Code::kPermissionDenied), HasSubstr("of user 65534"));
  EXPECT_TRUE(ReadWelcome(EnterWith(path_, HostHandshake())).ok());
}

TEST_F(RolesTest, WhomNoDatasetAsksForIsRefusedInTheVisitorsWords) {
  const auto doorway = Open();
  book_.Refuse(absl::NotFoundError("nobody asks for you"));

  EXPECT_EQ(RefusalOf(EnterWith(path_, HostHandshake()), Code::kNotFound), "nobody asks for you");
  EXPECT_EQ(RefusalOf(EnterWith(path_, WorkerHandshake()), Code::kNotFound), "nobody asks for you");
  EXPECT_EQ(book_.asked(), 2u);
  EXPECT_THAT(book_.events(), IsEmpty());
  EXPECT_TRUE(ReadWelcome(EnterAndSendHandshake(path_)).ok());
  EXPECT_EQ(book_.asked(), 2u);  // clients need not be asked for
}

TEST_F(RolesTest, WhoIsRefusedLeavesNothingBehind) {
  const auto doorway = Open({.max_peers = 1, .makers = ::geteuid()});
  book_.Refuse(absl::NotFoundError("nobody asks for you"));
  const size_t before = OpenFiles();

  for (int i = 0; i < 10; ++i) RefusalOf(EnterWith(path_, HostHandshake()), Code::kNotFound);

  EXPECT_EQ(OpenFiles(), before);
  book_.Refuse(absl::OkStatus());
  EXPECT_TRUE(ReadWelcome(EnterWith(path_, HostHandshake())).ok());
}

TEST_F(RolesTest, AHostArrivesWithItsTokenAndGetsNoTicket) {
  const auto doorway = Open();
  const posix::Fd socket = EnterWith(path_, HostHandshake());

  const auto welcome = ReadWelcome(socket);

  ASSERT_TRUE(welcome.ok()) << welcome.status();
  EXPECT_THAT(welcome->ticket, Each(0));
  EXPECT_EQ(welcome->header.version, shm::kProtocolVersion);
  ASSERT_TRUE(book_.WaitForEvents(1));
  const Peer host = book_.arrived()[0];
  EXPECT_EQ(host.role, Role::kHost);
  EXPECT_THAT(host.ticket.bytes, Each(0));
  EXPECT_EQ(std::memcmp(host.maker.token.data(), "abcdefghijklmnop", 16), 0);
  EXPECT_EQ(host.client, "host 1.0");
  EXPECT_EQ(host.pid, ::getpid());
  EXPECT_EQ(host.uid, ::geteuid());
}

TEST_F(RolesTest, AWorkerArrivesWithItsHostsTokenPlaceAndStart) {
  const auto doorway = Open();
  const posix::Fd socket = EnterWith(path_, WorkerHandshake());

  const auto welcome = ReadWelcome(socket);

  ASSERT_TRUE(welcome.ok()) << welcome.status();
  EXPECT_THAT(welcome->ticket, Each(0));
  ASSERT_TRUE(book_.WaitForEvents(1));
  const Peer worker = book_.arrived().at(0);
  EXPECT_EQ(worker.role, Role::kWorker);
  EXPECT_EQ(std::memcmp(worker.maker.token.data(), "abcdefghijklmnop", 16), 0);
  EXPECT_EQ(worker.maker.place, 3u);
  EXPECT_EQ(worker.maker.start, 1u);
}

TEST_F(RolesTest, AClientIsNoMakerAndIsKnownByItsTicket) {
  const auto doorway = Open();
  const posix::Fd socket = EnterAndSendHandshake(path_);
  ASSERT_TRUE(ReadWelcome(socket).ok());

  const Peer client = book_.arrived().at(0);

  EXPECT_EQ(client.role, Role::kClient);
  EXPECT_EQ(client.maker, MakerClaim());
  EXPECT_EQ(client.process, nullptr);
  EXPECT_FALSE(client.ticket == rpc::Ticket());
}

TEST_F(RolesTest, AMakersPidfdTellsItsDeathAlsoToTheVisitor) {
  const auto doorway = Open();
  const pid_t child = Fork([this] {
    const posix::Fd socket = EnterWith(path_, WorkerHandshake());
    ::pause();
    return 0;
  });
  const bool arrived = book_.WaitForEvents(1);
  const auto process = arrived ? book_.arrived()[0].process : nullptr;
  const bool lived = process != nullptr && !posix::IsGone(*process);

  ::kill(child, SIGKILL);
  WaitForExit(child);

  ASSERT_NE(process, nullptr);
  EXPECT_TRUE(posix::IsPidfd(*process));
  EXPECT_TRUE(lived);
  EXPECT_TRUE(posix::IsGone(*process));
  ASSERT_TRUE(book_.WaitForEvents(3));
  EXPECT_THAT(book_.events(), ElementsAre("arrived 1", "disconnected 1", "gone 1"));
  EXPECT_TRUE(posix::IsGone(*process));  // the doorway has closed its own
}

TEST_F(RolesTest, AMakerThatSpeaksAgainIsDisconnected) {
  const auto doorway = Open();
  const posix::Fd host = EnterWith(path_, HostHandshake());
  const posix::Fd worker = EnterWith(path_, WorkerHandshake());
  ASSERT_TRUE(ReadWelcome(host).ok() && ReadWelcome(worker).ok());
  const shm::DoorwayWorker again = WorkerHandshake();

  ASSERT_TRUE(Say(worker, &again, sizeof(again)).ok());
  EXPECT_TRUE(IsClosedByDaemon(worker));
  ASSERT_TRUE(Say(host, "more", 4).ok());
  EXPECT_TRUE(IsClosedByDaemon(host));

  EXPECT_EQ(doorway->counts().spoke_again, 2u);
  ASSERT_TRUE(book_.WaitForEvents(4));
  EXPECT_THAT(book_.events(),
              ElementsAre("arrived 1", "arrived 2", "disconnected 2", "disconnected 1"));
}

TEST_F(RolesTest, OneHostMayEnterForATokenAtATime) {
  const auto doorway = Open();
  posix::Fd first = EnterWith(path_, HostHandshake());
  ASSERT_TRUE(ReadWelcome(first).ok());
  shm::DoorwayHost handshake = HostHandshake();
  handshake.token[15] = 'z';

  EXPECT_THAT(RefusalOf(EnterWith(path_, HostHandshake()), Code::kResourceExhausted),
              HasSubstr("already has one"));
  EXPECT_EQ(doorway->counts().no_place, 1u);
  const posix::Fd other = EnterWith(path_, handshake);
  const posix::Fd worker = EnterWith(path_, WorkerHandshake());
  EXPECT_TRUE(ReadWelcome(other).ok() && ReadWelcome(worker).ok());
  first.Close();
  ASSERT_TRUE(book_.WaitForEvents(4));
  EXPECT_TRUE(ReadWelcome(EnterWith(path_, HostHandshake())).ok());
}

TEST_F(RolesTest, MakersTakePlacesLikeClients) {
  const auto doorway = Open({.max_peers = 2, .makers = ::geteuid()});
  posix::Fd host = EnterWith(path_, HostHandshake());
  const posix::Fd client = EnterAndSendHandshake(path_);
  ASSERT_TRUE(ReadWelcome(host).ok() && ReadWelcome(client).ok());

  EXPECT_THAT(RefusalOf(EnterWith(path_, WorkerHandshake()), Code::kResourceExhausted),
              HasSubstr("server.max_connections"));
  host.Close();
  ASSERT_TRUE(book_.WaitForEvents(3));
  EXPECT_TRUE(ReadWelcome(EnterWith(path_, WorkerHandshake())).ok());
}

TEST_F(RolesTest, MakersOfAnotherVersionOrLengthOrAtNoPlaceAreRefused) {
  const auto doorway = Open();
  shm::DoorwayHost newer = HostHandshake();
  newer.header.version = shm::kProtocolVersion + 1;
  struct Longer {
    shm::DoorwayWorker handshake = WorkerHandshake();
    uint32_t more = 0;
  };
  shm::DoorwayHandshake between = GoodHandshake();
  between.header.kind = shm::DoorwayKind::kHost;
  shm::DoorwayHeader header = HostHandshake().header;
  shm::DoorwayWorker outside = WorkerHandshake();
  outside.place = shm::kMaxPythonWorkers;
  shm::DoorwayWorker never = WorkerHandshake();
  never.start = 0;

  EXPECT_THAT(RefusalOf(EnterWith(path_, newer), Code::kFailedPrecondition),
              HasSubstr("upgrade the daemon"));
  EXPECT_THAT(RefusalOf(EnterWith(path_, Longer()), Code::kInvalidArgument),
              HasSubstr("got kind 9 with 44 bytes, expected a Hello of 40"));
  EXPECT_THAT(RefusalOf(EnterWith(path_, between), Code::kInvalidArgument),
              HasSubstr("got kind 8 with 80 bytes, expected a Hello of 96"));
  EXPECT_THAT(RefusalOf(EnterWith(path_, header), Code::kInvalidArgument),
              HasSubstr("got kind 8 with 16 bytes, expected a Hello of 96"));
  EXPECT_THAT(RefusalOf(EnterWith(path_, outside), Code::kInvalidArgument),
              HasSubstr("place: got 256, expected less than 256"));
  EXPECT_THAT(RefusalOf(EnterWith(path_, never), Code::kInvalidArgument),
              HasSubstr("start: got 0, expected 1 or more"));
  EXPECT_EQ(book_.asked(), 0u);
  EXPECT_EQ(doorway->counts().bad_handshake, 6u);
}

TEST_F(RolesTest, FilesThatAMakerPassesAreNotKept) {
  if (!posix::HasPeerPidfd()) GTEST_SKIP() << "SKIPPED: this kernel lacks SO_PEERPIDFD";
  const auto doorway = Open();
  const posix::Fd event = *posix::MakeEvent();
  const std::vector<int> many(posix::kMaxMessageFds, event.get());
  const shm::DoorwayHost handshake = HostHandshake();
  const size_t before = OpenFiles();
  const posix::Fd socket = Enter(path_);

  ASSERT_TRUE(posix::Send(socket, std::as_bytes(std::span(&handshake, 1)), many).ok());
  ASSERT_TRUE(ReadWelcome(socket).ok());

  // Both ends of the connection, the doorway's pidfd, and the one in the Peer.
  EXPECT_EQ(OpenFiles(), before + 4);
}

TEST_F(RolesTest, MakersAreSentDescriptorsInOrder) {
  const auto doorway = Open();
  const posix::Fd socket = EnterWith(path_, HostHandshake());
  ASSERT_TRUE(ReadWelcome(socket).ok());
  ASSERT_TRUE(book_.WaitForEvents(1));
  const posix::Fd event = *posix::MakeEvent();
  const int one = event.get();
  const shm::DoorwayMemory page{.header = {.magic = shm::kDoorwayMagic,
                                           .version = shm::kProtocolVersion,
                                           .kind = shm::DoorwayKind::kHostPage,
                                           .reserved = 0},
                                .bytes = sizeof(shm::PythonHostPage),
                                .reserved = 0};

  ASSERT_TRUE(doorway->Send(book_.arrived()[0].id, &page, sizeof(page), {one, one, one}).ok());
  const auto got = posix::Receive(socket, shm::kMaxDoorwayBytes, std::chrono::seconds(5));

  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->fds.size(), 3u);
  ASSERT_EQ(got->bytes.size(), sizeof(page));
  EXPECT_EQ(std::memcmp(got->bytes.data(), &page, sizeof(page)), 0);
}

// Sends to whoever arrives, at once.
class HastyVisitor final : public Visitor {
 public:
  explicit HastyVisitor(std::function<void(PeerId)> send) : send_(std::move(send)) {}
  absl::Status MayEnter(const Peer&) override { return absl::OkStatus(); }
  void OnArrived(const Peer& peer) override { send_(peer.id); }
  void OnDisconnected(PeerId) override {}
  void OnGone(PeerId) override {}

 private:
  const std::function<void(PeerId)> send_;
};

TEST_F(RolesTest, WhatAMakerIsSentOnArrivalComesAfterItsWelcome) {
  std::promise<Doorway*> started;
  const std::shared_future<Doorway*> to = started.get_future().share();
  HastyVisitor visitor([&](PeerId peer) { EXPECT_TRUE(to.get()->Send(peer, "page", 4, {}).ok()); });
  const auto doorway = Doorway::Start({.path = path_, .makers = ::geteuid()}, visitor);
  ASSERT_TRUE(doorway.ok()) << doorway.status();
  started.set_value(doorway->get());
  const posix::Fd socket = EnterWith(path_, HostHandshake());

  EXPECT_TRUE(ReadWelcome(socket).ok());
  const auto next = posix::Receive(socket, shm::kMaxDoorwayBytes, std::chrono::seconds(5));

  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->bytes.size(), 4u);
}

TEST_F(RolesTest, APeerCanBeClosedAndItsProcessIsStillWatched) {
  const auto doorway = Open();
  const pid_t child = Fork([this] {
    const posix::Fd socket = EnterWith(path_, WorkerHandshake());
    if (!ReadWelcome(socket).ok() || !IsClosedByDaemon(socket)) return 1;
    ::pause();
    return 0;
  });
  const bool arrived = book_.WaitForEvents(1);

  doorway->Close(PeerId(77));  // nobody
  if (arrived) doorway->Close(book_.arrived()[0].id);
  const bool disconnected = book_.WaitForEvents(2);
  if (arrived) doorway->Close(book_.arrived()[0].id);  // not connected any more
  ::kill(child, SIGKILL);
  WaitForExit(child);

  EXPECT_TRUE(disconnected);
  ASSERT_TRUE(book_.WaitForEvents(3));
  EXPECT_THAT(book_.events(), ElementsAre("arrived 1", "disconnected 1", "gone 1"));
}

TEST_F(RolesTest, AClosedMakersPlaceIsFreeAgain) {
  const auto doorway = Open();
  const posix::Fd first = EnterWith(path_, HostHandshake());
  ASSERT_TRUE(book_.WaitForEvents(1));

  doorway->Close(book_.arrived()[0].id);

  ASSERT_TRUE(book_.WaitForEvents(2));
  EXPECT_TRUE(ReadWelcome(EnterWith(path_, HostHandshake())).ok());
}

}  // namespace
}  // namespace penstock::doorway
