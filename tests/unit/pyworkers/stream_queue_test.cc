#include "server/pyworkers/stream_queue.h"

#include <gtest/gtest.h>

namespace penstock::pyworkers {
namespace {

MakeItem Unit(uint64_t unit, uint32_t stream, uint64_t epoch = 0, uint64_t feed = 1) {
  MakeItem item{.id = 100 + unit, .part = StreamPart{.feed = feed, .stream = stream, .unit = unit}};
  item.request.epoch = epoch;
  return item;
}

class StreamQueueTest : public testing::Test {
 protected:
  // Whether the process may go on with that unit.
  bool Takes(const MakeItem& item, const MakerName& process) {
    queue_.Add(item);
    const StreamQueue::Taken taken = queue_.Take(item.part->stream, process);
    EXPECT_EQ(taken.item.id, item.id);
    return !taken.is_lost;
  }

  StreamQueue queue_;
  const MakerName first_{.host = 1, .start = 1}, second_{.host = 1, .start = 2};
};

TEST_F(StreamQueueTest, EachPlaceHasItsOwnOrder) {
  queue_.Add(Unit(0, 0));
  queue_.Add(Unit(1, 1));
  queue_.Add(Unit(2, 0));

  EXPECT_EQ(queue_.Take(1, first_).item.id, 101u);
  EXPECT_FALSE(queue_.Waits(1));
  EXPECT_EQ(queue_.Take(0, first_).item.id, 100u);
  EXPECT_EQ(queue_.Take(0, first_).item.id, 102u);
  EXPECT_EQ(queue_.size(), 0u);
}

TEST_F(StreamQueueTest, OnlyTheProcessThatBeganAStreamGoesOnWithIt) {
  EXPECT_TRUE(Takes(Unit(0, 0), first_));
  EXPECT_TRUE(Takes(Unit(2, 0), first_));

  EXPECT_FALSE(Takes(Unit(4, 0), second_));
  EXPECT_FALSE(Takes(Unit(4, 0), {.host = 2, .start = 1})) << "nor one of another host";
  EXPECT_TRUE(Takes(Unit(4, 0), first_));
  EXPECT_TRUE(Takes(Unit(5, 1), second_)) << "another stream";
}

TEST_F(StreamQueueTest, AnyProcessBeginsAnIteration) {
  EXPECT_TRUE(Takes(Unit(2, 0), first_));

  EXPECT_TRUE(Takes(Unit(0, 0), second_)) << "from its beginning";
  EXPECT_TRUE(Takes(Unit(2, 0), second_));
  EXPECT_TRUE(Takes(Unit(4, 0, /*epoch=*/1), first_));
  EXPECT_TRUE(Takes(Unit(6, 0, /*epoch=*/1, /*feed=*/2), second_));
}

TEST_F(StreamQueueTest, AllCanBeTakenAtOnce) {
  queue_.Add(Unit(0, 0));
  queue_.Add(Unit(1, 1));

  EXPECT_EQ(queue_.TakeAll().size(), 2u);
  EXPECT_EQ(queue_.size(), 0u);
  EXPECT_FALSE(queue_.Waits(0));
}

}  // namespace
}  // namespace penstock::pyworkers
