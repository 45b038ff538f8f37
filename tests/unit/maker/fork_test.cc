// A host and its worker in forked processes, as a trainer forks them: after it connected to the
// daemon and used gRPC.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "common/posix/process.h"
#include "penstock/v1/feed.grpc.pb.h"
#include "tests/unit/maker/maker_daemon.h"

namespace penstock::client {
namespace {

// The number of this process's descriptors that are connected to the socket at this path.
int ConnectionsTo(const std::string& path) {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_un name{};
    socklen_t length = sizeof(name);
    const bool connected = ::getpeername(fd, reinterpret_cast<sockaddr*>(&name), &length) == 0;
    count += connected && name.sun_family == AF_UNIX && path == name.sun_path;
  }
  return count;
}

class ForkedHostTest : public ::testing::Test {
 protected:
  ForkedHostTest() {
    shm::PythonHostPage& page = page_.As<shm::PythonHostPage>();
    page.magic = shm::kPythonHostMagic;
    page.version = shm::kPythonHostVersion;
    page.capacity = shm::kMaxPythonWorkers;
    page.places[kAt.place].wanted_starts = kAt.start;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + end_.daemon.address(), grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    stub_ = v1::FeedService::NewStub(
        grpc::CreateChannel("unix:" + end_.daemon.address(), grpc::InsecureChannelCredentials()));
    UseGrpc();
    trainers_own_ = doorway::EnterAndSendHandshake(end_.daemon.address() + shm::kDoorwaySuffix);
    EXPECT_TRUE(end_.daemon.book().WaitForEvents(1));
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life_), 0);
  }
  ~ForkedHostTest() override { server_->Shutdown(std::chrono::system_clock::now()); }

  void SetUp() override {
#if defined(PENSTOCK_ASAN)
    GTEST_SKIP() << "GCC 12's AddressSanitizer does not hold its allocator's locks across a fork, "
                    "so the child hangs if a thread of gRPC allocates at that moment";
#endif
  }

  void UseGrpc() {
    grpc::ClientContext context;
    v1::DescribeDatasetResponse response;
    EXPECT_EQ(stub_->DescribeDataset(&context, {}, &response).error_code(),
              grpc::StatusCode::UNIMPLEMENTED);
  }

  // The forked host: 10 and more are steps that failed.
  int RunHost() {
    ::close(life_[0]);
    HostOptions options{.address = end_.daemon.address(),
                        .token = Token(),
                        .client = "forked 1.0",
                        .trainer = posix::OpenPidfd(::getppid()).value(),
                        .life = posix::Fd(life_[1])};
    auto entered = MakerHost::Enter(std::move(options));
    if (!entered.ok()) return 10;
    MakerHost& host = **entered;
    const std::string& address = end_.daemon.address();
    if (ConnectionsTo(address) != 1) return 11;
    if (!host.CloseInherited().ok()) return 12;
    if (ConnectionsTo(address) != 0) return 13;
    if (ConnectionsTo(address + shm::kDoorwaySuffix) != 1) return 14;
    for (;;) {
      const auto wanted = host.Next(Soon());
      if (!wanted.ok()) return absl::IsCancelled(wanted.status()) ? 0 : 1;
      for (const PlaceStart at : *wanted) {
        const pid_t self = ::getpid();
        const int words = host.MakeWords(at.place).value();
        const pid_t worker = doorway::Fork([&] { return RunWorker(host, at, self, words); });
        if (!host.NoteForked(at, worker).ok()) return 15;
      }
    }
  }

  int RunWorker(MakerHost& host, PlaceStart at, pid_t parent, int words) {
    host.LeaveInWorker(at.place);
    if (::getpgrp() != ::getpid()) return 26;
    if (ConnectionsTo(end_.daemon.address() + shm::kDoorwaySuffix) != 0) return 20;
    if (::write(words, "alive", 5) != 5) return 21;
    if (dies_with_host_ && !EndWithHost(parent).ok()) return 22;
    auto worker = MakerWorker::Enter(end_.daemon.address(), Token(), at, kPatience);
    if (!worker.ok()) return 23;
    (*worker)->Ready();
    for (;;) {
      const auto batch = (*worker)->Next(base::Now() + 4 * kPatience);
      if (!batch.ok()) return 24;
      std::memcpy(batch->room.data(), batch->ids.data(), batch->ids.size_bytes());
      if (!(*worker)->Done(batch->ids.size_bytes()).ok()) return 25;
    }
  }

  // Forks the host, plays the daemon until its worker is ready, and returns the host's pid.
  pid_t StartHost() {
    const pid_t host = doorway::Fork([this] { return RunHost(); });
    ::close(life_[1]);
    host_peer_ = AwaitMaker(doorway::Role::kHost);
    EXPECT_TRUE(end_.daemon
                    .Send(host_peer_.id, shm::DoorwayKind::kHostPage, sizeof(shm::PythonHostPage),
                          page_.fds())
                    .ok());
    end_.peer = AwaitMaker(doorway::Role::kWorker);
    EXPECT_TRUE(end_.daemon
                    .Send(end_.peer.id, shm::DoorwayKind::kChannel, sizeof(shm::PythonChannel),
                          end_.channel_memory.fds())
                    .ok());
    end_.SendSegment();
    EXPECT_TRUE(Eventually([this] { return end_.channel.ready == 1; }));
    return host;
  }

  doorway::Peer AwaitMaker(doorway::Role role) {
    const base::TimePoint deadline = Soon();
    while (base::Now() < deadline) {
      for (const doorway::Peer& peer : end_.daemon.book().arrived()) {
        if (peer.role == role) {
          end_.daemon.AwaitArrival();  // it has been welcomed
          return peer;
        }
      }
    }
    ADD_FAILURE() << "nobody arrived";
    return {};
  }

  bool WaitForEvent(const std::string& event) {
    return Eventually([&] {
      const auto events = end_.daemon.book().events();
      return std::find(events.begin(), events.end(), event) != events.end();
    });
  }

  WorkerEnd end_;
  Lent page_{sizeof(shm::PythonHostPage)};
  v1::FeedService::Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::FeedService::Stub> stub_;
  posix::Fd trainers_own_;
  int life_[2];
  doorway::Peer host_peer_;
  bool dies_with_host_ = true;
};

TEST_F(ForkedHostTest, ItForksAWorkerThatMakesABatchAndEndsWithTheTrainersSocket) {
  const pid_t host = StartHost();
  const uint64_t ids[] = {9, 8, 7, 6};
  std::memcpy(end_.slot() + 64, ids, sizeof(ids));

  end_.Push(WorkerEnd::Request(1));
  std::optional<shm::MakeAnswer> answer;
  ASSERT_TRUE(Eventually([&] { return (answer = end_.Pop()).has_value(); }));

  EXPECT_EQ(std::memcmp(end_.slot() + 128, ids, sizeof(ids)), 0);
  ::close(life_[0]);
  EXPECT_EQ(doorway::WaitForExit(host), 0);
  EXPECT_TRUE(WaitForEvent(absl::StrCat("disconnected ", end_.peer.id.value())));
  UseGrpc();  // the parent's connection is as it was
}

TEST_F(ForkedHostTest, AKilledHostIsSeenAlthoughItsWorkerLives) {
  dies_with_host_ = false;
  const pid_t host = StartHost();

  ::kill(host, SIGKILL);
  doorway::WaitForExit(host);

  EXPECT_TRUE(WaitForEvent(absl::StrCat("disconnected ", host_peer_.id.value())));
  EXPECT_FALSE(posix::IsGone(*end_.peer.process));
  ::kill(page_.As<shm::PythonHostPage>().places[kAt.place].pid, SIGKILL);
  ::close(life_[0]);
}

TEST_F(ForkedHostTest, AKilledHostTakesItsWorkersWithIt) {
  const pid_t host = StartHost();

  ::kill(host, SIGKILL);
  doorway::WaitForExit(host);

  EXPECT_TRUE(WaitForEvent(absl::StrCat("gone ", end_.peer.id.value())));
  ::close(life_[0]);
}

TEST_F(ForkedHostTest, AKilledWorkerIsReportedWithItsWords) {
  const pid_t host = StartHost();
  shm::PythonPlace& place = page_.As<shm::PythonHostPage>().places[kAt.place];

  ::kill(place.pid, SIGKILL);

  EXPECT_TRUE(Eventually([&] { return place.ended == 1; }));
  EXPECT_EQ(WTERMSIG(place.exit_status), SIGKILL);
  EXPECT_STREQ(place.words, "alive");
  ::close(life_[0]);
  EXPECT_EQ(doorway::WaitForExit(host), 0);
}

TEST_F(ForkedHostTest, WhileItLivesTheTrainersOwnConnectionsCanClose) {
  const pid_t host = StartHost();

  trainers_own_.Close();

  EXPECT_TRUE(WaitForEvent("disconnected 1"));
  ::close(life_[0]);
  EXPECT_EQ(doorway::WaitForExit(host), 0);
}

}  // namespace
}  // namespace penstock::client
