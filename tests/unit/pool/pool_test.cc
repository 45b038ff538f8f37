#include "server/pool/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <utility>

namespace penstock::pool {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr uint64_t kSlot = 64 * 1024;
constexpr SlotLayout kLayout = {.slot_bytes = kSlot};

// The memory behind a descriptor, as the kernel counts it.
uint64_t TouchedBytes(const posix::Fd& memory) {
  struct stat status;
  EXPECT_EQ(::fstat(memory.get(), &status), 0);
  return static_cast<uint64_t>(status.st_blocks) * 512;
}

class PoolTest : public ::testing::Test {
 protected:
  Pool MakePool(
      uint64_t max_bytes, uint64_t segment_bytes,
      std::function<uint64_t()> available = [] { return UINT64_MAX; }) {
    Pool::Options options;
    options.max_bytes = max_bytes;
    options.segment_bytes = segment_bytes;
    options.available_bytes = std::move(available);
    options.preallocate_bytes = preallocate_;
    return Pool(options, {.made =
                              [this](const Segment& s) {
                                made_.push_back(s.id);
                                return refusal_;
                              },
                          .give_up = [this](const Segment& s) { return !busy_.contains(s.id); }});
  }

  uint64_t preallocate_ = 0;
  absl::Status refusal_;
  std::vector<SegmentId> made_;
  std::set<SegmentId> busy_;
  base::TimePoint start_{};
};

TEST_F(PoolTest, AReservationThatDoesNotFitIsRefusedWithTheNumbers) {
  Pool pool = MakePool(4 * kSlot, kSlot);
  const uint64_t arena = pool.ArenaOf(1000, kLayout);
  ASSERT_TRUE(pool.Reserve(arena, 3).ok());
  busy_.insert(made_.begin(), made_.end());

  const absl::Status status = pool.Reserve(arena, 2);

  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("needs 2 more slots of 64.0 KiB"));
  EXPECT_THAT(status.message(), HasSubstr("256.0 KiB"));
  EXPECT_THAT(status.message(), HasSubstr("smaller window"));
  EXPECT_EQ(pool.Used().reserved_bytes, 3 * kSlot);
}

TEST_F(PoolTest, SmallSlotsMakeASmallSegmentUnlessMoreAreWanted) {
  Pool pool = MakePool(1024 * kSlot, 512 * kSlot);
  const uint64_t arena = pool.ArenaOf(1000, kLayout);

  ASSERT_TRUE(pool.Reserve(arena, 4).ok());
  EXPECT_EQ(pool.Used().slots, 64u);
  EXPECT_EQ(pool.Used().segment_bytes, 64 * kSlot);

  ASSERT_TRUE(pool.Reserve(arena, 260).ok());
  EXPECT_EQ(pool.Used().slots, 264u);
}

TEST_F(PoolTest, ASlotLargerThanThePoolIsRefused) {
  Pool pool = MakePool(4 * kSlot, kSlot);

  EXPECT_EQ(pool.Reserve(pool.ArenaOf(1, {.slot_bytes = 1ull << 60}), 1).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(made_.empty());
}

TEST_F(PoolTest, MemoryThatTheMachineDoesNotHaveIsNotPromised) {
  Pool pool = MakePool(64 * kSlot, kSlot, [] { return 2 * kSlot; });

  const absl::Status status = pool.Reserve(pool.ArenaOf(1, kLayout), 3);

  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("the machine has 128.0 KiB available"));
}

TEST_F(PoolTest, ASegmentHasTheUsualSizeWhereTheBudgetAllowsIt) {
  Pool pool = MakePool(100 * kSlot, 8 * kSlot);
  const uint64_t arena = pool.ArenaOf(1, kLayout);

  ASSERT_TRUE(pool.Reserve(arena, 2).ok());
  ASSERT_TRUE(pool.Reserve(arena, 6).ok());

  EXPECT_EQ(made_.size(), 1u);
  EXPECT_EQ(pool.Used().slots, 8u);
}

TEST_F(PoolTest, TwoUsersNeverShareASegment) {
  Pool pool = MakePool(100 * kSlot, 8 * kSlot);
  ASSERT_TRUE(pool.Reserve(pool.ArenaOf(1, kLayout), 2).ok());
  ASSERT_TRUE(pool.Reserve(pool.ArenaOf(2, kLayout), 2).ok());

  ASSERT_EQ(made_.size(), 2u);
  EXPECT_NE(pool.Find(made_[0])->arena, pool.Find(made_[1])->arena);
}

TEST_F(PoolTest, AnIdleSegmentMakesRoomForAnotherUserAndABusyOneDoesNot) {
  Pool pool = MakePool(4 * kSlot, 4 * kSlot);
  const uint64_t first = pool.ArenaOf(1, kLayout);
  ASSERT_TRUE(pool.Reserve(first, 4).ok());
  pool.Unreserve(first, 4, start_);
  const uint64_t second = pool.ArenaOf(2, kLayout);

  busy_.insert(made_[0]);
  EXPECT_FALSE(pool.Reserve(second, 1).ok());
  busy_.clear();
  EXPECT_TRUE(pool.Reserve(second, 1).ok());

  EXPECT_EQ(pool.Find(made_[0]), nullptr);
  EXPECT_NE(pool.Find(made_[1]), nullptr);
}

TEST_F(PoolTest, AnArenaWithoutSessionsIsGivenUpAfterAWhile) {
  Pool pool = MakePool(4 * kSlot, kSlot);
  const uint64_t arena = pool.ArenaOf(1, kLayout);
  ASSERT_TRUE(pool.Reserve(arena, 1).ok());
  pool.Unreserve(arena, 1, start_);

  pool.Tick(start_ + seconds(59), seconds(60));
  EXPECT_EQ(pool.Used().segments, 1u);
  pool.Tick(start_ + seconds(60), seconds(60));

  EXPECT_EQ(pool.Used().segments, 0u);
  EXPECT_EQ(pool.Used().segment_bytes, 0u);
}

TEST_F(PoolTest, MuchMemoryIsGivenUpInTurnsSoThatNobodyWaitsLong) {
  constexpr uint64_t kLarge = Pool::kGivenUpAtOnce / 2;
  Pool pool = MakePool(uint64_t{1} << 40, kLarge);
  const uint64_t arena = pool.ArenaOf(1, {.slot_bytes = kLarge});
  ASSERT_TRUE(pool.Reserve(arena, 5).ok());
  ASSERT_EQ(pool.Used().segments, 1u);
  for (uint64_t more = 6; more <= 9; ++more) ASSERT_TRUE(pool.Reserve(arena, 1).ok());
  pool.Unreserve(arena, 9, start_);

  const uint32_t before = pool.Used().segments;
  pool.Tick(start_ + seconds(60), seconds(60));
  EXPECT_LT(pool.Used().segments, before);
  EXPECT_GT(pool.Used().segments, 0u);
  for (int i = 0; i < 10; ++i) pool.Tick(start_ + seconds(60), seconds(60));
  EXPECT_EQ(pool.Used().segments, 0u);
}

// Each segment, however small, costs the daemon two open files and a mapping.
TEST_F(PoolTest, OneWhoOpensAndClosesSessionsOfEverySizeLeavesFewSegments) {
  Pool pool = MakePool(uint64_t{1} << 40, kSlot);

  for (uint64_t size = 1; size <= 1000; ++size) {
    const uint64_t arena = pool.ArenaOf(1000, {.slot_bytes = size * 4096});
    ASSERT_TRUE(pool.Reserve(arena, 1).ok());
    pool.Unreserve(arena, 1, start_ + seconds(size));
  }
  const uint64_t kept = pool.ArenaOf(1000, {.slot_bytes = 1000 * 4096});

  EXPECT_LE(pool.Used().segments, Pool::kMostIdleSegments);
  EXPECT_GE(pool.Used().segments, 32u);  // a session that reopens finds its own
  const uint32_t before = pool.Used().segments;
  ASSERT_TRUE(pool.Reserve(kept, 1).ok());
  EXPECT_EQ(pool.Used().segments, before);
}

TEST_F(PoolTest, SegmentsThatWereInUseWhenTheirSessionsEndedAreLeftSoonAfter) {
  Pool pool = MakePool(uint64_t{1} << 40, kSlot);
  for (uint64_t size = 1; size <= 200; ++size) {
    const uint64_t arena = pool.ArenaOf(1000, {.slot_bytes = size * 4096});
    ASSERT_TRUE(pool.Reserve(arena, 1).ok());
    busy_.insert(made_.back());
    pool.Unreserve(arena, 1, start_);
  }
  ASSERT_EQ(pool.Used().segments, 200u);

  busy_.clear();
  pool.Tick(start_ + seconds(1), seconds(60));

  EXPECT_EQ(pool.Used().segments, Pool::kMostIdleSegments);
}

TEST_F(PoolTest, ASegmentThatNobodyCouldBeToldOfIsNotThere) {
  Pool pool = MakePool(4 * kSlot, 4 * kSlot);
  const uint64_t arena = pool.ArenaOf(1, kLayout);
  refusal_ = absl::ResourceExhaustedError("no descriptors");

  EXPECT_EQ(pool.Reserve(arena, 1), refusal_);
  EXPECT_EQ(pool.Used().segments, 0u);
  EXPECT_EQ(pool.Used().reserved_bytes, 0u);
  refusal_ = absl::OkStatus();

  EXPECT_TRUE(pool.Reserve(arena, 4).ok());
  EXPECT_EQ(pool.Used().segment_bytes, 4 * kSlot);
}

TEST_F(PoolTest, ArenasThatNobodyUsesAnyMoreTakeNoPlace) {
  Pool pool = MakePool(4 * kSlot, 4 * kSlot);
  const uint64_t used = pool.ArenaOf(1, kLayout);
  ASSERT_TRUE(pool.Reserve(used, 1).ok());

  for (uint64_t pages = 1; pages < 100; ++pages) {
    const uint64_t other = pool.ArenaOf(2, {.slot_bytes = 4096 * pages});
    EXPECT_EQ(other, used + 1);
    EXPECT_FALSE(pool.Reserve(other, 1000).ok());
  }

  EXPECT_EQ(pool.ArenaOf(1, kLayout), used);
}

TEST_F(PoolTest, MoreThanTheMachineHasIsNotPreallocated) {
  preallocate_ = 8 * kSlot;
  Pool pool = MakePool(8 * kSlot, kSlot, [] { return 7 * kSlot; });

  const absl::Status status = pool.Preallocate();

  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("pool.preallocate: got 512.0 KiB"));
  EXPECT_THAT(status.message(), HasSubstr("448.0 KiB"));
}

TEST_F(PoolTest, WhatIsPreallocatedIsTouchedAndCountedAndBecomesTheFirstSegments) {
  preallocate_ = 10 * kSlot;
  Pool pool = MakePool(16 * kSlot, 4 * kSlot);
  ASSERT_TRUE(pool.Preallocate().ok());
  EXPECT_EQ(pool.Used().segment_bytes, 10 * kSlot);
  EXPECT_EQ(pool.Used().segments, 0u);

  ASSERT_TRUE(pool.Reserve(pool.ArenaOf(1, kLayout), 5).ok());

  ASSERT_EQ(made_.size(), 2u);
  for (SegmentId id : made_) EXPECT_EQ(TouchedBytes(pool.Find(id)->memory), 4 * kSlot);
  EXPECT_EQ(pool.Used().segment_bytes, 10 * kSlot);
  EXPECT_EQ(pool.Used().slots, 8u);
}

TEST_F(PoolTest, OfAPreallocatedPieceOnlyWholeSlotsAreKept) {
  preallocate_ = 5 * kSlot;
  Pool pool = MakePool(8 * kSlot, 5 * kSlot);
  ASSERT_TRUE(pool.Preallocate().ok());

  ASSERT_TRUE(pool.Reserve(pool.ArenaOf(1, {.slot_bytes = 2 * kSlot}), 1).ok());

  EXPECT_EQ(pool.Find(made_[0])->bytes, 4 * kSlot);
  EXPECT_EQ(TouchedBytes(pool.Find(made_[0])->memory), 4 * kSlot);
  EXPECT_EQ(pool.Used().segment_bytes, 4 * kSlot);
}

TEST_F(PoolTest, WhatIsPreallocatedInPiecesTooSmallForASlotMakesRoom) {
  preallocate_ = 8 * kSlot;
  Pool pool = MakePool(8 * kSlot, kSlot);
  ASSERT_TRUE(pool.Preallocate().ok());

  ASSERT_TRUE(pool.Reserve(pool.ArenaOf(1, {.slot_bytes = 6 * kSlot}), 1).ok());

  EXPECT_EQ(pool.Used().segment_bytes, 8 * kSlot);  // the segment and two pieces
}

TEST_F(PoolTest, SlotsAreDisjointAndWritable) {
  Pool pool = MakePool(8 * kSlot, 4 * kSlot);
  const uint64_t arena = pool.ArenaOf(1, kLayout);
  ASSERT_TRUE(pool.Reserve(arena, 8).ok());

  std::set<std::pair<uint32_t, uint64_t>> places;
  for (SegmentId id : made_)
    for (uint32_t slot : pool.Find(id)->slots) {
      const SlotPlace& place = pool.Place(slot);
      places.insert({place.segment.value(), place.offset});
      place.data[0] = std::byte{1};
      place.data[kSlot - 1] = std::byte{1};
    }

  EXPECT_EQ(places.size(), 8u);
}

TEST(LayOutTest, LabelsAndIdsFollowTheRowsOnCacheLinesAndASlotIsWholePages) {
  const SlotLayout layout = LayOut({3 * 224 * 224}, 32);

  EXPECT_EQ(layout.labels_offset, 3u * 224 * 224 * 32);
  EXPECT_EQ(layout.labels_offset % 64, 0u);
  EXPECT_EQ(layout.ids_offset, layout.labels_offset + 32 * 8);
  EXPECT_EQ(layout.slot_bytes % 4096, 0u);
  EXPECT_GE(layout.slot_bytes, layout.ids_offset + 32 * 8);
}

// A client may never unmap a segment that was given up.
TEST_F(PoolTest, ASegmentThatIsGivenUpHasNoPagesAnyMoreThoughAClientKeepsItMapped) {
  Pool pool = MakePool(4 * kSlot, 4 * kSlot);
  const uint64_t arena = pool.ArenaOf(1000, kLayout);
  ASSERT_TRUE(pool.Reserve(arena, 4).ok());
  const Segment& segment = *pool.Find(made_.at(0));
  std::memset(segment.mapping.data(), 'x', segment.bytes);
  const posix::Fd theirs = *segment.read_only.Duplicate();
  const auto mapped = posix::Mapping::Map(theirs, 4 * kSlot, posix::Access::kReadOnly);
  ASSERT_TRUE(mapped.ok());
  ASSERT_EQ(TouchedBytes(theirs), 4 * kSlot);

  pool.Unreserve(arena, 4, start_);
  pool.Tick(start_ + seconds(60), seconds(60));

  EXPECT_EQ(pool.Used().segments, 0u);
  pool.AwaitReturns();
  EXPECT_EQ(TouchedBytes(theirs), 0u);
  EXPECT_EQ(mapped->data()[0], std::byte{0});  // zeros rather than another user's data
}

// A machine with room for 8 slots.
class ShortOfMemoryTest : public PoolTest {
 protected:
  static constexpr uint64_t kMachine = 8 * kSlot;

  // Memory whose pages are all there, of an arena that nobody uses any more.
  posix::Fd LeaveIdle(Pool& pool, uint32_t user) {
    const uint64_t arena = pool.ArenaOf(user, kLayout);
    EXPECT_TRUE(pool.Reserve(arena, 4).ok());
    const Segment& segment = *pool.Find(made_.back());
    std::memset(segment.mapping.data(), 'x', segment.bytes);
    idle_.push_back(segment.memory.Duplicate().value());
    pool.Unreserve(arena, 4, start_);
    return segment.memory.Duplicate().value();
  }
  uint64_t Available() const {
    uint64_t taken = 0;
    for (const posix::Fd& memory : idle_) taken += TouchedBytes(memory);
    return kMachine - taken;
  }
  Pool MakePool(uint64_t max_bytes) {
    return PoolTest::MakePool(max_bytes, 4 * kSlot, [this] { return Available(); });
  }
  static bool IsThereAThread(const std::string& wanted) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::ifstream(task.path() / "comm") >> name;
      if (name == wanted) return true;
    }
    return false;
  }

  std::vector<posix::Fd> idle_;
};

TEST_F(ShortOfMemoryTest, PagesAreGivenBackAtOnceIfTheMachineNeedsThem) {
  Pool pool = MakePool(8 * kSlot);
  const posix::Fd first = LeaveIdle(pool, 1), second = LeaveIdle(pool, 2);
  ASSERT_EQ(Available(), 0u);

  EXPECT_TRUE(pool.Reserve(pool.ArenaOf(3, kLayout), 3).ok());

  EXPECT_EQ(TouchedBytes(first), 0u);
  EXPECT_EQ(TouchedBytes(second), 4 * kSlot);  // is not needed
  EXPECT_FALSE(IsThereAThread("pool-returns"));
}

// They are not counted any more, so nothing else would say that they are still missing.
TEST_F(ShortOfMemoryTest, PagesThatAreOnTheirWayBackAreNotMissed) {
  Pool pool = MakePool(8 * kSlot);
  const posix::Fd first = LeaveIdle(pool, 1), second = LeaveIdle(pool, 2);
  pool.Tick(start_ + seconds(60), seconds(60));
  ASSERT_EQ(pool.Used().segments, 0u);

  EXPECT_TRUE(pool.Reserve(pool.ArenaOf(3, kLayout), 8).ok());

  EXPECT_EQ(TouchedBytes(first), 0u);
  EXPECT_EQ(TouchedBytes(second), 0u);
}

TEST_F(ShortOfMemoryTest, NobodyWaitsForPagesIfTheMachineHasOthers) {
  Pool pool = MakePool(4 * kSlot);
  const posix::Fd idle = LeaveIdle(pool, 1);
  ASSERT_EQ(Available(), 4 * kSlot);

  EXPECT_TRUE(pool.Reserve(pool.ArenaOf(3, kLayout), 4).ok());

  pool.AwaitReturns();
  EXPECT_EQ(TouchedBytes(idle), 0u);
  EXPECT_TRUE(IsThereAThread("pool-returns"));
}

}  // namespace
}  // namespace penstock::pool
