// Pieces that are fetched ahead: found by readers, fetched once, within the limit.
#include "server/store/files/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <vector>

namespace penstock::store {
namespace {

using std::chrono::milliseconds;

// Byte i of the object is i modulo 251. Counts requests, and holds them up.
class CountedObject final : public FetchedObject {
 public:
  absl::Status Fetch(uint64_t offset, std::span<std::byte> into) const override {
    base::MutexLock lock(mutex_);
    ++requests_;
    most_ = std::max(most_, ++under_way_);
    while (held_) changed_.Wait(mutex_);
    --under_way_;
    for (size_t i = 0; i < into.size(); ++i) into[i] = std::byte((offset + i) % 251);
    return status_;
  }
  absl::Status FetchPatiently(uint64_t offset, std::span<std::byte> into) const override {
    return Fetch(offset, into);
  }
  // Waits for all that was started, which may hold the object.
  void Join() {
    for (std::vector<std::thread> started;; started.clear()) {
      {
        const base::MutexLock lock(mutex_);
        started.swap(started_);
      }
      if (started.empty()) return;
      for (std::thread& thread : started) thread.join();
    }
  }
  void Start(uint64_t offset, std::span<std::byte> into, Done done) const override {
    const base::MutexLock lock(mutex_);
    started_.emplace_back([=, this] {
      absl::Status once;
      {
        const base::MutexLock lock(mutex_);
        once = once_;
      }
      const absl::Status fetched = Fetch(offset, into);
      done(once.ok() ? fetched : once);
    });
  }
  // What Start says instead of success.
  void FailOnce(absl::Status status) {
    const base::MutexLock lock(mutex_);
    once_ = std::move(status);
  }
  void Hold(bool held) {
    const base::MutexLock lock(mutex_);
    held_ = held;
    changed_.NotifyAll();
  }
  void Fail(absl::Status status) {
    const base::MutexLock lock(mutex_);
    status_ = std::move(status);
  }
  int requests() const {
    const base::MutexLock lock(mutex_);
    return requests_;
  }
  int under_way() const {
    const base::MutexLock lock(mutex_);
    return under_way_;
  }

 private:
  mutable base::Mutex mutex_;
  mutable base::CondVar changed_;
  mutable int requests_ PENSTOCK_GUARDED_BY(mutex_) = 0, under_way_ PENSTOCK_GUARDED_BY(mutex_) = 0,
                        most_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  bool held_ PENSTOCK_GUARDED_BY(mutex_) = false;
  mutable std::vector<std::thread> started_ PENSTOCK_GUARDED_BY(mutex_);
  absl::Status once_ PENSTOCK_GUARDED_BY(mutex_);
  absl::Status status_ PENSTOCK_GUARDED_BY(mutex_);
};

class PiecesTest : public ::testing::Test {
 protected:
  void TearDown() override { object_->Join(); }
  void Await(const std::function<bool()>& condition) {
    for (int i = 0; i < 5000 && !condition(); ++i) std::this_thread::sleep_for(milliseconds(1));
    ASSERT_TRUE(condition());
  }
  absl::Status Read(Pieces& pieces, uint64_t offset, uint64_t from, uint64_t bytes) {
    std::vector<std::byte> into(bytes);
    const absl::Status read = pieces.Read(object_, offset, from, into);
    for (size_t i = 0; read.ok() && i < bytes; ++i)
      EXPECT_EQ(into[i], std::byte((offset + from + i) % 251)) << i;
    return read;
  }

  const std::shared_ptr<CountedObject> object_ = std::make_shared<CountedObject>();
};

TEST_F(PiecesTest, WhatIsExpectedIsFetchedOnceAndLetGoOnceItWasRead) {
  Pieces pieces({});
  pieces.Expect(object_, 1000, 500);
  pieces.Expect(object_, 1000, 500);
  Await([&] { return object_->requests() == 1; });

  EXPECT_TRUE(Read(pieces, 1000, 0, 200).ok());
  EXPECT_EQ(pieces.counts().bytes, 500u);
  EXPECT_TRUE(Read(pieces, 1000, 200, 300).ok());

  EXPECT_EQ(object_->requests(), 1);
  EXPECT_EQ(pieces.counts().bytes, 0u);
  EXPECT_EQ(pieces.counts().expected, 1u);
  EXPECT_EQ(pieces.counts().found, 2u);
}

TEST_F(PiecesTest, WhatNobodyExpectedIsFetchedByItsReader) {
  Pieces pieces({});
  EXPECT_TRUE(Read(pieces, 64, 10, 20).ok());
  EXPECT_EQ(object_->requests(), 1);
  EXPECT_EQ(pieces.counts().bytes, 0u);
}

TEST_F(PiecesTest, ManyAreFetchedAtOnceAndNoMoreThanAllowed) {
  Pieces pieces({.most_at_once = 8});
  object_->Hold(true);
  for (uint64_t i = 0; i < 50; ++i) pieces.Expect(object_, 100 * i, 100);
  Await([&] { return object_->under_way() == 8; });
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(object_->under_way(), 8);

  // What has not begun is fetched by the reader itself, who waits for nobody else.
  std::thread reader([&] { EXPECT_TRUE(Read(pieces, 4900, 0, 100).ok()); });
  Await([&] { return object_->under_way() == 9; });
  object_->Hold(false);
  reader.join();
  for (uint64_t i = 0; i < 49; ++i) EXPECT_TRUE(Read(pieces, 100 * i, 0, 100).ok());
  EXPECT_EQ(object_->requests(), 50);
  EXPECT_EQ(pieces.counts().bytes, 0u);
}

TEST_F(PiecesTest, TheLimitOfBytesHolds) {
  Pieces pieces({.most_bytes = 1000});
  for (uint64_t i = 0; i < 5; ++i) pieces.Expect(object_, 300 * i, 300);
  EXPECT_EQ(pieces.counts().expected, 3u);
  EXPECT_EQ(pieces.counts().no_room, 2u);
  EXPECT_EQ(pieces.counts().bytes, 900u);
  pieces.Expect(object_, 5000, uint64_t{1} << 62);
  EXPECT_EQ(pieces.counts().no_room, 3u);

  EXPECT_TRUE(Read(pieces, 1200, 0, 300).ok());  // had no room
  EXPECT_TRUE(Read(pieces, 0, 0, 300).ok());
  pieces.Expect(object_, 1200, 300);
  EXPECT_EQ(pieces.counts().expected, 4u);
}

TEST_F(PiecesTest, WhatNobodyReadsMakesRoomAfterAWhile) {
  Pieces pieces({.most_bytes = 1000, .unread_for = milliseconds(30)});
  for (uint64_t i = 0; i < 3; ++i) pieces.Expect(object_, 300 * i, 300);
  Await([&] { return object_->requests() == 3; });
  std::this_thread::sleep_for(milliseconds(60));
  pieces.Expect(object_, 3000, 300);
  EXPECT_EQ(pieces.counts().expected, 4u);
  EXPECT_EQ(pieces.counts().bytes, 900u);
  EXPECT_TRUE(Read(pieces, 0, 0, 300).ok());  // is fetched again
}

TEST_F(PiecesTest, AFailureIsToldAndTheNextReadAsksAgain) {
  Pieces pieces({});
  object_->Fail(absl::UnavailableError("away"));
  object_->Hold(true);
  pieces.Expect(object_, 0, 100);
  Await([&] { return object_->under_way() == 1; });
  // Only the code: absl counts a status's owners in a library that ThreadSanitizer does not see.
  std::thread reader([&] { EXPECT_TRUE(absl::IsUnavailable(Read(pieces, 0, 0, 100))); });
  Await([&] { return pieces.counts().found == 1; });
  object_->Hold(false);
  reader.join();
  EXPECT_EQ(pieces.counts().bytes, 0u);

  object_->Fail(absl::OkStatus());
  EXPECT_TRUE(Read(pieces, 0, 0, 100).ok());
  EXPECT_EQ(object_->requests(), 3);  // the first, its repetition, the reader's
}

TEST_F(PiecesTest, WhatMaySucceedIsTriedAgainByFewThreads) {
  Pieces pieces({.most_at_once = 64, .most_retried = 2});
  object_->FailOnce(absl::UnavailableError("slow down"));
  for (uint64_t i = 0; i < 40; ++i) pieces.Expect(object_, 100 * i, 100);
  Await([&] { return object_->requests() == 80; });
  for (uint64_t i = 0; i < 40; ++i) EXPECT_TRUE(Read(pieces, 100 * i, 0, 100).ok());
  EXPECT_EQ(object_->requests(), 80);
  EXPECT_EQ(pieces.counts().bytes, 0u);
}

TEST_F(PiecesTest, AStoreThatWasStoppedEndsWhatWaits) {
  Pieces pieces({.most_at_once = 2});
  object_->Hold(true);
  for (uint64_t i = 0; i < 1000; ++i) pieces.Expect(object_, 100 * i, 100);
  Await([&] { return object_->under_way() == 2; });
  object_->Fail(absl::CancelledError("ending"));
  object_->Hold(false);
  Await([&] { return pieces.counts().bytes == 0; });
  EXPECT_EQ(object_->requests(), 2);
}

TEST_F(PiecesTest, ReadersOfOnePieceShareItsRequest) {
  Pieces pieces({});
  object_->Hold(true);
  pieces.Expect(object_, 0, 400);
  Await([&] { return object_->under_way() == 1; });
  std::vector<std::thread> readers;
  for (uint64_t i = 0; i < 4; ++i)
    readers.emplace_back([&, i] { EXPECT_TRUE(Read(pieces, 0, 100 * i, 100).ok()); });
  Await([&] { return pieces.counts().found == 4; });
  object_->Hold(false);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(object_->requests(), 1);
  EXPECT_EQ(pieces.counts().bytes, 0u);
}

TEST_F(PiecesTest, AnEndWaitsForWhatIsUnderWay) {
  auto pieces = std::make_unique<Pieces>(Pieces::Options{.most_at_once = 2});
  object_->Hold(true);
  for (uint64_t i = 0; i < 10; ++i) pieces->Expect(object_, 100 * i, 100);
  Await([&] { return object_->under_way() == 2; });
  std::thread ending([&] { pieces.reset(); });
  std::this_thread::sleep_for(milliseconds(10));
  object_->Hold(false);
  ending.join();
  EXPECT_EQ(object_->requests(), 2);
  EXPECT_EQ(object_->under_way(), 0);
}

}  // namespace
}  // namespace penstock::store
