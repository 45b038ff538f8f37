// The pool on a machine, or in a cgroup, that has less memory than pool.max.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>

#include "server/pool/pool.h"

namespace penstock::pool {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kPiece = 64 * 1024;
constexpr SlotLayout kPieces = {.slot_bytes = kPiece};

// A machine of eight slots, of which pages that were written are no longer available.
class SmallMachineTest : public ::testing::Test {
 protected:
  SmallMachineTest() {
    Pool::Options options{.max_bytes = 64 * kPiece, .segment_bytes = kPiece};
    options.available_bytes = [this] { return 8 * kPiece - Written(); };
    pool_ = std::make_unique<Pool>(options,
                                   Pool::Listener{.made =
                                                      [this](const Segment& segment) {
                                                        made_.insert(segment.id);
                                                        return absl::OkStatus();
                                                      },
                                                  .give_up = [](const Segment&) { return true; }});
  }

  uint64_t Written() const {
    uint64_t bytes = 0;
    for (const SegmentId id : made_)
      if (const Segment* segment = pool_->Find(id))
        bytes += posix::AllocatedBytes(segment->memory).value();
    return bytes;
  }
  void WriteAll() {
    for (const SegmentId id : made_)
      if (const Segment* segment = pool_->Find(id))
        std::memset(segment->mapping.data(), 1, segment->bytes);
  }
  uint64_t ArenaOf(uint32_t user) { return pool_->ArenaOf(user, kPieces); }

  std::set<SegmentId> made_;
  std::unique_ptr<Pool> pool_;
};

TEST_F(SmallMachineTest, WhatIsPromisedCountsBeforeAnybodyWritesToIt) {
  ASSERT_TRUE(pool_->Reserve(ArenaOf(1), 6).ok());
  ASSERT_EQ(Written(), 0u);

  const absl::Status status = pool_->Reserve(ArenaOf(2), 3);

  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(status.message(), HasSubstr("the machine has 128.0 KiB available"));
  EXPECT_TRUE(pool_->Reserve(ArenaOf(2), 2).ok());
}

TEST_F(SmallMachineTest, WhatIsWrittenCountsOnce) {
  ASSERT_TRUE(pool_->Reserve(ArenaOf(1), 6).ok());
  WriteAll();

  EXPECT_FALSE(pool_->Reserve(ArenaOf(2), 3).ok());
  EXPECT_TRUE(pool_->Reserve(ArenaOf(2), 2).ok());
}

TEST_F(SmallMachineTest, IdleSegmentsOfOthersMakeRoomThoughThePoolIsNotFull) {
  ASSERT_TRUE(pool_->Reserve(ArenaOf(1), 6).ok());
  WriteAll();
  pool_->Unreserve(ArenaOf(1), 6, {});

  EXPECT_TRUE(pool_->Reserve(ArenaOf(2), 7).ok());

  EXPECT_EQ(pool_->UsedByUser().at(2).slots, 7u);
}

TEST_F(SmallMachineTest, NothingIsGivenUpThatAnybodyHasReserved) {
  ASSERT_TRUE(pool_->Reserve(ArenaOf(1), 6).ok());
  WriteAll();

  EXPECT_FALSE(pool_->Reserve(ArenaOf(2), 7).ok());

  EXPECT_EQ(pool_->UsedByUser().at(1).slots, 6u);
}

}  // namespace
}  // namespace penstock::pool
