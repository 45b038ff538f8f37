// Memory of sparse slots: what is charged, granted, refused and given back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>

#include "tests/unit/pool/grants_fixture.h"

namespace penstock::pool {
namespace {

using base::kGiB;
using base::kKiB;
using base::kMiB;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using GrantsDeathTest = GrantsTest;

TEST(LayOutMadeTest, TheBatchFollowsLabelsAndIdsOnAPageAndTheSlotHasAddressesForTheLargest) {
  const SlotLayout layout = LayOutMade(300, kGiB);

  EXPECT_TRUE(layout.sparse());
  EXPECT_EQ(layout.ids_offset, 2432u);
  EXPECT_EQ(layout.made_offset, 2 * kPage);  // 300 × 16 bytes
  EXPECT_EQ(layout.promised_bytes(), layout.made_offset);
  EXPECT_GE(layout.most_made_bytes(), kGiB);
  EXPECT_EQ(layout.slot_bytes, kGiB + 2 * kMiB);
  EXPECT_FALSE(LayOut({100}, 32).sparse());
}

TEST_F(GrantsTest, AReservationIsChargedForLabelsAndIdsAlone) {
  MakePool(64 * kKiB);

  Open(kUser, 4, kGiB);

  EXPECT_EQ(Charged(), 4 * kPage);
  EXPECT_EQ(pool_->Used().reserved_bytes, 4 * kPage);
  EXPECT_EQ(pool_->Used().slots, 4u);
}

TEST_F(GrantsTest, WholePagesAreGrantedAndChargedToTheUser) {
  MakePool(kMiB);
  const uint32_t slot = Open(kUser, 2)[0];
  const uint32_t theirs = Open(kOther, 1)[0];

  ASSERT_TRUE(pool_->Grant(slot, 5000).ok());
  ASSERT_TRUE(pool_->Grant(theirs, 40'000).ok());

  EXPECT_EQ(Granted(slot), 2 * kPage);
  EXPECT_EQ(pool_->UsedByUser()[kUser].segment_bytes, 4 * kPage);
  EXPECT_EQ(pool_->UsedByUser()[kOther].segment_bytes, 11 * kPage);
  EXPECT_EQ(Charged(), 15 * kPage);
}

TEST_F(GrantsTest, NothingAndLessThanBeforeChangeNothing) {
  MakePool(kMiB);
  const uint32_t slot = Open(kUser, 1)[0];

  EXPECT_TRUE(pool_->Grant(slot, 0).ok());
  EXPECT_EQ(Granted(slot), 0u);
  ASSERT_TRUE(pool_->Grant(slot, 10 * kPage).ok());
  EXPECT_TRUE(pool_->Grant(slot, kPage).ok());
  EXPECT_TRUE(pool_->Grant(slot, 10 * kPage).ok());

  EXPECT_EQ(Granted(slot), 10 * kPage);
  EXPECT_EQ(Charged(), 11 * kPage);
}

TEST_F(GrantsTest, MoreThanTheSlotHasRoomForIsRefusedHoweverMuchItIs) {
  MakePool(kGiB);
  const uint32_t slot = Open(kUser, 1)[0];
  const uint64_t most = pool_->Place(slot).layout.most_made_bytes();

  for (const uint64_t bytes : {most + 1, UINT64_MAX - kPage, UINT64_MAX})
    EXPECT_EQ(pool_->Grant(slot, bytes).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(pool_->Grant(slot, kGiB).message()),
              HasSubstr("takes 1.0 GiB, more than the 2.0 MiB"));
  EXPECT_EQ(Charged(), kPage);

  EXPECT_TRUE(pool_->Grant(slot, most).ok());
  std::memset(Made(slot), 'x', most);
}

TEST_F(GrantsTest, WhatDoesNotFitIsRefusedWithTheNumbersAndChangesNothing) {
  MakePool(100 * kKiB);
  const uint32_t slot = Open(kUser, 1)[0];
  ASSERT_TRUE(pool_->Grant(Open(kOther, 1)[0], 40 * kKiB).ok());
  busy_.insert(made_.begin(), made_.end());
  ASSERT_TRUE(pool_->Grant(slot, 8 * kKiB).ok());

  const absl::Status refusal = pool_->Grant(slot, 64 * kKiB);

  EXPECT_EQ(refusal.code(), absl::StatusCode::kResourceExhausted);
  const std::string words(refusal.message());
  EXPECT_THAT(words, HasSubstr("batch of 64.0 KiB needs 56.0 KiB more"));
  EXPECT_THAT(words, HasSubstr("leave 44.0 KiB of the pool's 100.0 KiB"));
  EXPECT_THAT(words, HasSubstr("other users have 44.0 KiB"));
  EXPECT_THAT(words, HasSubstr("pool.max"));
  EXPECT_EQ(Granted(slot), 8 * kKiB);
  EXPECT_EQ(Charged(), 56 * kKiB);
  EXPECT_TRUE(pool_->Grant(slot, 52 * kKiB).ok()) << "all that is left";
  EXPECT_EQ(Charged(), 100 * kKiB);
}

TEST_F(GrantsTest, MemoryThatTheMachineDoesNotHaveIsNotGranted) {
  MakePool(kMiB);
  const std::vector<uint32_t> slots = Open(kUser, 2);
  ASSERT_TRUE(pool_->Grant(slots[1], 16 * kKiB).ok());
  available_ = 20 * kKiB + Charged();  // nothing of it was written

  EXPECT_THAT(std::string(pool_->Grant(slots[0], 24 * kKiB).message()),
              HasSubstr("the machine has 20.0 KiB available"));
  EXPECT_TRUE(pool_->Grant(slots[0], 20 * kKiB).ok());
}

TEST_F(GrantsTest, WhereTheMachineIsShortUnusedGrantsAreGivenBackToo) {
  MakePool(kMiB);
  const std::vector<uint32_t> slots = Open(kUser, 2);
  ASSERT_TRUE(pool_->Grant(slots[1], 16 * kKiB).ok());
  available_ = 0;
  unused_ = {slots[1]};

  EXPECT_FALSE(pool_->Grant(slots[0], 4 * kKiB).ok());

  EXPECT_THAT(forgotten_, ElementsAre(slots[1]));
  EXPECT_EQ(Charged(), 2 * kPage);
}

TEST_F(GrantsTest, UnusedSlotsGiveBackTheirsInTheOrderGivenAndNoMoreThanIsNeeded) {
  MakePool(100 * kKiB);
  const std::vector<uint32_t> slots = Open(kUser, 5);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(pool_->Grant(slots[i], 16 * kKiB).ok());
  unused_ = {slots[2], slots[4], slots[0], slots[1]};  // slots[4] has nothing to give

  ASSERT_TRUE(pool_->Grant(slots[3], 56 * kKiB).ok());

  EXPECT_THAT(forgotten_, ElementsAre(slots[2], slots[0]));
  EXPECT_EQ(Granted(slots[0]), 0u);
  EXPECT_EQ(Granted(slots[1]), 16 * kKiB);
  EXPECT_EQ(Granted(slots[2]), 0u);
  EXPECT_EQ(Charged(), (5 * 4 + 16 + 56) * kKiB);
}

TEST_F(GrantsTest, SegmentsThatNobodyNeedsAreFreedBeforeAnythingIsForgotten) {
  MakePool(160 * kKiB);
  const uint64_t dense = pool_->ArenaOf(kOther, {.slot_bytes = 64 * kKiB});
  ASSERT_TRUE(pool_->Reserve(dense, 1).ok());
  pool_->Unreserve(dense, 1, start_);
  const std::vector<uint32_t> slots = Open(kUser, 2);
  ASSERT_TRUE(pool_->Grant(slots[1], 16 * kKiB).ok());
  unused_ = {slots[1]};

  EXPECT_TRUE(pool_->Grant(slots[0], 100 * kKiB).ok());

  EXPECT_EQ(pool_->Used().segments, 1u);
  EXPECT_TRUE(forgotten_.empty());
}

TEST_F(GrantsTest, ADenseSessionGetsWhatUnusedSparseSlotsHave) {
  MakePool(128 * kKiB);
  const std::vector<uint32_t> slots = Open(kUser, 2);
  ASSERT_TRUE(pool_->Grant(slots[0], 96 * kKiB).ok());
  busy_.insert(made_.begin(), made_.end());
  const uint64_t dense = pool_->ArenaOf(kOther, {.slot_bytes = 64 * kKiB});
  EXPECT_FALSE(pool_->Reserve(dense, 1).ok());

  unused_ = {slots[0]};
  EXPECT_TRUE(pool_->Reserve(dense, 1).ok());

  EXPECT_THAT(forgotten_, ElementsAre(slots[0]));
  EXPECT_EQ(Charged(), 72 * kKiB);
}

TEST_F(GrantsTest, WhatIsGivenBackReadsAsZerosAndOtherSlotsAndTheIdsStay) {
  MakePool(64 * kKiB);
  const std::vector<uint32_t> slots = Open(kUser, 2);
  for (uint32_t slot : slots) {
    ASSERT_TRUE(pool_->Grant(slot, 16 * kKiB).ok());
    std::memset(Made(slot), 'x', 16 * kKiB);
    std::memset(pool_->Place(slot).data, 'i', kPage);
  }
  std::memset(Made(slots[0]) + kMiB, 'x', kPage);  // a writer that exceeds its grant
  const Segment& segment = *pool_->Find(made_[0]);
  const auto reader =
      posix::Mapping::Map(segment.read_only, segment.bytes, posix::Access::kReadOnly);
  ASSERT_TRUE(reader.ok());
  unused_ = {slots[0]};

  ASSERT_TRUE(pool_->Grant(slots[1], 44 * kKiB).ok());

  EXPECT_EQ(PagesOf(segment.memory), 6 * kPage);  // two of labels and ids, and slots[1]
  const auto theirs = [&](uint32_t slot) { return reader->data() + pool_->Place(slot).offset; };
  EXPECT_EQ(theirs(slots[0])[kPage], std::byte{0});
  EXPECT_EQ(theirs(slots[0])[0], std::byte{'i'});
  EXPECT_EQ(theirs(slots[1])[kPage + 16 * kKiB - 1], std::byte{'x'});
}

TEST_F(GrantsTest, GrantsGoWithTheirSegment) {
  MakePool(kMiB);
  const uint32_t slot = Open(kUser, 1)[0];
  ASSERT_TRUE(pool_->Grant(slot, 100 * kKiB).ok());
  const uint64_t arena = pool_->ArenaOf(kUser, LayOutMade(32, kMiB));

  pool_->Unreserve(arena, 1, start_);
  pool_->Tick(start_ + seconds(60), seconds(60));

  EXPECT_EQ(Charged(), 0u);
  EXPECT_TRUE(pool_->UsedByUser().empty());
  const uint32_t fresh = Open(kUser, 1)[0];
  EXPECT_EQ(Granted(fresh), 0u);
  EXPECT_EQ(Charged(), kPage);
}

TEST_F(GrantsTest, PreallocatedMemoryMakesRoomButIsNotUsedForSparseSlots) {
  Pool::Options options;
  options.max_bytes = options.preallocate_bytes = options.segment_bytes = 4 * kMiB;
  pool_.emplace(options, Pool::Listener{.made =
                                            [this](const Segment& s) {
                                              made_.push_back(s.id);
                                              return absl::OkStatus();
                                            },
                                        .give_up = [](const Segment&) { return false; }});
  ASSERT_TRUE(pool_->Preallocate().ok());

  const std::vector<uint32_t> slots = Open(kUser, 3);

  EXPECT_EQ(PagesOf(pool_->Find(made_[0])->memory), 0u);
  EXPECT_EQ(Charged(), 3 * kPage);
  EXPECT_TRUE(pool_->Grant(slots[0], 2 * kMiB - kPage).ok());
  EXPECT_TRUE(pool_->Grant(slots[1], 2 * kMiB - 2 * kPage).ok());  // all that is left
  EXPECT_FALSE(pool_->Grant(slots[2], kPage).ok());                // nobody to ask what is unused
}

TEST_F(GrantsTest, TheLargestWindowOfTheLargestBatchesTakesNoMemory) {
  MakePool(8 * kMiB);

  Open(kUser, 256, kMostMadeBytes);

  const Segment& segment = *pool_->Find(made_[0]);
  EXPECT_EQ(segment.bytes, 256 * (16 * kGiB + 2 * kMiB));
  EXPECT_EQ(PagesOf(segment.memory), 0u);
  EXPECT_EQ(Charged(), 256 * kPage);
}

TEST_F(GrantsTest, ADaemonThatIsOutOfAddressesSaysSo) {
  MakePool(kGiB);
  const uint64_t arena = pool_->ArenaOf(kUser, LayOutMade(32, kMostMadeBytes));

  for (const uint32_t window : {5000u, UINT32_MAX / 2}) {
    const absl::Status status = pool_->Reserve(arena, window);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  }
  int sessions = 0;
  absl::Status last;
  while ((last = pool_->Reserve(arena, 256)).ok()) ASSERT_LT(++sessions, 16);

  EXPECT_EQ(sessions, 15);
  EXPECT_THAT(std::string(last.message()), HasSubstr("256 slots for batches of up to 16.0 GiB"));
  EXPECT_THAT(std::string(last.message()), HasSubstr("of the daemon's 64.0 TiB; lower max_batch"));
}

TEST_F(GrantsTest, WhereTheProcessMayNotMapAsMuchTheErrorSaysWhatToLower) {
#if defined(PENSTOCK_ASAN) || defined(PENSTOCK_TSAN)
  GTEST_SKIP() << "a sanitizer's own mappings exceed any limit";
#endif
  MakePool(kGiB);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit little = {.rlim_cur = 512 * kGiB, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &little), 0);

  const absl::Status status =
      pool_->Reserve(pool_->ArenaOf(kUser, LayOutMade(32, kMostMadeBytes)), 256);

  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_THAT(std::string(status.message()), HasSubstr("lower max_batch_bytes"));
  EXPECT_EQ(Charged(), 0u);
}

TEST_F(GrantsDeathTest, DenseSlotsAndSlotsThatAreGoneAreGrantedNothing) {
  MakePool(kMiB);
  ASSERT_TRUE(pool_->Reserve(pool_->ArenaOf(kUser, {.slot_bytes = 64 * kKiB}), 1).ok());
  const uint32_t dense = pool_->Find(made_[0])->slots[0];

  EXPECT_DEATH(pool_->Grant(dense, 1).IgnoreError(), "sparse");
  EXPECT_DEATH(pool_->Grant(dense + 100, 1).IgnoreError(), "sparse");
}

}  // namespace
}  // namespace penstock::pool
