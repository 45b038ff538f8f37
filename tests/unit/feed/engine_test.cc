// The engine's interface: who is admitted, who is refused, and what remains afterwards. There are
// no workers, so nothing is decoded; tests/system/engine has them.
#include "server/feed/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "common/shm/doorway_wire.h"
#include "tests/support/fakes/fake_dataset.h"

namespace penstock::feed {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr uint64_t kPeer = 5, kOtherPeer = 6;

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() { EXPECT_TRUE(engine_.Start().ok()); }

  static Engine::Options Options() {
    Engine::Options options;
    options.pool.max_bytes = 1 << 20;
    options.pool.segment_bytes = 64 << 10;
    options.workers.count = 0;
    options.admission.max_sessions = 3;
    return options;
  }

  static std::shared_ptr<DatasetState> Dataset(uint64_t samples) {
    return std::make_shared<DatasetState>(
        DatasetState{.name = "flowers",
                     .dataset = std::make_shared<testing::FakeDataset>(samples),
                     .quarantine = {},
                     .policy = FaultPolicy(samples)});
  }

  OpenRequest Request(uint64_t peer = kPeer, uint32_t user = 1000) const {
    OpenRequest request;
    request.peer = peer;
    request.user = user;
    request.dataset_name = "flowers";
    request.dataset = dataset_;
    request.feed.decoding.height = request.feed.decoding.width = 16;
    request.share = {.batch_size = 4};
    request.window = 2;
    return request;
  }

  // Host delivery is granted before Open returns.
  absl::StatusOr<session::Grant> Ask(const OpenRequest& request) {
    absl::StatusOr<session::Grant> answer = absl::InternalError("no answer");
    engine_.Open(request, now_,
                 [&](absl::StatusOr<session::Grant> grant) { answer = std::move(grant); });
    return answer;
  }

  uint64_t Open(const OpenRequest& request) {
    const auto grant = Ask(request);
    EXPECT_TRUE(grant.ok()) << grant.status();
    return grant.ok() ? grant->session : 0;
  }

  // The state of an engine without sessions.
  void ExpectNothingReserved() {
    EXPECT_EQ(engine_.views().View().pool.reserved_bytes, 0u);
    EXPECT_EQ(engine_.sessions(), 0u);
    EXPECT_EQ(engine_.views().View().slots.held + engine_.views().View().slots.filling, 0u);
    EXPECT_EQ(watched_.size(), 3u);  // for workers, row copiers and hosts
  }

  base::TimePoint now_{};
  absl::Status send_status_;
  uint64_t sent_ = 0;
  std::multiset<int> watched_;
  std::shared_ptr<DatasetState> dataset_ = Dataset(100);
  Engine engine_{Options(), [this](uint64_t, const void*, size_t, const std::vector<int>&) {
                   ++sent_;
                   return send_status_;
                 }};
};

TEST_F(EngineTest, ASessionsProgressIsForItsOwnProcessAlone) {
  EXPECT_EQ(engine_.views().Progress(kPeer, 1, now_).status().code(), absl::StatusCode::kNotFound);
  const uint64_t session = Open(Request());

  EXPECT_EQ(engine_.views().Progress(kOtherPeer, session, now_).status().code(),
            absl::StatusCode::kPermissionDenied);
  const SessionProgress progress = engine_.views().Progress(kPeer, session, now_).value();

  EXPECT_EQ(progress.announced, 0u);
  EXPECT_EQ(progress.window, 2u);
  EXPECT_EQ(progress.workers, 0u);
  EXPECT_EQ(progress.sessions, 1u);
  EXPECT_EQ(progress.stalled, base::Duration::zero());
}

TEST_F(EngineTest, EqualFeedsOfTwoUsersAreShownAsTwo) {
  const uint64_t one = Ask(Request(kPeer, 1000))->fingerprint;
  const uint64_t other = Ask(Request(kOtherPeer, 1001))->fingerprint;
  ASSERT_EQ(one, other);

  const EngineView view = engine_.views().View();

  ASSERT_EQ(view.feeds.size(), 2u);
  EXPECT_EQ(view.feeds[0].user, 1000u);
  EXPECT_EQ(view.feeds[1].user, 1001u);
  EXPECT_EQ(view.feeds[0].sessions, 1u);
}

class RefusalTest : public EngineTest {
 protected:
  RefusalTest() {
    engine_.WatchWith([this](int fd, bool watch) {
      watch ? (void)watched_.insert(fd) : (void)watched_.erase(fd);
    });
  }

  void ExpectRefused(const OpenRequest& request, absl::StatusCode code, const std::string& words) {
    const auto grant = Ask(request);
    ASSERT_FALSE(grant.ok());
    EXPECT_EQ(grant.status().code(), code) << grant.status();
    EXPECT_THAT(std::string(grant.status().message()), HasSubstr(words));
    ExpectNothingReserved();
  }
};

TEST_F(RefusalTest, ADecodingThatCannotBe) {
  OpenRequest request = Request();
  request.feed.decoding.height = 0;

  ExpectRefused(request, absl::StatusCode::kInvalidArgument, "height");
}

TEST_F(RefusalTest, AShareThatCannotBe) {
  OpenRequest request = Request();
  request.share.rank = request.share.world;

  ExpectRefused(request, absl::StatusCode::kInvalidArgument, "rank");
}

TEST_F(RefusalTest, AStateOfAnotherFeed) {
  OpenRequest request = Request();
  request.expected_fingerprint = 0xabc;

  ExpectRefused(request, absl::StatusCode::kFailedPrecondition, "abc");
}

TEST_F(RefusalTest, AWindowThatThePoolCannotHold) {
  OpenRequest request = Request();
  request.window = 256;
  request.share.batch_size = 8;

  ExpectRefused(request, absl::StatusCode::kResourceExhausted, "256 more slots");
}

TEST_F(RefusalTest, ARankThatWouldNeverHaveABatchLeavesItsReservation) {
  OpenRequest request = Request();
  request.share.world = 1000;
  request.share.rank = 999;

  ExpectRefused(request, absl::StatusCode::kInvalidArgument, "rank 999");
}

TEST_F(RefusalTest, APeerWhoseDoorwayIsClosed) {
  send_status_ = absl::UnavailableError("the doorway is closed");

  ExpectRefused(Request(), absl::StatusCode::kUnavailable, "descriptors could not be sent");
}

TEST_F(RefusalTest, OneMoreSessionThanAllowed) {
  for (int i = 0; i < 3; ++i) Open(Request());

  const auto grant = Ask(Request());

  EXPECT_EQ(grant.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(grant.status().message()), HasSubstr("max_sessions"));
}

TEST_F(RefusalTest, AfterManyRefusalsARightRequestIsServed) {
  OpenRequest wrong = Request();
  wrong.share.world = 1000;
  wrong.share.rank = 999;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(Ask(wrong).ok());

  const uint64_t session = Open(Request());

  EXPECT_TRUE(engine_.Close(kPeer, session, now_).ok());
  ExpectNothingReserved();
}

// ---- Leaving. ----

class LeavingTest : public RefusalTest {};

TEST_F(LeavingTest, NobodyClosesAnothersSession) {
  const uint64_t session = Open(Request(kPeer));

  EXPECT_EQ(engine_.Close(kOtherPeer, session, now_).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(engine_.sessions(), 1u);
}

TEST_F(LeavingTest, ClosingTwiceIsFine) {
  const uint64_t session = Open(Request());

  EXPECT_TRUE(engine_.Close(kPeer, session, now_).ok());
  EXPECT_TRUE(engine_.Close(kPeer, session, now_).ok());

  ExpectNothingReserved();
}

TEST_F(LeavingTest, APeerThatIsGoneTakesItsSessionsAlongAndNobodyElses) {
  Open(Request(kPeer));
  Open(Request(kPeer));
  Open(Request(kOtherPeer));

  engine_.PeerGone(kPeer, now_);

  ASSERT_EQ(engine_.sessions(), 1u);
  engine_.PeerGone(kOtherPeer, now_);
  ExpectNothingReserved();
}

TEST_F(LeavingTest, APeerThatOnlyDisconnectedKeepsItsReservationUntilItIsGone) {
  Open(Request());

  engine_.PeerDisconnected(kPeer);
  EXPECT_EQ(engine_.sessions(), 1u);
  EXPECT_EQ(engine_.views().Sessions()[0].state, "ended");
  EXPECT_GT(engine_.views().View().pool.reserved_bytes, 0u);
  engine_.PeerGone(kPeer, now_);

  ExpectNothingReserved();
}

TEST_F(LeavingTest, APeerThatNobodyKnowsMayBeGone) {
  engine_.PeerDisconnected(kPeer);
  engine_.PeerGone(kPeer, now_);

  ExpectNothingReserved();
}

TEST_F(LeavingTest, SegmentsGoAWhileAfterTheLastSession) {
  const uint64_t session = Open(Request());
  engine_.Close(kPeer, session, now_).IgnoreError();

  engine_.Tick(now_ + seconds(59));
  EXPECT_EQ(engine_.views().View().pool.segments, 1u);
  engine_.Tick(now_ + seconds(60));

  EXPECT_EQ(engine_.views().View().pool.segments, 0u);
  EXPECT_TRUE(engine_.views().View().feeds.empty());
}

// ---- Sharing between sessions. ----

class SharingTest : public EngineTest {};

TEST_F(SharingTest, SessionsOfOneOpenedDatasetHaveOneFeed) {
  ASSERT_TRUE(Ask(Request()).ok());
  ASSERT_TRUE(Ask(Request()).ok());

  ASSERT_EQ(engine_.views().View().feeds.size(), 1u);
  EXPECT_EQ(engine_.views().View().feeds[0].sessions, 2u);
}

// Their manifests have the same digest.
TEST_F(SharingTest, TwoDatasetsThatLookAlikeHaveTwoFeeds) {
  OpenRequest other = Request();
  other.dataset = Dataset(100);

  const auto first = Ask(Request());
  const auto second = Ask(other);

  EXPECT_EQ(first->fingerprint, second->fingerprint) << "a state survives a copied dataset";
  EXPECT_EQ(engine_.views().View().feeds.size(), 2u);
}

TEST_F(SharingTest, TwoUsersOfOneDatasetHaveNoSlotInCommon) {
  const auto mine = Ask(Request(kPeer, 1000));
  const auto theirs = Ask(Request(kOtherPeer, 2000));

  ASSERT_TRUE(mine.ok() && theirs.ok());
  EXPECT_EQ(mine->fingerprint, theirs->fingerprint);
  EXPECT_EQ(engine_.views().View().feeds.size(), 2u);
  EXPECT_EQ(engine_.views().View().pool.segments, 2u);
}

TEST_F(SharingTest, AnotherSeedIsAnotherFeed) {
  OpenRequest other = Request();
  other.feed.seed = 1;

  const auto first = Ask(Request());
  const auto second = Ask(other);

  EXPECT_NE(first->fingerprint, second->fingerprint);
}

TEST_F(SharingTest, ADatasetsQuarantineIsNotThatOfOneThatLooksLikeIt) {
  Open(Request());
  dataset_->quarantine.Add({.sample = 1, .path = "", .fault = base::Fault::kTimeout});
  engine_.QuarantineChanged(*dataset_);
  OpenRequest of_another = Request();
  of_another.dataset = Dataset(100);

  EXPECT_EQ(Ask(Request())->quarantine_version, 1u);
  EXPECT_EQ(Ask(of_another)->quarantine_version, 0u);
}

}  // namespace
}  // namespace penstock::feed
