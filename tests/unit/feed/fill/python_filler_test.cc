// Python datasets' batches from the core's task to a worker's item and back, and their memory.
#include <cstring>

#include "tests/unit/feed/fill/python_filler_rig.h"

namespace penstock::feed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(PythonFillerTest, AWholeBatchIsOneItemWhoseIdsAreInTheSlot) {
  Open();

  EXPECT_FALSE(Begin().has_value());

  ASSERT_THAT(makers_.submitted, SizeIs(1));
  const shm::MakeRequest& request = makers_.submitted[0].request;
  EXPECT_EQ(request.rows, kRows);
  EXPECT_EQ(request.granted, 64u << 10);
  EXPECT_EQ(request.most, kMost);
  EXPECT_EQ(request.seed, 77u);
  EXPECT_EQ(request.key_first, 0u);
  EXPECT_EQ(request.key_step, 1u);
  const pool::Segment* segment = pool_.Find(pool::SegmentId(request.segment));
  ASSERT_NE(segment, nullptr);
  const std::byte* slot = segment->mapping.data() + request.slot_offset;
  std::vector<uint64_t> ids(kRows);
  std::memcpy(ids.data(), slot + request.ids_offset, kRows * sizeof(uint64_t));
  EXPECT_THAT(ids, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(End({.end = pyworkers::MakeEnd::kMade, .bytes = 9}).end, FillEnd::kDone);
  EXPECT_THAT(core_.TakeAnnouncements(), SizeIs(1));
}

TEST_F(PythonFillerTest, RanksThatGaveTheirOwnOrdersDrawByKeysOfTheirOwn) {
  feed_->spec.given_by = {.rank = 1, .ranks = 3};
  Open();
  makers_.most = 2;
  Begin();
  Begin();

  EXPECT_EQ(makers_.submitted[1].request.key_first, 4u * 3 + 1);
  EXPECT_EQ(makers_.submitted[1].request.key_step, 3u);
}

TEST_F(PythonFillerTest, OnlyAsManyAreGivenOutAsTheMakersTakeAndTheyHearOfEachPass) {
  Open();
  Begin();

  EXPECT_FALSE(filler_.MayRead(UserId(1000), *feed_, false, now_));
  filler_.GivenOut(now_);
  EXPECT_EQ(makers_.passes, 1u);
  EXPECT_THAT(makers_.asked_for,
              ElementsAre(std::pair<pyworkers::DatasetRef, bool>(dataset_.get(), false)));
}

TEST_F(PythonFillerTest, ABatchOfAStreamNamesItsUnit) {
  feed_->spec.python->streams = 2;
  Open(/*rows=*/1);
  makers_.most = 3;
  for (int i = 0; i < 3; ++i) Begin();

  EXPECT_EQ(makers_.submitted[1].request.stream, 1u);
  ASSERT_TRUE(makers_.submitted[2].part.has_value());
  EXPECT_EQ(makers_.submitted[2].part->stream, 0u);
  EXPECT_EQ(makers_.submitted[2].part->unit, 2u);
  EXPECT_EQ(makers_.submitted[2].part->feed, 3u);
}

TEST_F(PythonFillerTest, AnExceptionIsDeliveredAndNotKept) {
  Open();
  Begin();

  const FillOutcome ended = End({.end = pyworkers::MakeEnd::kRaised, .bytes = 9, .row = 2});

  EXPECT_EQ(ended.end, FillEnd::kDone);
  EXPECT_EQ(ended.keep, Keep::kNo);
  EXPECT_THAT(core_.TakeAnnouncements(), SizeIs(1));
}

// ---- Room ----

TEST_F(PythonFillerTest, ABatchGetsAQuarterMoreThanItNeedsAndTheNextOneAtOnce) {
  Open();
  Begin();

  EXPECT_EQ(Need(160 << 10), 200u << 10);
  End({.end = pyworkers::MakeEnd::kMade, .bytes = 160 << 10});
  Begin();

  EXPECT_EQ(makers_.submitted[0].request.granted, 200u << 10);
}

TEST_F(PythonFillerTest, MoreThanTheFeedAllowsIsRefused) {
  Open();
  Begin();
  EXPECT_EQ(Need(kMost + 1), 64u << 10);
  EXPECT_EQ(Need(kMost), kMost) << "and exactly as much is not";
}

TEST_F(PythonFillerTest, MoreThanThePoolHasIsRefusedWithoutWaiting) {
  Open();
  Begin();
  EXPECT_EQ(Need(500 << 10), 600u << 10);
  End({.end = pyworkers::MakeEnd::kMade, .bytes = 500 << 10});
  Begin();
  EXPECT_EQ(makers_.submitted[0].request.granted, 64u << 10) << "all that is left of 1 MiB";

  EXPECT_EQ(Need(500 << 10), 64u << 10);
}

TEST_F(PythonFillerTest, WithoutRoomEvenForAnErrorTheFeedFails) {
  Open();
  Begin();
  Need(590 << 10);
  End({.end = pyworkers::MakeEnd::kMade, .bytes = 590 << 10});
  Begin();
  Need(400 << 10);
  End({.end = pyworkers::MakeEnd::kMade, .bytes = 400 << 10});

  const std::optional<FillOutcome> ended = Begin();

  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->end, FillEnd::kLost);
  EXPECT_THAT(std::string(ended->feed_failed.message()), HasSubstr("pool"));
}

}  // namespace
}  // namespace penstock::feed
