#include "server/feed/core/cursor.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace penstock::feed {
namespace {

plan::Share ShareOf(uint64_t samples, uint64_t consumed, uint32_t world, uint32_t rank,
                    plan::Remainder remainder) {
  plan::Share share;
  share.samples = samples;
  share.consumed = consumed;
  share.world = world;
  share.rank = rank;
  share.batch_size = 4;
  share.remainder = remainder;
  return share;
}

using Place = std::tuple<uint64_t, uint64_t, bool>;  // epoch, first, last of epoch

std::vector<Place> Walk(Cursor cursor, int most = 100) {
  std::vector<Place> places;
  for (; !cursor.ended() && most > 0; --most, cursor.Advance()) {
    places.emplace_back(cursor.epoch(), cursor.position().first, cursor.last_of_epoch());
  }
  return places;
}

TEST(CursorDeathTest, NothingComesAfterTheEnd) {
  Cursor cursor(ShareOf(4, 0, 1, 0, plan::Remainder::kPartial), 0, 1);
  cursor.Advance();

  ASSERT_TRUE(cursor.ended());
  EXPECT_DEATH(cursor.Advance(), "ended_");
}

TEST(CursorTest, LaterEpochsBeginAtTheirStart) {
  const Cursor cursor(ShareOf(10, 6, 1, 0, plan::Remainder::kPartial), 3, 2);

  EXPECT_EQ(Walk(cursor),
            (std::vector<Place>{{3, 6, true}, {4, 0, false}, {4, 4, false}, {4, 8, true}}));
}

TEST(CursorTest, AnEpochWithNothingLeftIsPassedOver) {
  const Cursor cursor(ShareOf(10, 10, 1, 0, plan::Remainder::kPadBatch), 0, 2);

  EXPECT_EQ(Walk(cursor), (std::vector<Place>{{1, 0, false}, {1, 4, false}, {1, 8, true}}));
}

TEST(CursorTest, DropPassesOverARestThatIsTooSmall) {
  const Cursor cursor(ShareOf(10, 4, 2, 1, plan::Remainder::kDrop), 0, 3);

  EXPECT_EQ(Walk(cursor), (std::vector<Place>{{1, 4, true}, {2, 4, true}}));
}

TEST(CursorTest, AResumedRankWithNoPartOfTheRestGoesOnToTheNextEpoch) {
  const Cursor cursor(ShareOf(10, 8, 2, 1, plan::Remainder::kPartial), 0, 2);

  EXPECT_EQ(Walk(cursor), (std::vector<Place>{{1, 4, true}}));
}

TEST(CursorTest, NothingLeftOfTheLastEpochIsTheEnd) {
  EXPECT_TRUE(Cursor(ShareOf(10, 10, 1, 0, plan::Remainder::kPartial), 7, 1).ended());
}

TEST(CursorTest, WithoutEndItGoesOn) {
  EXPECT_EQ(Walk(Cursor(ShareOf(4, 0, 1, 0, plan::Remainder::kPartial), 0, 0), 50).size(), 50u);
}

TEST(CursorTest, ConsumedIsWhatAllRanksTookBefore) {
  Cursor cursor(ShareOf(20, 2, 2, 1, plan::Remainder::kPartial), 0, 0);

  EXPECT_EQ(cursor.consumed(), 2u);
  cursor.Advance();
  EXPECT_EQ(cursor.consumed(), 10u);
  cursor.Advance();
  EXPECT_EQ(cursor.epoch(), 1u);
  EXPECT_EQ(cursor.consumed(), 0u);
}

}  // namespace
}  // namespace penstock::feed
