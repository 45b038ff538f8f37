// What the store keeps, within its limit and among users.
#include "server/checkpoints/store.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tests/unit/checkpoints/taken.h"

namespace penstock::checkpoints {
namespace {

constexpr uint64_t kTenBlocks = 10 * kBlockSamples;

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}

ShelfKey KeyOf(uint32_t user, uint64_t dataset = 1) {
  return {.user = user, .dataset = dataset, .samples = kTenBlocks};
}

// With room for so many blocks of shelves with 64 bytes a sample.
std::shared_ptr<CheckpointStore> StoreFor(uint64_t blocks) {
  return std::make_shared<CheckpointStore>(blocks * BlockBytes(CheckpointStore::kLeastRoom));
}

TEST(CheckpointStoreTest, ASampleHasWhatWasPutLast) {
  const auto store = StoreFor(10);
  const auto shelf = store->Open(KeyOf(1));
  EXPECT_EQ(Taken(*shelf, 5), "");
  shelf->Put(5, BytesOf("first"));
  shelf->Put(6, BytesOf("other"));
  shelf->Put(5, BytesOf("second"));
  EXPECT_EQ(Taken(*shelf, 5), "second");
  EXPECT_EQ(Taken(*shelf, 6), "other");
  EXPECT_EQ(Taken(*shelf, 5 + kBlockSamples), "");
  shelf->Put(5, {});
  EXPECT_EQ(Taken(*shelf, 5), "");
  shelf->Put(kTenBlocks - 1, {});  // nothing is there to forget

  const CheckpointStore::Counts counts = store->counts();
  EXPECT_EQ(counts.bytes, BlockBytes(shelf->room()));
  EXPECT_EQ(counts.asked, 5u);
  EXPECT_EQ(counts.found, 2u);
  EXPECT_EQ(counts.refused, 0u);
}

TEST(CheckpointStoreTest, TheRoomIsASamplesPartOfTheStore) {
  const auto room = [](uint64_t bytes, uint64_t samples) {
    const auto store = std::make_shared<CheckpointStore>(bytes);
    return store->Open({.user = 1, .dataset = 1, .samples = samples})->room();
  };
  EXPECT_EQ(room(256 << 20, 1'281'167), 209u);
  EXPECT_EQ(room(256 << 20, 1000), CheckpointStore::kMostRoom);
  EXPECT_EQ(room(256 << 20, 100'000'000), CheckpointStore::kLeastRoom);
  EXPECT_EQ(std::make_shared<CheckpointStore>(0)->Open(KeyOf(1)), nullptr);
}

TEST(CheckpointStoreTest, UsersAndDatasetsHaveTheirOwn) {
  const auto store = StoreFor(10);
  const auto one = store->Open(KeyOf(1)), two = store->Open(KeyOf(2)),
             other = store->Open(KeyOf(1, 2)), same = store->Open(KeyOf(1));
  one->Put(3, BytesOf("of one"));
  EXPECT_EQ(Taken(*two, 3), "");
  EXPECT_EQ(Taken(*other, 3), "");
  EXPECT_EQ(Taken(*same, 3), "of one");
}

TEST(CheckpointStoreTest, AFullStoreKeepsWhatItHas) {
  const auto store = StoreFor(2);
  const auto shelf = store->Open(KeyOf(1));
  for (uint64_t block = 0; block < 4; ++block) shelf->Put(block * kBlockSamples, BytesOf("x"));
  EXPECT_EQ(Taken(*shelf, 0), "x");
  EXPECT_EQ(Taken(*shelf, kBlockSamples), "x");
  EXPECT_EQ(Taken(*shelf, 2 * kBlockSamples), "");
  EXPECT_EQ(store->counts().refused, 2u);
  EXPECT_LE(store->counts().bytes, store->max_bytes());
}

TEST(CheckpointStoreTest, WhatNobodyUsesIsDroppedFirstTheLongestUnusedBeforeOthers) {
  const auto store = StoreFor(3);
  for (const uint64_t dataset : {1, 2, 3}) {
    const auto shelf = store->Open(KeyOf(1, dataset));
    shelf->Put(0, BytesOf("x"));
  }
  const auto newest = store->Open(KeyOf(1, 4));
  newest->Put(0, BytesOf("new"));
  EXPECT_EQ(Taken(*store->Open(KeyOf(1, 1)), 0), "");
  EXPECT_EQ(Taken(*store->Open(KeyOf(1, 2)), 0), "x");  // remembered while it was closed
  EXPECT_EQ(Taken(*newest, 0), "new");
}

TEST(CheckpointStoreTest, AUserWithLessThanAnEqualShareGetsOfTheOneWithTheMost) {
  const auto store = StoreFor(6);
  const auto first = store->Open(KeyOf(1)), second = store->Open(KeyOf(2));
  for (uint64_t block = 0; block < 6; ++block) first->Put(block * kBlockSamples, BytesOf("x"));
  const auto kept = [](const CheckpointShelf& shelf) {
    int count = 0;
    for (uint64_t block = 0; block < 6; ++block)
      count += !Taken(shelf, block * kBlockSamples).empty();
    return count;
  };
  EXPECT_EQ(kept(*first), 6);
  for (uint64_t block = 0; block < 6; ++block) second->Put(block * kBlockSamples, BytesOf("y"));
  EXPECT_EQ(kept(*second), 3);
  EXPECT_EQ(kept(*first), 3);
  for (uint64_t block = 0; block < 6; ++block) first->Put(block * kBlockSamples, BytesOf("x"));
  EXPECT_EQ(kept(*first), 3);
}

TEST(CheckpointStoreTest, ManyClosedShelvesAreNotRememberedForEver) {
  const auto store = std::make_shared<CheckpointStore>(uint64_t{1} << 30);
  for (uint64_t dataset = 0; dataset < 5000; ++dataset)
    store->Open(KeyOf(1, dataset))->Put(0, BytesOf("x"));
  EXPECT_LE(store->counts().bytes, 1024 * BlockBytes(CheckpointStore::kMostRoom));
  EXPECT_EQ(Taken(*store->Open(KeyOf(1, 4999)), 0), "x");
}

TEST(CheckpointStoreTest, NobodyWaitsUntilAllOfALargeShelfIsDropped) {
  constexpr uint64_t kBlocks = 1000;
  const auto store = StoreFor(kBlocks);
  const ShelfKey large{.user = 1, .dataset = 1, .samples = 100'000'000};
  {
    const auto shelf = store->Open(large);
    for (uint64_t block = 0; block < kBlocks; ++block)
      shelf->Put(block * kBlockSamples, BytesOf("x"));
  }
  EXPECT_EQ(store->counts().bytes, store->max_bytes());

  const auto other = store->Open({.user = 1, .dataset = 2, .samples = 100'000'000});
  for (uint64_t block = 0; block < 2; ++block) other->Put(block * kBlockSamples, BytesOf("y"));
  EXPECT_GE(store->counts().bytes, store->max_bytes() * 9 / 10);
  for (uint64_t block = 0; block < kBlocks; ++block)
    other->Put(block * kBlockSamples, BytesOf("y"));
  EXPECT_EQ(store->counts().refused, 0u);
  EXPECT_EQ(Taken(*other, 0) + Taken(*other, (kBlocks - 1) * kBlockSamples), "yy");
}

// Its file has all of them.
TEST(CheckpointStoreTest, AShelfThatLostSomeOfItsBlocksIsReadAgain) {
  constexpr base::Duration kAtOnce{};
  const auto store = StoreFor(100);
  const ShelfKey large{.user = 1, .dataset = 1, .samples = 100'000'000};
  for (uint64_t block = 0; block < 100; ++block)
    store->Open(large)->Put(block * kBlockSamples, BytesOf("x"));
  while (store->AwaitOpened(kAtOnce)) {
  }
  store->Open(KeyOf(2))->Put(0, BytesOf("y"));
  ASSERT_TRUE(store->AwaitOpened(kAtOnce));

  const auto again = store->Open(large);
  EXPECT_EQ(Taken(*again, 99 * kBlockSamples), "x");
  const auto opened = store->AwaitOpened(kAtOnce);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->key, large);
  store->Open(large);
  EXPECT_FALSE(store->AwaitOpened(kAtOnce));
}

TEST(CheckpointStoreTest, WhatNobodyWritesIsNotNoted) {
  const auto store = StoreFor(5);
  const auto shelf = store->Open(KeyOf(1));
  shelf->Put(1, BytesOf("x"));
  EXPECT_FALSE(store->TakeChanged());
  store->BeWritten(true);
  shelf->Put(2, BytesOf("x"));
  EXPECT_TRUE(store->TakeChanged());
  shelf->Put(3, BytesOf("x"));
  store->BeWritten(false);
  EXPECT_FALSE(store->TakeChanged());
}

TEST(CheckpointStoreTest, ThreadsTakeAndPutAtOnce) {
  const auto store = StoreFor(5);
  store->BeWritten(true);
  std::vector<std::thread> threads;
  for (uint32_t user = 0; user < 4; ++user) {
    threads.emplace_back([&store, user] {
      for (int round = 0; round < 300; ++round) {
        const auto shelf = store->Open(KeyOf(user % 2, round % 3));
        const uint64_t sample = static_cast<uint64_t>(round * 7) % kTenBlocks;
        shelf->Put(sample, BytesOf(std::to_string(sample)));
        const std::string text = Taken(*shelf, sample);
        EXPECT_TRUE(text.empty() || text == std::to_string(sample)) << text;
        if (const auto block = store->TakeChanged(); block && round % 5 == 0)
          store->PutBack(*block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(store->counts().bytes, store->max_bytes());
}

}  // namespace
}  // namespace penstock::checkpoints
