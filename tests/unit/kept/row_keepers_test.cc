// Rows go to a shelf and come back through the threads, each with one outcome.
#include "server/kept/row_keepers.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <map>

#include "server/kept/row_store.h"

namespace penstock::kept {
namespace {

constexpr size_t kBytes = 500;
constexpr uint64_t kRows = 300;

class RowKeepersTest : public ::testing::Test {
 protected:
  void SubmitAll(RowMove move) {
    std::vector<RowJob> jobs;
    for (uint64_t row = 0; row < kRows; ++row) {
      jobs.push_back({.id = row,
                      .move = move,
                      .shelf = shelf_,
                      .sample = row,
                      .parts = {std::span(rows_).subspan(row * kBytes, kBytes)}});
      if (jobs.size() == row % 7 + 1) keepers_.Submit(jobs);
    }
    keepers_.Submit(jobs);
    EXPECT_TRUE(jobs.empty());
  }
  // Submits a move of each row, and waits for all outcomes, by id.
  std::map<uint64_t, RowMoved> MoveAll(RowMove move) {
    SubmitAll(move);
    std::map<uint64_t, RowMoved> moved;
    while (moved.size() < kRows) {
      pollfd event = {.fd = keepers_.event().get(), .events = POLLIN, .revents = 0};
      if (::poll(&event, 1, 10'000) != 1) break;
      posix::Drain(keepers_.event());
      for (const RowMoved& each : keepers_.Collect())
        EXPECT_TRUE(moved.emplace(each.id, each).second);
    }
    return moved;
  }

  const std::shared_ptr<KeptRowStore> store_ =
      std::make_shared<KeptRowStore>(KeptRowStore::Options{.memory = kBytes * kRows / 2});
  const std::shared_ptr<RowShelf> shelf_ = store_->Open({.user = 1, .files = 1, .rows = 1});
  std::vector<std::byte> rows_ = std::vector<std::byte>(kBytes * kRows);
  RowKeepers keepers_{"kept", 3};
};

TEST_F(RowKeepersTest, EachRowEndsOnceAndThoseThatWereKeptComeBack) {
  ASSERT_TRUE(keepers_.Start().ok());
  for (uint64_t row = 0; row < kRows; ++row)
    std::fill_n(rows_.begin() + static_cast<ptrdiff_t>(row * kBytes), kBytes,
                static_cast<std::byte>(row));
  std::map<uint64_t, RowMoved> moved = MoveAll(RowMove::kPut);
  ASSERT_EQ(moved.size(), kRows);
  for (const auto& [id, each] : moved) EXPECT_TRUE(each.done && each.move == RowMove::kPut);

  std::fill(rows_.begin(), rows_.end(), std::byte{0xEE});
  moved = MoveAll(RowMove::kTake);
  ASSERT_EQ(moved.size(), kRows);
  uint64_t taken = 0;
  for (const auto& [id, each] : moved) {
    EXPECT_EQ(each.done, shelf_->Find(id).has_value());
    if (each.done) {
      EXPECT_EQ(rows_[id * kBytes + 7], static_cast<std::byte>(id));
    }
    taken += each.done;
  }
  EXPECT_EQ(taken, kRows / 2);
}

TEST_F(RowKeepersTest, RowsThatWaitAtTheEndAreDropped) {
  ASSERT_TRUE(keepers_.Start().ok());
  SubmitAll(RowMove::kTake);
}

TEST_F(RowKeepersTest, ManyThatWaitLeaveNoPlaceForRowsToBePut) {
  EXPECT_TRUE(keepers_.MayPut());
  SubmitAll(RowMove::kTake);  // the threads do not run yet
  EXPECT_FALSE(keepers_.MayPut());
}

}  // namespace
}  // namespace penstock::kept
