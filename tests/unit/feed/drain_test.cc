#include "server/feed/engine/drain.h"

#include "tests/unit/feed/session_rig.h"

namespace penstock::feed {
namespace {

class DrainTest : public SessionRig {
 protected:
  // The session's consumer takes and releases `batches` batches.
  void Take(uint64_t id, uint64_t batches) {
    for (uint64_t i = 0; i < batches; ++i) {
      Fill(1);
      core_.TakeAnnouncements();
      ASSERT_TRUE(core_.Taken(SessionId(id), ++taken_, now_).ok());
      ASSERT_TRUE(core_.Released(SessionId(id), taken_, now_).ok());
    }
  }

  uint64_t taken_ = 0;
  Drain drain_{sessions_};
};

TEST_F(DrainTest, NobodyComesInWhileItIsActive) {
  EXPECT_TRUE(drain_.MayOpen().ok());
  drain_.Set(true, {});

  EXPECT_TRUE(absl::IsUnavailable(drain_.MayOpen()));
  drain_.Set(false, {});
  EXPECT_TRUE(drain_.MayOpen().ok());
}

TEST_F(DrainTest, ASessionEndsWithItsEpochAndNotBefore) {
  const uint64_t id = Open(kPeer, MakeFeed());
  Take(id, 3);
  drain_.Set(true, {});
  EXPECT_EQ(drain_.RestOf(id, *sessions_.Find(id)), 7u);

  Take(id, 6);
  drain_.Tick();
  EXPECT_EQ(delivery(id).state, std::nullopt);
  Take(id, 1);
  drain_.Tick();

  EXPECT_EQ(delivery(id).state, shm::SessionState::kClosing);
  EXPECT_TRUE(absl::IsUnavailable(delivery(id).reason));
  EXPECT_FALSE(Drain::WaitsFor(*sessions_.Find(id)));
}

TEST_F(DrainTest, WhoHasTakenNothingOfItsEpochEndsAtOnceAndStaysSo) {
  const uint64_t id = Open(kPeer, MakeFeed());
  Take(id, 10);

  drain_.Set(true, {});
  EXPECT_EQ(delivery(id).state, shm::SessionState::kClosing);
  drain_.Set(false, {});

  EXPECT_TRUE(sessions_.Find(id)->ended);
}

TEST_F(DrainTest, WhileItIsNotActiveNobodyIsEnded) {
  const uint64_t id = Open(kPeer, MakeFeed());
  Take(id, 10);

  drain_.Tick();

  EXPECT_EQ(delivery(id).state, std::nullopt);
}

TEST_F(DrainTest, TheDaemonsOwnSessionIsNotWaitedFor) {
  const uint64_t id = Open(kPeer, MakeFeed());
  sessions_.Find(id)->request.canary = true;

  drain_.Set(true, {});

  EXPECT_FALSE(Drain::WaitsFor(*sessions_.Find(id)));
  EXPECT_EQ(delivery(id).state, std::nullopt);
}

}  // namespace
}  // namespace penstock::feed
