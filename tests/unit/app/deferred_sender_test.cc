#include "server/app/service/deferred_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::app {
namespace {

class FakeDoorway final : public doorway::Doorway {
 public:
  absl::Status Send(doorway::PeerId peer, const void*, size_t bytes,
                    const std::vector<int>& fds) override {
    sent.push_back({peer.value(), bytes, fds.size()});
    return absl::ResourceExhaustedError("it does not read");
  }
  void Forget(doorway::PeerId peer) override { forgotten.push_back(peer.value()); }
  void Close(doorway::PeerId peer) override { closed.push_back(peer.value()); }
  Counts counts() const override { return {}; }
  struct Sent {
    uint64_t peer;
    size_t bytes, fds;
    bool operator==(const Sent&) const = default;
  };
  std::vector<Sent> sent;
  std::vector<uint64_t> forgotten, closed;
};

TEST(DeferredSenderTest, WithoutADoorwayNothingIsSent) {
  DeferredSender deferred_sender;
  EXPECT_EQ(deferred_sender.Send(1, "x", 1, {}).code(), absl::StatusCode::kUnavailable);

  FakeDoorway doorway;
  deferred_sender.Use(&doorway);
  deferred_sender.Use(nullptr);

  EXPECT_EQ(deferred_sender.Send(1, "x", 1, {}).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(doorway.sent.empty());
}

TEST(DeferredSenderTest, TheDoorwayHasTheLastWord) {
  DeferredSender deferred_sender;
  FakeDoorway doorway;
  deferred_sender.Use(&doorway);

  EXPECT_EQ(deferred_sender.Send(7, "xyz", 3, {0, 1}).code(), absl::StatusCode::kResourceExhausted);

  EXPECT_THAT(doorway.sent, ::testing::ElementsAre(FakeDoorway::Sent{7, 3, 2}));
}

TEST(DeferredSenderTest, ADoorwayIsToldWhomToForgetAndToCloseWhileThereIsOne) {
  DeferredSender deferred_sender;
  FakeDoorway doorway;
  deferred_sender.Forget(1);
  deferred_sender.Close(1);
  deferred_sender.Use(&doorway);

  deferred_sender.Forget(7);
  deferred_sender.Close(8);

  EXPECT_THAT(doorway.forgotten, ::testing::ElementsAre(7));
  EXPECT_THAT(doorway.closed, ::testing::ElementsAre(8));
}

}  // namespace
}  // namespace penstock::app
