// Tests how a daemon refuses batches on a GPU that it cannot use. The test speaks to the real
// sockets without the client library, which would fall back to another delivery.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/posix/socket.h"
#include "common/shm/doorway_wire.h"
#include "penstock/v1/feed.grpc.pb.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/greeting.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class DeviceRefusalTest : public ::testing::Test {
 protected:
  // Connects this process to the daemon.
  explicit DeviceRefusalTest(const std::string& config = "")
      : daemon_({.workers = 1, .config = config}),
        door_(*posix::Connect(daemon_.address() + shm::kDoorwaySuffix,
                              posix::SocketKind::kSeqPacket)),
        greeting_(SendHandshake(door_, shm::kProtocolVersion)) {
    EXPECT_EQ(greeting_.ticket.size(), 32u) << greeting_.refusal;
  }

  // Requests a GPU that no machine has.
  v1::OpenSessionRequest Request(const std::string& dataset) const {
    v1::OpenSessionRequest request;
    request.set_protocol_version(shm::kProtocolVersion);
    request.set_batch_size(8);
    request.mutable_feed()->set_dataset(dataset);
    request.mutable_feed()->set_order(v1::ORDER_SEQUENTIAL);
    auto& crop = *request.mutable_feed()->mutable_image()->mutable_resize_center_crop();
    crop.set_resize(32);
    crop.set_height(32);
    crop.set_width(32);
    request.set_delivery(v1::DELIVERY_DEVICE);
    request.mutable_device()->set_uuid("0123456789abcdef");
    return request;
  }
  template <typename Method, typename Message, typename Response>
  grpc::Status Call(Method method, const Message& message, Response& response) {
    const auto feed = v1::FeedService::NewStub(grpc::CreateChannel(
        absl::StrCat("unix:", daemon_.address()), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    context.AddMetadata(shm::kTicketMetadataKey, greeting_.ticket);
    return (feed.get()->*method)(&context, message, &response);
  }
  grpc::Status Open(const v1::OpenSessionRequest& request) {
    v1::OpenSessionResponse response;
    return Call(&v1::FeedService::Stub::OpenSession, request, response);
  }

  DaemonProcess daemon_;
  posix::Fd door_;
  Greeting greeting_;
};

// FAILED_PRECONDITION: the build has no CUDA, or the machine has no driver, an old one, or no GPU.
// NOT_FOUND: there are GPUs, but not this one.
TEST_F(DeviceRefusalTest, AGpuThatIsNotThereIsRefusedWithAReasonThatStatusShowsAndOthersAreServed) {
  const grpc::Status refused = Open(Request(Photographs(24)));

  EXPECT_THAT(refused.error_code(),
              AnyOf(grpc::StatusCode::FAILED_PRECONDITION, grpc::StatusCode::NOT_FOUND))
      << refused.error_message();
  EXPECT_THAT(refused.error_message(),
              AnyOf(HasSubstr("CUDA"), HasSubstr("driver"), HasSubstr("GPU")));
  const v1::GetStatusResponse status = daemon_.Status();
  EXPECT_TRUE(status.serving());
  EXPECT_EQ(status.sessions(), 0u);
  EXPECT_EQ(status.pool().reserved_bytes(), 0u);
  ASSERT_EQ(status.gpus_size(), 1);
  EXPECT_EQ(status.gpus(0).uuid(), "GPU-30313233-3435-3637-3839-616263646566");
  EXPECT_EQ(status.gpus(0).state(), refused.error_message());
  EXPECT_THAT(daemon_.Ctl({"status"}).output, HasSubstr("GPU-30313233"));
  EXPECT_EQ(OneEpoch(daemon_.address(), SmallRows(Photographs(24), 8)).rows.size(), 24u);
}

TEST_F(DeviceRefusalTest, WithoutAGpuTheDaemonDeliversToHostMemoryAndCheckSaysWhy) {
  const v1::GetStatusResponse status = daemon_.Status();
  const Ended check = daemon_.Ctl({"check"});

  EXPECT_EQ(status.deliveries(0), "host");
  if (status.deliveries_size() > 1) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_THAT(check.output, AllOf(HasSubstr("warning"), HasSubstr("gpu  ")));
}

TEST_F(DeviceRefusalTest, WhatCannotBeIsRefusedBeforeAnyGpuIsLookedAt) {
  v1::OpenSessionRequest short_name = Request(Photographs(24)), deep = Request(Photographs(24));
  short_name.mutable_device()->set_uuid("GPU-0");
  deep.mutable_device()->set_depth(1000);

  EXPECT_THAT(Open(short_name).error_message(), HasSubstr("device.uuid: wanted the 16 bytes"));
  EXPECT_THAT(Open(deep).error_message(), HasSubstr("device.depth: wanted 1 to 16"));
  EXPECT_EQ(daemon_.Status().gpus_size(), 0);
}

TEST_F(DeviceRefusalTest, SlabsOfASessionThatIsNotOpenAreRefused) {
  v1::ListSlabsRequest request;
  v1::ListSlabsResponse response;
  request.set_session_id(77);

  const grpc::Status refused = Call(&v1::FeedService::Stub::ListSlabs, request, response);

  EXPECT_EQ(refused.error_code(), grpc::StatusCode::NOT_FOUND) << refused.error_message();
}

class NoGpuMemoryTest : public DeviceRefusalTest {
 protected:
  NoGpuMemoryTest() : DeviceRefusalTest(Config(Photographs(24))) {}

  static std::string Config(const std::string& folder) {
    return absl::StrCat("server: {socket: SOCKET, group: '', state_dir: ''}\ngpu: {max: 0B}\n",
                        "datasets: [{name: photographs, folder: ", folder, "}]\n");
  }
};

TEST_F(NoGpuMemoryTest, ADaemonThatMayHaveNoMemoryOnGpusSaysSo) {
  const grpc::Status refused = Open(Request("photographs"));

  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("gpu.max is 0B"));
  EXPECT_EQ(daemon_.Status().deliveries_size(), 1);
}

}  // namespace
}  // namespace penstock::testing
