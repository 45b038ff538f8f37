// The order in which deliveries are tried, and the explanation of those that failed.
#include "client/src/connection/negotiation.h"

#include <gmock/gmock.h>

#include "tests/unit/client/fake_daemon.h"

namespace penstock::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Answers the attempts with failures_ in order, then with success.
class NegotiationTest : public ::testing::Test {
 protected:
  absl::StatusOr<Opened> Run(const DeliveryRequest& request) {
    return Negotiate(request, [&](const Ask& ask) {
      asked_.push_back(std::string(DeliveryName(ask.delivery)) +
                       (ask.handle == HandleKind::kAuto ? "" : " by ") +
                       (ask.handle == HandleKind::kAuto ? "" : HandlePhrase(ask.handle)));
      reason_ = ask.reason;
      const size_t turn = asked_.size() - 1;
      if (turn < failures_.size()) return Tried{failures_[turn], granted_};
      return Tried{daemon_.Attach(), granted_};
    });
  }

  FakeDaemon daemon_;
  std::vector<absl::Status> failures_;
  HandleKind granted_ = HandleKind::kAuto;
  std::vector<std::string> asked_;
  std::string reason_;  // for the last attempt
};

const absl::Status kNoContext = absl::FailedPreconditionError("invalid device context");
const absl::Status kNoGpu = absl::FailedPreconditionError("this daemon has no CUDA");

TEST_F(NegotiationTest, ADatasetThatTheDaemonRefusesIsToldAtOnce) {
  failures_ = {absl::InvalidArgumentError("batch_size is 0")};

  EXPECT_TRUE(absl::IsInvalidArgument(Run({.on_device = true, .or_host = true}).status()));
  EXPECT_THAT(asked_, ElementsAre("device"));
}

TEST_F(NegotiationTest, ADaemonThatDiedIsToldAtOnce) {
  failures_ = {absl::UnavailableError("gone")};

  EXPECT_TRUE(absl::IsUnavailable(Run({.on_device = true, .or_host = true}).status()));
  EXPECT_THAT(asked_, ElementsAre("device"));
}

TEST_F(NegotiationTest, AnIpcHandleThatCannotBeOpenedIsFollowedByVmmAndThenByPinned) {
  failures_ = {kNoContext, kNoContext};
  granted_ = HandleKind::kIpc;

  ASSERT_TRUE(Run({.on_device = true}).ok());

  EXPECT_THAT(asked_, ElementsAre("device", "device by VMM", "pinned"));
  EXPECT_EQ(reason_,
            "not device: invalid device context; not device by VMM: invalid device context");
}

TEST_F(NegotiationTest, ADaemonWithoutCudaIsFollowedByPinnedAtOnce) {
  failures_ = {kNoGpu};

  ASSERT_TRUE(Run({.on_device = true}).ok());

  EXPECT_THAT(asked_, ElementsAre("device", "pinned"));
  EXPECT_EQ(reason_, "not device: this daemon has no CUDA");
}

TEST_F(NegotiationTest, AHandleThatIsDemandedIsTheOnlyOne) {
  failures_ = {kNoContext};
  granted_ = HandleKind::kIpc;

  ASSERT_TRUE(Run({.on_device = true, .handle = HandleKind::kIpc}).ok());

  EXPECT_THAT(asked_, ElementsAre("device by CUDA IPC", "pinned"));
}

TEST_F(NegotiationTest, DeviceDeliveryThatIsDemandedIsTheOnlyOne) {
  failures_ = {kNoGpu};

  const absl::Status status = Run({.on_device = true, .delivery = Delivery::kDevice}).status();

  EXPECT_THAT(asked_, ElementsAre("device"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("not device: this daemon has no CUDA"));
}

TEST_F(NegotiationTest, PinnedDeliveryThatIsDemandedIsTheOnlyOne) {
  failures_ = {kNoGpu};

  EXPECT_FALSE(Run({.on_device = true, .delivery = Delivery::kPinned}).ok());
  EXPECT_THAT(asked_, ElementsAre("pinned"));
}

TEST_F(NegotiationTest, WhoTakesHostMemoryGetsItLast) {
  failures_ = {kNoGpu, kNoGpu};

  ASSERT_TRUE(Run({.on_device = true, .or_host = true}).ok());

  EXPECT_THAT(asked_, ElementsAre("device", "pinned", "host"));
  EXPECT_THAT(reason_, HasSubstr("; not pinned: this daemon has no CUDA"));
}

TEST_F(NegotiationTest, WithoutAGpuOnlyHostMemoryIsAskedForAndWhyIsTold) {
  ASSERT_TRUE(Run({.on_device = false, .or_host = true, .reason = "no GPU: no driver"}).ok());

  EXPECT_THAT(asked_, ElementsAre("host"));
  EXPECT_EQ(reason_, "no GPU: no driver");
}

}  // namespace
}  // namespace penstock::client
