// What the store keeps, within its limit and among users.
#include "server/kept/row_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace penstock::kept {
namespace {

constexpr size_t kRowBytes = 1000;

RowShelfKey KeyFor(uint32_t user, uint64_t rows = 1, uint64_t files = 7) {
  return {.user = user, .files = files, .rows = rows};
}

std::shared_ptr<KeptRowStore> MakeStore(uint64_t memory) {
  return std::make_shared<KeptRowStore>(KeptRowStore::Options{.memory = memory});
}

// The row of a sample: bytes that say which it is.
void PutSample(RowShelf& shelf, uint64_t sample) {
  std::vector<std::byte> row(kRowBytes, static_cast<std::byte>(sample));
  shelf.Put(sample, {std::span(row)});
}

bool TakesSample(const RowShelf& shelf, uint64_t sample) {
  std::vector<std::byte> row(kRowBytes, std::byte{0xEE});
  if (!shelf.Take(sample, {std::span(row)})) return false;
  return std::ranges::all_of(row, [&](std::byte b) { return b == static_cast<std::byte>(sample); });
}

int CountKept(const RowShelf& shelf, uint64_t samples) {
  int count = 0;
  for (uint64_t sample = 0; sample < samples; ++sample) count += shelf.Find(sample).has_value();
  return count;
}

TEST(RowStoreTest, ARowIsThereUntilItsStoreEnds) {
  const auto store = MakeStore(10 * kRowBytes);
  const auto shelf = store->Open(KeyFor(1));
  EXPECT_FALSE(shelf->Find(3));
  EXPECT_FALSE(TakesSample(*shelf, 3));
  PutSample(*shelf, 3);
  PutSample(*shelf, 3);
  EXPECT_TRUE(shelf->Find(3));
  EXPECT_TRUE(TakesSample(*shelf, 3));
  EXPECT_EQ(store->counts().bytes, kRowBytes);
  EXPECT_EQ(store->counts().served, 1u);
  EXPECT_EQ(store->counts().wrong, 0u);
}

TEST(RowStoreTest, UsersFilesAndTransformsHaveTheirOwn) {
  const auto store = MakeStore(10 * kRowBytes);
  const auto shelf = store->Open(KeyFor(1));
  PutSample(*shelf, 3);
  EXPECT_TRUE(store->Open(KeyFor(1))->Find(3));
  EXPECT_FALSE(store->Open(KeyFor(2))->Find(3));
  EXPECT_FALSE(store->Open(KeyFor(1, 2))->Find(3));
  EXPECT_FALSE(store->Open(KeyFor(1, 1, 8))->Find(3));
}

TEST(RowStoreTest, NothingIsKeptWithoutRoomOrWithoutKnownFiles) {
  EXPECT_EQ(MakeStore(0)->Open(KeyFor(1)), nullptr);
  EXPECT_EQ(MakeStore(10)->Open(KeyFor(1, 1, 0)), nullptr);
}

TEST(RowStoreTest, ARowThatCanNeverFitTakesNobodysRoom) {
  const auto store = MakeStore(3 * kRowBytes);
  for (uint64_t sample = 0; sample < 3; ++sample) PutSample(*store->Open(KeyFor(1)), sample);
  const auto shelf = store->Open(KeyFor(2));
  EXPECT_FALSE(shelf->HasRoomFor(4 * kRowBytes));
  std::vector<std::byte> row(4 * kRowBytes);
  shelf->Put(0, {std::span(row)});
  EXPECT_FALSE(shelf->Find(0));
  EXPECT_EQ(CountKept(*store->Open(KeyFor(1)), 3), 3);
}

TEST(RowStoreTest, AFullStoreKeepsWhatItHas) {
  const auto store = MakeStore(3 * kRowBytes);
  const auto shelf = store->Open(KeyFor(1));
  for (uint64_t sample = 0; sample < 5; ++sample) PutSample(*shelf, sample);
  for (uint64_t sample = 0; sample < 5; ++sample)
    EXPECT_EQ(shelf->Find(sample).has_value(), sample < 3);
  EXPECT_FALSE(shelf->HasRoomFor(kRowBytes));
  EXPECT_EQ(store->counts().refused, 2u);
  EXPECT_EQ(store->counts().bytes, 3 * kRowBytes);
}

TEST(RowStoreTest, RowsAreKeptOnlyWhileTheMachineHasMemory) {
  std::atomic<uint64_t> left{MemoryLeft::kReserve + MemoryLeft::kStep};
  const auto store = std::make_shared<KeptRowStore>(
      KeptRowStore::Options{.memory = UINT64_MAX / 4, .ask = [&] { return left.load(); }});
  const auto shelf = store->Open(KeyFor(1));
  PutSample(*shelf, 0);
  EXPECT_TRUE(shelf->Find(0));
  left = MemoryLeft::kReserve;
  PutSample(*shelf, 1);
  EXPECT_TRUE(shelf->Find(1));  // of what was granted
  EXPECT_FALSE(shelf->HasRoomFor(MemoryLeft::kStep));
  std::vector<std::byte> large(MemoryLeft::kStep);
  shelf->Put(2, {std::span(large)});
  EXPECT_FALSE(shelf->Find(2));
  EXPECT_EQ(store->counts().refused, 1u);
  EXPECT_TRUE(TakesSample(*shelf, 0));
}

// A sanitizer would end the process.
#if !defined(PENSTOCK_ASAN) && !defined(PENSTOCK_TSAN)
TEST(RowStoreTest, ARowForWhichTheSystemHasNoMemoryIsRefused) {
  const auto store = MakeStore(UINT64_MAX / 4);
  const auto shelf = store->Open(KeyFor(1));
  std::byte first{};
  shelf->Put(1, {std::span(&first, size_t{1} << 60)});  // never read: the allocation fails before
  EXPECT_FALSE(shelf->Find(1));
  EXPECT_EQ(store->counts().refused, 1u);
  PutSample(*shelf, 1);
  EXPECT_TRUE(TakesSample(*shelf, 1));
}
#endif

TEST(RowStoreTest, RowsThatNoOpenFeedCanUseGoFirstTheLongestUnusedBeforeOthers) {
  const auto store = MakeStore(4 * kRowBytes);
  for (const uint64_t rows : {1, 2}) {
    const auto shelf = store->Open(KeyFor(1, rows));
    PutSample(*shelf, 0);
    PutSample(*shelf, 1);
  }
  const auto open = store->Open(KeyFor(1, 3));
  EXPECT_TRUE(open->HasRoomFor(kRowBytes));
  for (uint64_t sample = 0; sample < 3; ++sample) PutSample(*open, sample);
  EXPECT_EQ(CountKept(*open, 3), 3);
  EXPECT_EQ(CountKept(*store->Open(KeyFor(1, 1)), 2), 0);
  EXPECT_EQ(CountKept(*store->Open(KeyFor(1, 2)), 2), 1);
  EXPECT_LE(store->counts().bytes, 4 * kRowBytes);
}

TEST(RowStoreTest, AUserWithLessThanAnEqualShareGetsOfTheOneWithTheMost) {
  const auto store = MakeStore(6 * kRowBytes);
  const auto first = store->Open(KeyFor(1)), second = store->Open(KeyFor(2));
  for (uint64_t sample = 0; sample < 8; ++sample) PutSample(*first, sample);
  EXPECT_EQ(CountKept(*first, 8), 6);
  EXPECT_TRUE(second->HasRoomFor(kRowBytes));
  for (uint64_t sample = 0; sample < 8; ++sample) PutSample(*second, sample);
  EXPECT_EQ(CountKept(*first, 8), 3);
  EXPECT_EQ(CountKept(*second, 8), 3);
  EXPECT_FALSE(first->HasRoomFor(kRowBytes));
}

TEST(RowStoreTest, ManyThreadsPutAndTakeAtOnce) {
  const auto store = MakeStore(20 * kRowBytes);
  std::vector<std::thread> threads;
  for (uint32_t number = 0; number < 4; ++number) {
    threads.emplace_back([&store, number] {
      for (uint64_t round = 0; round < 400; ++round) {
        const auto shelf = store->Open(KeyFor(number % 2, round / 100));
        const uint64_t sample = round * 7 % 50;
        PutSample(*shelf, sample);
        std::vector<std::byte> row(kRowBytes);
        if (shelf->Take(sample, {std::span(row)})) {
          EXPECT_EQ(row.back(), static_cast<std::byte>(sample));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(store->counts().bytes, 20 * kRowBytes);
  EXPECT_EQ(store->counts().wrong, 0u);
}

}  // namespace
}  // namespace penstock::kept
