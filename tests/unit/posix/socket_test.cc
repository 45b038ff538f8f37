#include "common/posix/socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

#include "common/posix/process.h"

namespace penstock::posix {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string Text(const Message& message) {
  return std::string(reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size());
}

class SocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/penstock-socket-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    path_ = folder_ + "/s";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A connected pair. The listening side's end comes first.
  std::pair<Fd, Fd> Connected(SocketKind kind) {
    const auto listener = Listen(path_, kind);
    EXPECT_TRUE(listener.ok()) << listener.status();
    auto theirs = Connect(path_, kind);
    EXPECT_TRUE(theirs.ok()) << theirs.status();
    auto ours = Accept(*listener);
    EXPECT_TRUE(ours.ok() && *ours != nullptr);
    return {*(*ours)->Duplicate(), std::move(*theirs)};
  }

  std::string folder_, path_;
};

TEST_F(SocketTest, WhereNobodyListensNobodyIsReached) {
  EXPECT_EQ(Connect(path_, SocketKind::kStream).status().code(), absl::StatusCode::kUnavailable);
  { const auto dead = Listen(path_, SocketKind::kStream); }

  const absl::Status status = Connect(path_, SocketKind::kStream).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
}

TEST_F(SocketTest, ThePathMustFitAndMustNotBeAFile) {
  std::ofstream(path_) << "mine";

  EXPECT_EQ(Listen(path_, SocketKind::kStream).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(std::filesystem::exists(path_));
  EXPECT_EQ(Listen(std::string(200, 'x'), SocketKind::kStream).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// The error that an unprivileged user gets from Connect.
std::string StrangersRefusal(const std::string& path) {
  int words[2];
  if (::pipe(words) != 0) return "no pipe";
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
    const std::string refusal = Connect(path, SocketKind::kStream).status().ToString();
    ::_exit(::write(words[1], refusal.data(), refusal.size()) > 0 ? 0 : 1);
  }
  ::close(words[1]);
  char text[1024];
  const ssize_t got = ::read(words[0], text, sizeof(text));
  ::close(words[0]);
  ::waitpid(stranger, nullptr, 0);
  return std::string(text, got > 0 ? static_cast<size_t>(got) : 0);
}

TEST_F(SocketTest, WhoMayNotConnectIsToldWhoMay) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const auto listener = Listen(path_, SocketKind::kStream);
  ASSERT_TRUE(listener.ok());
  const auto reported_with_folder_mode = [&](mode_t mode) {
    EXPECT_EQ(::chmod(folder_.c_str(), mode), 0);
    return StrangersRefusal(path_);
  };

  // The mode of the socket, or of its folder, keeps strangers out.
  for (mode_t mode : {0755, 0750}) {
    EXPECT_THAT(
        reported_with_folder_mode(mode),
        StartsWith("PERMISSION_DENIED: " + path_ + ": user 65534 is not a member of group 'root'"));
  }
  EXPECT_THAT(reported_with_folder_mode(0700),
              StartsWith("PERMISSION_DENIED: " + path_ + ": only user 0 may connect"));
}

TEST_F(SocketTest, AListenersModeIs0660AndADeadOneIsReplaced) {
  { const auto dead = Listen(path_, SocketKind::kStream); }

  const auto listener = Listen(path_, SocketKind::kStream);

  ASSERT_TRUE(listener.ok()) << listener.status();
  struct stat status;
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0660u);
  EXPECT_TRUE(Connect(path_, SocketKind::kStream).ok());
}

TEST_F(SocketTest, AcceptDoesNotWait) {
  const auto listener = Listen(path_, SocketKind::kStream);
  ASSERT_TRUE(listener.ok());

  const auto none = Accept(*listener);

  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(*none, nullptr);
}

// A full queue refuses everyone, so one process must not fill it by connecting a few hundred times.
TEST_F(SocketTest, HundredsOfConnectionsThatNobodyAcceptsYetFillNoQueue) {
  constexpr int kMany = 500;
  int longest = 0;
  std::ifstream("/proc/sys/net/core/somaxconn") >> longest;
  if (longest < kMany) GTEST_SKIP() << "net.core.somaxconn is " << longest;
  const auto listener = Listen(path_, SocketKind::kStream);
  ASSERT_TRUE(listener.ok()) << listener.status();

  std::vector<Fd> waiting;
  for (int i = 0; i < kMany; ++i) {
    waiting.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(::connect(waiting.back().get(), reinterpret_cast<const sockaddr*>(&address),
                        sizeof(address)),
              0)
        << "connection " << i << ": " << std::strerror(errno);
  }
}

TEST_F(SocketTest, WhoClosesAConnectionAtOnceHangsUp) {
  const auto listener = Listen(path_, SocketKind::kStream);
  ASSERT_TRUE(listener.ok()) << listener.status();
  const auto answer = [&](bool greets) {
    std::jthread server([&] {
      for (;;) {
        auto connection = Accept(*listener);
        ASSERT_TRUE(connection.ok()) << connection.status();
        if (*connection == nullptr) continue;
        if (greets) {
          EXPECT_EQ(::send((*connection)->get(), "x", 1, MSG_NOSIGNAL), 1);
        }
        return;
      }
    });
    return HangsUpAtOnce(path_);
  };

  EXPECT_FALSE(answer(true).value());
  EXPECT_TRUE(answer(false).value());
  EXPECT_TRUE(absl::IsUnavailable(HangsUpAtOnce(folder_ + "/none").status()));
}

TEST_F(SocketTest, ThePeerIsWhoTheKernelSaysItIs) {
  const auto [ours, theirs] = Connected(SocketKind::kSeqPacket);

  const auto peer = PeerCredentials(ours);
  const auto groups = PeerGroups(ours);

  ASSERT_TRUE(peer.ok() && groups.ok());
  EXPECT_EQ(peer->pid, ::getpid());
  EXPECT_EQ(peer->uid, ::geteuid());
  EXPECT_EQ(peer->gid, ::getegid());
  std::vector<gid_t> own(256);
  own.resize(static_cast<size_t>(::getgroups(256, own.data())));
  EXPECT_THAT(*groups, ::testing::UnorderedElementsAreArray(own));
}

TEST_F(SocketTest, ThePeersPidfdSaysWhenItDies) {
  const auto listener = Listen(path_, SocketKind::kSeqPacket);
  ASSERT_TRUE(listener.ok());
  const pid_t child = ::fork();
  if (child == 0) {
    const auto socket = Connect(path_, SocketKind::kSeqPacket);
    (void)Receive(*socket, 16, seconds(20));
    ::_exit(0);
  }
  absl::StatusOr<ForeignFd> socket = Accept(*listener);
  while (socket.ok() && *socket == nullptr) socket = Accept(*listener);
  ASSERT_TRUE(socket.ok());
  const auto pidfd = PeerPidfd(**socket);
  const bool known = pidfd.ok();
  if (known) {
    EXPECT_TRUE(IsPidfd(*pidfd));
    EXPECT_FALSE(IsGone(*pidfd));
  }

  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);

  if (known) {
    EXPECT_TRUE(IsGone(*pidfd));
  } else {
    EXPECT_EQ(pidfd.status().code(), absl::StatusCode::kUnimplemented);
  }
}

TEST_F(SocketTest, MessagesThatCannotBeAreRefused) {
  const auto [ours, theirs] = Connected(SocketKind::kSeqPacket);
  const std::vector<int> too_many(kMaxMessageFds + 1, ours.get());

  EXPECT_EQ(Send(ours, {}, {}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Send(ours, Bytes("x"), too_many).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SocketTest, AMessageLongerThanExpectedIsAnErrorAndLeaksNoDescriptor) {
  const auto [ours, theirs] = Connected(SocketKind::kSeqPacket);
  const std::vector<int> fds = {ours.get()};
  const int lowest_free = ours.Duplicate()->get();
  ASSERT_TRUE(Send(ours, Bytes("four and more"), fds).ok());

  EXPECT_EQ(Receive(theirs, 4, seconds(1)).status().code(), absl::StatusCode::kInvalidArgument);

  EXPECT_EQ(ours.Duplicate()->get(), lowest_free);
}

TEST_F(SocketTest, NoMessageInTimeIsADeadlineAndAGonePeerIsUnavailable) {
  auto [ours, theirs] = Connected(SocketKind::kSeqPacket);

  EXPECT_EQ(Receive(ours, 16, milliseconds(5)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  theirs.Close();

  EXPECT_EQ(Receive(ours, 16, seconds(5)).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Send(ours, Bytes("x"), {}).code(), absl::StatusCode::kUnavailable);
}

TEST_F(SocketTest, APeerThatDoesNotReadNeverBlocksTheSender) {
  const auto [ours, theirs] = Connected(SocketKind::kSeqPacket);
  const std::string text(4096, 'x');

  absl::Status status;
  for (int i = 0; i < 100'000 && status.ok(); ++i) status = Send(ours, Bytes(text), {});

  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

// The kernel limits undelivered descriptors per user, whoever the receiver is. So this error
// differs from the one for a peer that doesn't read.
TEST_F(SocketTest, ThatOthersDoNotReceiveTheirDescriptorsIsNoFaultOfThisPeers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user without other processes";
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit few{.rlim_cur = 64, .rlim_max = 64};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0 || ::setresuid(54399, 54399, 54399) != 0) ::_exit(2);
    int unread[2], reading[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, unread) != 0) ::_exit(2);
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, reading) != 0) ::_exit(2);
    const Fd full(unread[0]), sound(reading[0]);
    const std::byte message{1};
    std::vector<int> numbers(kMaxMessageFds, 0);
    for (int sent = 0; sent < 10; ++sent) Send(full, std::span(&message, 1), numbers).IgnoreError();
    ::_exit(absl::IsAborted(Send(sound, std::span(&message, 1), numbers)) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(SocketTest, MessagesKeepTheirBoundsAndCarryDescriptors) {
  const auto [ours, theirs] = Connected(SocketKind::kSeqPacket);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reading(ends[0]), writing(ends[1]);
  const std::vector<int> fds = {reading.get(), writing.get()};

  ASSERT_TRUE(Send(ours, Bytes("one"), fds).ok());
  ASSERT_TRUE(Send(ours, Bytes("two"), {}).ok());
  const auto first = Receive(theirs, 64, seconds(5));
  const auto second = Receive(theirs, 64, seconds(5));

  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(Text(*first), "one");
  EXPECT_EQ(Text(*second), "two");
  EXPECT_TRUE(second->fds.empty());
  ASSERT_EQ(first->fds.size(), 2u);
  EXPECT_EQ(::fcntl(first->fds[0].get(), F_GETFD), FD_CLOEXEC);
  ASSERT_EQ(::write(first->fds[1].get(), "p", 1), 1);
  char byte = 0;
  ASSERT_EQ(::read(reading.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'p');
}

}  // namespace
}  // namespace penstock::posix
