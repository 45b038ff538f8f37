#include "server/workers/queue/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace penstock::workers {
namespace {

TEST(ArenaTest, WhatIsLargerThanTheArenaNeverFits) {
  InputArena arena(1024);

  EXPECT_EQ(arena.Allocate(1025), std::nullopt);
  EXPECT_EQ(arena.Allocate(UINT64_MAX), std::nullopt);
  EXPECT_EQ(arena.Allocate(1024), 0u);
}

TEST(ArenaTest, AFullArenaGivesNothingUntilSomethingIsFreed) {
  InputArena arena(256);
  ASSERT_EQ(arena.Allocate(128), 0u);
  ASSERT_EQ(arena.Allocate(128), 128u);

  EXPECT_EQ(arena.Allocate(1), std::nullopt);
  arena.Free(0);

  EXPECT_EQ(arena.Allocate(65), 0u);
  EXPECT_EQ(arena.Allocate(1), std::nullopt);
}

TEST(ArenaTest, TheLastAllocationCanBeTakenBack) {
  InputArena arena(256);
  ASSERT_EQ(arena.Allocate(64), 0u);
  ASSERT_EQ(arena.Allocate(192), 64u);

  arena.Free(64);

  EXPECT_EQ(arena.Allocate(128), 64u);
}

TEST(ArenaTest, TheOthersGoRoundBesideOneThatStays) {
  InputArena arena(256);
  ASSERT_EQ(arena.Allocate(64), 0u);
  ASSERT_EQ(arena.Allocate(64), 64u);
  arena.LeaveBehind(64);
  arena.Free(0);

  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(arena.Allocate(128), 128u);
    ASSERT_EQ(arena.Allocate(64), 0u);
    arena.Free(128);
    arena.Free(0);
  }
  EXPECT_TRUE(arena.WillFit(128));
  EXPECT_FALSE(arena.WillFit(129));
}

TEST(ArenaTest, NoBytesTakeAPlaceOfTheirOwn) {
  InputArena arena(128);

  EXPECT_EQ(arena.Allocate(0), 0u);
  EXPECT_EQ(arena.Allocate(0), 64u);
  EXPECT_EQ(arena.Allocate(0), std::nullopt);
}

TEST(ArenaTest, SmallFilesGoRoundInFewPages) {
  InputArena arena(32u << 20);
  uint64_t furthest = 0;
  std::deque<uint64_t> living;
  for (int i = 0; i < 3; ++i) living.push_back(*arena.Allocate(100'000));

  for (int i = 0; i < 10'000; ++i) {
    arena.Free(living.front());
    living.pop_front();
    const auto offset = arena.Allocate(80'000 + i % 40'000);
    ASSERT_TRUE(offset.has_value());
    living.push_back(*offset);
    furthest = std::max(furthest, *offset);
  }

  EXPECT_LT(furthest, 1'000'000u);
}

TEST(ArenaTest, LivingRegionsNeverOverlapWhateverTheirSizes) {
  struct Living {
    uint64_t begin, end;
  };
  InputArena arena(64 * 100);
  std::deque<Living> living;
  std::mt19937 random(7);
  int allocated = 0;
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t bytes = random() % 2500;
    if (const auto offset = arena.Allocate(bytes)) {
      ++allocated;
      ASSERT_EQ(*offset % 64, 0u);
      ASSERT_LE(*offset + bytes, 6400u);
      for (const Living& each : living) {
        ASSERT_TRUE(*offset + bytes <= each.begin || *offset >= each.end);
      }
      living.push_back({*offset, *offset + std::max<uint64_t>(bytes, 1)});
    }
    if (!living.empty() && random() % 3 == 0) {
      arena.Free(living.front().begin);
      living.pop_front();
    }
    if (!living.empty() && random() % 7 == 0) {
      const auto any = living.begin() + static_cast<std::ptrdiff_t>(random() % living.size());
      arena.Free(any->begin);
      living.erase(any);
    }
    ASSERT_EQ(arena.empty(), living.empty());
  }
  EXPECT_GT(allocated, 50'000);
}

}  // namespace
}  // namespace penstock::workers
