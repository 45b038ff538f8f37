// Tests feeds whose rows need no decoding, in a whole engine: rows are copied, never decoded or
// quarantined.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/fakes/fake_rows.h"
#include "tests/system/engine/engine_rig.h"

namespace penstock::feed {
namespace {

using penstock::testing::FakeRows;
using ::testing::HasSubstr;

constexpr source::RowShape kShape = {32, 32, 3};  // the shape of the rig's decoded photographs

class StoredRowsTest : public ::testing::Test {
 protected:
  // The dataset's rows are in memory and cannot be read while `away_` is set.
  StoredRowsTest()
      : state_(std::make_shared<DatasetState>(
            DatasetState{.name = "digits",
                         .dataset = std::make_shared<FakeRows>(EngineRig::kSamples, kShape,
                                                               [this](auto) { return Look(); }),
                         .quarantine = {},
                         .policy = FaultPolicy(EngineRig::kSamples)})) {}

  OpenRequest Request(uint64_t peer) const {
    OpenRequest request = rig_.Request(peer);
    request.dataset = state_;
    return request;
  }

  absl::Status Look() {
    if (!away_) return absl::OkStatus();
    ++refused_;
    return absl::UnavailableError("'/digits': away");
  }

  std::atomic<bool> away_{false};
  std::atomic<int> refused_{0};  // reads that failed while `away_` was set
  const std::shared_ptr<DatasetState> state_;
  EngineRig rig_;
};

TEST_F(StoredRowsTest, ASourceThatStaysAwayFailsTheFeedWithItsReasonAndQuarantinesNothing) {
  away_ = true;
  const uint64_t session = rig_.Open(Request(kPeer));

  ASSERT_TRUE(
      rig_.RunUntil([&] { return rig_.consumer(session).state() == shm::SessionState::kFailed; }));

  EXPECT_THAT(rig_.consumer(session).page().error, HasSubstr("'/digits': away"));
  EXPECT_TRUE(state_->quarantine.Entries().empty());
  ASSERT_TRUE(rig_.engine().Close(kPeer, session, base::Now()).ok());
  EXPECT_TRUE(rig_.RunUntil([&] { return rig_.engine().views().View().slots.filling == 0; }));
}

TEST_F(StoredRowsTest, ASourceThatComesBackChangesNoByte) {
  const std::vector<Copied> undisturbed = rig_.TakeAll(rig_.Open(Request(kPeer)));
  away_ = true;
  OpenRequest request = Request(kPeer);
  request.feed.seed = 1;  // a different feed, for which nothing is ready
  const uint64_t session = rig_.Open(request);
  ASSERT_TRUE(rig_.RunUntil([&] { return refused_ > 0; }));

  away_ = false;

  EXPECT_EQ(rig_.TakeAll(session), undisturbed);
}

TEST_F(StoredRowsTest, RowsWithTheirLabelsAndIdsAreThoseThatAreStored) {
  const std::vector<Copied> batches = rig_.TakeAll(rig_.Open(Request(kPeer)));

  ASSERT_EQ(batches.size(), EngineRig::kSamples / EngineRig::kBatch);
  for (uint64_t batch = 0; batch < batches.size(); ++batch)
    for (uint64_t row = 0; row < EngineRig::kBatch; ++row) {
      const uint64_t sample = batch * EngineRig::kBatch + row;
      EXPECT_EQ(batches[batch].ids[row], sample);
      EXPECT_EQ(batches[batch].labels[row], static_cast<int64_t>(sample % 10));
      for (uint64_t j = 0; j < kShape.bytes(); ++j)
        ASSERT_EQ(batches[batch].pixels[row * kShape.bytes() + j], FakeRows::ByteOf(sample, j));
    }
  EXPECT_EQ(rig_.engine().views().View().samples_decoded, 0u);
}

TEST_F(StoredRowsTest, TwoSessionsOfAUserShareWhatWasCopied) {
  const uint64_t first = rig_.Open(Request(kPeer)), second = rig_.Open(Request(kOtherPeer));

  EXPECT_EQ(rig_.TakeAll(first), rig_.TakeAll(second));

  EXPECT_EQ(rig_.engine().views().View().feeds.at(0).counts.rows_decoded, EngineRig::kSamples);
}

// The only worker holds a photograph that it never finishes. Copying must not wait for it.
TEST_F(StoredRowsTest, CopyingDoesNotWaitForDecoding) {
  const uint64_t photographs = rig_.Open(rig_.Request(kOtherPeer));
  const uint64_t rows = rig_.Open(Request(kPeer));

  rig_.engine().Pump(base::Now());
  EXPECT_EQ(rig_.TakeAll(rows).size(), EngineRig::kSamples / EngineRig::kBatch);

  EXPECT_EQ(rig_.TakeAll(photographs).size(), EngineRig::kSamples / EngineRig::kBatch);
}

TEST_F(StoredRowsTest, ShuffledAndPaddedRowsAreThoseThatThePlanNames) {
  OpenRequest request = Request(kPeer);
  request.feed.order = plan::Order::kShuffled;
  request.feed.seed = 9;
  request.share.world = 3;
  request.share.rank = 2;
  request.share.remainder = plan::Remainder::kPadBatch;

  const std::vector<Copied> batches = rig_.TakeAll(rig_.Open(request));

  ASSERT_EQ(batches.size(), 4u);
  EXPECT_EQ(batches[3].first, 44u);  // entirely past the end of the epoch
  for (const Copied& batch : batches)
    for (uint64_t row = 0; row < EngineRig::kBatch; ++row)
      EXPECT_EQ(batch.ids[row], plan::SampleAt(plan::Order::kShuffled, EngineRig::kSamples, 9, 0,
                                               (batch.first + row) % EngineRig::kSamples));
}

}  // namespace
}  // namespace penstock::feed
