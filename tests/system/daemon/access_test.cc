// Tests who may connect: other users, old clients, directories owned by others, a second daemon.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "common/posix/socket.h"
#include "common/shm/doorway_wire.h"
#include "penstock/v1/feed.grpc.pb.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/greeting.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

constexpr uid_t kStranger = 54321;
constexpr gid_t kGroup = 54322;

#define SKIP_UNLESS_ROOT() \
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user"

Ended TrainAs(const Identity& user, const std::string& address, const std::string& dataset) {
  return RunProgram("penstock-test-trainer", {address, dataset, "take"}, user);
}

std::string SharedConfig(const std::string& group) {
  const std::string data = Photographs(24);
  return "server: {socket: SOCKET, group: '" + group + "', state_dir: ''}\nsource: {roots: [" +
         data + "]}\ndatasets: [{name: photographs, folder: " + data + "}]\n";
}

TEST(AccessTest, APrivateDaemonsSocketIsClosedToOtherUsersAndTheyAreToldWhy) {
  SKIP_UNLESS_ROOT();
  DaemonProcess daemon({.workers = 1});

  const Ended stranger = TrainAs({.user = kStranger}, daemon.address(), Photographs(24));

  EXPECT_EQ(stranger.exit_code, 1);
  EXPECT_THAT(stranger.output, HasSubstr("permission denied"));
  EXPECT_THAT(stranger.output, HasSubstr(daemon.address() + ": only user 0 may connect"));
  EXPECT_EQ(TrainAs({}, daemon.address(), Photographs(24)).exit_code, 0);
}

TEST(AccessTest, ASharedDaemonServesItsGroupAndTellsOthersWhichOneThatIs) {
  SKIP_UNLESS_ROOT();
  DaemonProcess daemon({.workers = 1, .config = SharedConfig(std::to_string(kGroup))});
  const Identity member = {.user = kStranger, .groups = {kGroup}};

  const Ended stranger = TrainAs({.user = kStranger}, daemon.address(), "photographs");
  const Ended served = TrainAs(member, daemon.address(), "photographs");

  EXPECT_EQ(stranger.exit_code, 1);
  EXPECT_THAT(stranger.output,
              AllOf(HasSubstr("permission denied"), HasSubstr("group " + std::to_string(kGroup)),
                    HasSubstr("is not a member")));
  EXPECT_EQ(served.exit_code, 0) << served.output;
}

TEST(AccessTest, ADirectoryInTmpThatIsNotOursIsRefusedThoughADaemonListensThere) {
  SKIP_UNLESS_ROOT();
  if (fs::exists("/run/penstock/penstock.sock")) GTEST_SKIP() << "this machine has a daemon";
  unsetenv("PENSTOCK_ADDRESS");
  unsetenv("XDG_RUNTIME_DIR");
  const std::string theirs = "/tmp/penstock-" + std::to_string(kStranger);
  DaemonProcess trap({.workers = 1});
  fs::remove_all(theirs);
  fs::create_directory(theirs);
  fs::permissions(theirs, fs::perms(0755));
  fs::create_symlink(trap.address(), theirs + "/penstock.sock");

  const Ended trainer = TrainAs({.user = kStranger}, "", Photographs(24));
  fs::remove_all(theirs);

  EXPECT_EQ(trainer.exit_code, 1);
  EXPECT_THAT(trainer.output, AllOf(HasSubstr("permission denied"),
                                    HasSubstr(theirs + " is not a directory of user " +
                                              std::to_string(kStranger))));
}

TEST(AccessTest, ASecondDaemonOnTheSameSocketRefusesToStart) {
  DaemonProcess daemon({.workers = 1});

  const Ended second = RunProgram("penstockd", {"--private", daemon.directory() + "/run"});

  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.output, HasSubstr("(pid " + std::to_string(daemon.pid()) + ")"));
  EXPECT_EQ(daemon.Status().pid(), daemon.pid());
}

TEST(AccessTest, AnOldClientIsToldBothVersionsAtTheDoorwayAndInEachOpening) {
  DaemonProcess daemon({.workers = 1});
  const std::string door = daemon.address() + shm::kDoorwaySuffix;
  const std::string words = "version " + std::to_string(shm::kProtocolVersion - 1);

  const auto old = posix::Connect(door, posix::SocketKind::kSeqPacket);
  const auto now = posix::Connect(door, posix::SocketKind::kSeqPacket);
  ASSERT_TRUE(old.ok() && now.ok());
  EXPECT_THAT(SendHandshake(*old, shm::kProtocolVersion - 1).refusal,
              AllOf(HasSubstr(words), HasSubstr("upgrade the client library")));
  const Greeting welcomed = SendHandshake(*now, shm::kProtocolVersion);
  ASSERT_EQ(welcomed.ticket.size(), 32u) << welcomed.refusal;

  const auto feed = v1::FeedService::NewStub(
      grpc::CreateChannel("unix:" + daemon.address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  context.AddMetadata(shm::kTicketMetadataKey, welcomed.ticket);
  v1::OpenSessionRequest request;
  request.set_protocol_version(shm::kProtocolVersion - 1);
  request.set_batch_size(8);
  request.mutable_feed()->set_dataset(Photographs(24));
  v1::OpenSessionResponse response;
  const grpc::Status status = feed->OpenSession(&context, request, &response);

  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << status.error_message();
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("protocol"), HasSubstr("upgrade")));
  EXPECT_EQ(daemon.Status().sessions(), 0u);
}

// Sends a Hello of this kind, with a token that nobody was given, and returns the daemon's answer.
template <typename Handshake>
std::string RefusalOf(const DaemonProcess& daemon, shm::DoorwayKind kind, Handshake handshake) {
  const auto socket =
      posix::Connect(daemon.address() + shm::kDoorwaySuffix, posix::SocketKind::kSeqPacket);
  if (!socket.ok()) return socket.status().ToString();
  handshake.header = {shm::kDoorwayMagic, shm::kProtocolVersion, kind, 0};
  return SendHandshake(*socket, std::as_bytes(std::span(&handshake, 1))).refusal;
}

// Whether a private daemon lets the process in and closes the connection, because no session's
// trainer got this token.
template <typename Handshake>
bool IsSentAway(DaemonProcess& daemon, shm::DoorwayKind kind, Handshake handshake) {
  const auto socket =
      posix::Connect(daemon.address() + shm::kDoorwaySuffix, posix::SocketKind::kSeqPacket);
  handshake.header = {shm::kDoorwayMagic, shm::kProtocolVersion, kind, 0};
  if (!socket.ok() ||
      !SendHandshake(*socket, std::as_bytes(std::span(&handshake, 1))).refusal.empty())
    return false;
  const auto next = posix::Receive(*socket, shm::kMaxDoorwayBytes, std::chrono::seconds(5));
  return absl::IsUnavailable(next.status());
}

TEST(AccessTest, ProcessesThatWouldMakeBatchesEnterNoSystemDaemonAndNoPrivateOneUnasked) {
  using Kind = shm::DoorwayKind;
  DaemonProcess system({.workers = 1, .config = SharedConfig(std::to_string(getegid()))});
  DaemonProcess own({.workers = 1});
  const shm::DoorwayWorker worker = {.header = {}, .token = {}, .place = 0, .start = 1};

  EXPECT_THAT(RefusalOf(system, Kind::kHost, shm::DoorwayHost{}), HasSubstr("not a private one"));
  EXPECT_THAT(RefusalOf(system, Kind::kWorker, worker), HasSubstr("not a private one"));
  EXPECT_TRUE(IsSentAway(own, Kind::kHost, shm::DoorwayHost{}));
  EXPECT_TRUE(IsSentAway(own, Kind::kWorker, worker));
}

// A ticket is not a password: it is worthless to anybody who finds one in a log or an environment.
TEST(AccessTest, ATicketOfAnotherUserOrProcessIsWorthNothing) {
  SKIP_UNLESS_ROOT();
  DaemonProcess daemon({.workers = 1, .config = SharedConfig(std::to_string(kGroup))});
  const auto socket =
      posix::Connect(daemon.address() + shm::kDoorwaySuffix, posix::SocketKind::kSeqPacket);
  ASSERT_TRUE(socket.ok());
  const Greeting ours = SendHandshake(*socket, shm::kProtocolVersion);
  ASSERT_EQ(ours.ticket.size(), 32u) << ours.refusal;
  const auto use_as = [&](const Identity& who) {
    return RunProgram("penstock-test-ticket", {daemon.address(), ours.ticket, "photographs"}, who);
  };

  const Ended stranger = use_as({.user = kStranger, .groups = {kGroup}});
  const Ended other_process = use_as({});

  EXPECT_THAT(stranger.output, HasSubstr("given to another user"));
  EXPECT_THAT(other_process.output, HasSubstr("given to another user or process"));
}

}  // namespace
}  // namespace penstock::testing
