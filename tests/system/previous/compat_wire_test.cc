// Sends this build's daemon the recorded bytes of the previous release's client (recorded/).
// compat_test.py builds that client and checks that it still sends these bytes.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "absl/strings/escaping.h"
#include "common/posix/process.h"
#include "common/posix/socket.h"
#include "common/shm/doorway_wire.h"
#include "penstock/v1/feed.pb.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

std::string Recorded(const std::string& name) {
  std::ostringstream bytes;
  std::ifstream file(PENSTOCK_RECORDED "/" + name + ".bin", std::ios::binary);
  EXPECT_TRUE(file) << name;
  bytes << file.rdbuf();
  return bytes.str();
}

class CompatWireTest : public ::testing::Test {
 protected:
  CompatWireTest() : door_(*posix::Connect(daemon_.address() + ".door", kSeqPacket)) {}

  // Returns the ticket as gRPC metadata, or "" if the daemon refused the handshake.
  std::string SayHello() {
    const std::string hello = Recorded("Hello");
    const auto self = posix::OpenPidfd(getpid());
    const int fds[] = {self->get()};
    EXPECT_TRUE(posix::Send(door_, std::as_bytes(std::span(hello)), fds).ok());
    const auto answer = posix::Receive(door_, shm::kMaxDoorwayBytes, std::chrono::seconds(10));
    shm::DoorwayWelcome welcome;
    if (!answer.ok() || answer->bytes.size() != sizeof(welcome)) return "";
    std::memcpy(&welcome, answer->bytes.data(), sizeof(welcome));
    // The previous client requires these values.
    EXPECT_EQ(welcome.header.version, 1u);
    EXPECT_EQ(welcome.header.kind, shm::DoorwayKind::kWelcome);
    const auto* first = reinterpret_cast<const char*>(welcome.ticket);
    return absl::BytesToHexString({first, sizeof(welcome.ticket)});
  }

  grpc::Status Call(const std::string& method, const std::string& ticket, std::string& response) {
    grpc::GenericStub stub(
        grpc::CreateChannel("unix:" + daemon_.address(), grpc::InsecureChannelCredentials()));
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    context.AddMetadata(shm::kTicketMetadataKey, ticket);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    grpc::Slice slice(Recorded(method));
    const grpc::ByteBuffer message(&slice, 1);
    grpc::ByteBuffer answer;
    grpc::Status status;
    const auto call =
        stub.PrepareUnaryCall(&context, "/penstock.v1.FeedService/" + method, message, &queue);
    call->StartCall();
    call->Finish(&answer, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    grpc::Slice bytes;
    if (status.ok() && answer.DumpToSingleSlice(&bytes).ok())
      response.assign(bytes.begin(), bytes.end());
    return status;
  }

  static constexpr posix::SocketKind kSeqPacket = posix::SocketKind::kSeqPacket;
  DaemonProcess daemon_{
      {.workers = 1,
       .config = "server: {socket: SOCKET, group: '', state_dir: ''}\npool: {max: 64MiB}\n"
                 "datasets: [{name: photographs, folder: " +
                 Photographs(40) + "}]\n"}};
  posix::Fd door_;
};

TEST_F(CompatWireTest, ThePreviousClientsWordsOpenASession) {
  const std::string ticket = SayHello();
  ASSERT_NE(ticket, "");
  std::string bytes;

  ASSERT_TRUE(Call("GetVersion", ticket, bytes).ok());
  v1::GetVersionResponse version;
  ASSERT_TRUE(version.ParseFromString(bytes));
  EXPECT_LE(version.oldest_protocol_version(), 1u);
  const grpc::Status opened = Call("OpenSession", ticket, bytes);

  ASSERT_TRUE(opened.ok()) << opened.error_message();
  v1::OpenSessionResponse grant;
  ASSERT_TRUE(grant.ParseFromString(bytes));
  EXPECT_GT(grant.session_id(), 0u);
  EXPECT_EQ(grant.window(), 4u);
  const v1::ListSessionsResponse sessions = daemon_.Sessions();
  ASSERT_EQ(sessions.sessions_size(), 1);
  EXPECT_EQ(sessions.sessions(0).name(), "compat");
  EXPECT_EQ(sessions.sessions(0).client(), "penstock-compat-trainer/0.1.0");
  EXPECT_EQ(sessions.sessions(0).batch_size(), 16u);
}

TEST_F(CompatWireTest, WhereItsSessionStoodIsUnderstood) {
  const std::string text = Recorded("state");

  const Result<State> state = State::FromString(text);

  ASSERT_TRUE(state.ok()) << state.status().message();
  EXPECT_EQ(state->consumed, 48u);
  EXPECT_EQ(state->seed, 7u);
  EXPECT_EQ(state->ToString(), text);
}

}  // namespace
}  // namespace penstock::testing
