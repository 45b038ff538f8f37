// Calls while the queue of connections at the daemon's socket is full.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <string>
#include <thread>

#include "client/src/connection/rpc.h"
#include "common/posix/socket.h"
#include "penstock/v1/feed.grpc.pb.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::client {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class FullQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto listener = posix::Listen(address_, posix::SocketKind::kStream);
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    ASSERT_EQ(::listen(listener_.get(), 0), 0);
    while (Fill()) continue;
    ASSERT_EQ(errno, EAGAIN);
  }

  // One more connection that waits in the queue.
  bool Fill() {
    posix::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    address_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
      return false;
    waiting_.push_back(std::move(socket));
    return true;
  }

  const testing::TempFolder folder_;
  const std::string address_ = folder_.path() + "/s";
  posix::Fd listener_;
  std::vector<posix::Fd> waiting_;
};

// Accepts the connections in the queue from some moment on, and serves those behind `skipped`.
class LateDaemon final : public v1::FeedService::Service {
 public:
  LateDaemon(const posix::Fd& listener, size_t skipped) {
    grpc::ServerBuilder builder;
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    thread_ = std::jthread([this, &listener, skipped](const std::stop_token& stop) {
      std::this_thread::sleep_for(milliseconds(300));
      for (size_t i = 0; !stop.stop_requested();) {
        auto connection = posix::Accept(listener);
        if (connection.ok() && *connection != nullptr && ++i > skipped)
          grpc::AddInsecureChannelFromFd(server_.get(), (*connection)->Duplicate()->Release());
        std::this_thread::sleep_for(milliseconds(5));
      }
    });
  }
  ~LateDaemon() override {
    thread_ = {};
    server_->Shutdown(std::chrono::system_clock::now());
  }

  grpc::Status GetVersion(grpc::ServerContext*, const v1::GetVersionRequest*,
                          v1::GetVersionResponse* response) override {
    response->set_protocol_version(7);
    return grpc::Status::OK;
  }

 private:
  std::unique_ptr<grpc::Server> server_;
  std::jthread thread_;
};

TEST_F(FullQueueTest, ACallWaitsForRoom) {
  LateDaemon daemon(listener_, waiting_.size());
  Rpc rpc(address_, "ticket");

  const auto version = rpc.GetVersion(std::chrono::seconds(20));

  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(version->protocol_version(), 7u);
}

TEST_F(FullQueueTest, ACallEndsWithTheReasonWithinItsTimeout) {
  Rpc rpc(address_, "ticket");
  const base::TimePoint began = base::Now();

  const absl::Status status = rpc.GetVersion(milliseconds(400)).status();

  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("its queue is full"));
  EXPECT_LT(base::Now() - began, std::chrono::seconds(2));
}

}  // namespace
}  // namespace penstock::client
