// RowCopiers: what they write, how they handle a failing source, and that none delays another.
#include "server/copy/row_copiers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <cstring>
#include <map>
#include <thread>

#include "tests/support/fakes/fake_rows.h"

namespace penstock::copy {
namespace {

using penstock::testing::FakeRows;
using ::testing::HasSubstr;

constexpr source::RowShape kShape = {2, 3, 1};

// The memory for one run.
struct Target {
  explicit Target(size_t rows) : rows(rows * kShape.bytes()), labels(rows * 8), ids(rows * 8) {}
  RowRun For(const source::Dataset& dataset, std::vector<uint64_t> samples, uint64_t id) {
    selection = dataset.Select({}).value();
    return {.id = id,
            .dataset = &dataset,
            .selection = &selection,
            .samples = std::move(samples),
            .blocks = {rows.data()},
            .labels = labels.data(),
            .ids = ids.data()};
  }
  source::Selection selection;
  std::vector<std::byte> rows, labels, ids;
};

class RowCopiersTest : public ::testing::Test {
 protected:
  void Start(RowCopiers& row_copiers) { ASSERT_TRUE(row_copiers.Start().ok()); }

  // Waits until `count` runs have ended.
  static std::map<uint64_t, absl::Status> Collect(RowCopiers& row_copiers, size_t count) {
    std::map<uint64_t, absl::Status> ended;
    const base::TimePoint deadline = base::Now() + std::chrono::seconds(20);
    while (ended.size() < count && base::Now() < deadline) {
      for (CopyOutcome& outcome : row_copiers.Collect())
        EXPECT_TRUE(ended.emplace(outcome.id, outcome.status).second);
      ::poll(nullptr, 0, 1);
    }
    return ended;
  }
};

// The caller decides when to retry.
TEST_F(RowCopiersTest, ASourceThatFailsEndsTheRunAtOnceInItsOwnWords) {
  for (const absl::Status& why : {absl::UnavailableError("'/data/x': Input/output error"),
                                  absl::DataLossError("a token is 70000")}) {
    const FakeRows dataset(10, kShape, [&](auto) { return why; });
    RowCopiers row_copiers({.count = 1});
    Start(row_copiers);
    Target target(1);

    row_copiers.Submit(target.For(dataset, {3}, 7));

    EXPECT_EQ(Collect(row_copiers, 1).at(7), why);
  }
}

// A dataset whose copies hang until the test clears `hangs`.
struct HangingRows {
  std::atomic<bool> hangs{true};
  std::atomic<uint32_t> hung{0};
  const FakeRows rows{10, kShape, [this](auto) {
                        if (hangs) ++hung;
                        while (hangs) ::poll(nullptr, 0, 1);
                        return absl::OkStatus();
                      }};
  bool Hang(uint32_t count) const {
    const base::TimePoint deadline = base::Now() + std::chrono::seconds(20);
    while (hung < count && base::Now() < deadline) ::poll(nullptr, 0, 1);
    return hung == count;
  }
};

TEST_F(RowCopiersTest, ACopyThatDoesNotComeBackHoldsUpNoOtherAndEndsOnceItDoes) {
  HangingRows away;
  const FakeRows whole(10, kShape);
  RowCopiers row_copiers({.count = 2});
  Start(row_copiers);
  Target stuck(1), other(1);
  row_copiers.Submit(stuck.For(away.rows, {4}, 0));
  row_copiers.Submit(other.For(away.rows, {4}, 1));
  ASSERT_TRUE(away.Hang(2));

  std::vector<uint64_t> overdue;
  while (overdue.size() < 2)
    for (const uint64_t id : row_copiers.TakeOverdue(base::Now())) overdue.push_back(id);
  EXPECT_THAT(overdue, ::testing::UnorderedElementsAre(0u, 1u));
  EXPECT_TRUE(row_copiers.TakeOverdue(base::Now()).empty());

  EXPECT_EQ(row_copiers.Capacity(), 8u);  // the hung copies occupy no capacity
  for (uint64_t id = 100; id < 120; ++id) {
    Target target(1);
    row_copiers.Submit(target.For(whole, {1}, id));
    EXPECT_TRUE(Collect(row_copiers, 1).at(id).ok());
  }
  EXPECT_THAT(row_copiers.Stalls(base::Now() + std::chrono::seconds(2)).at(0).reason,
              HasSubstr("/fake#4"));

  away.hangs = false;
  EXPECT_EQ(Collect(row_copiers, 2).size(), 2u);
  EXPECT_EQ(stuck.rows[0], FakeRows::ByteOf(4, 0));
  Target target(1);
  row_copiers.Submit(target.For(whole, {1}, 7));
  EXPECT_TRUE(Collect(row_copiers, 1).at(7).ok());
}

TEST_F(RowCopiersTest, WhatIsCopiedAsideTakesNoPlaceAndIsToldWhenItDoesNotComeBack) {
  HangingRows away;
  RowCopiers row_copiers({.count = 1});
  Start(row_copiers);
  Target stuck(1);
  copy::RowRun run = stuck.For(away.rows, {4}, 7);
  run.aside = true;

  row_copiers.Submit(std::move(run));

  ASSERT_TRUE(away.Hang(1));
  EXPECT_EQ(row_copiers.Capacity(), 4u);
  std::vector<uint64_t> overdue;
  while (overdue.empty()) overdue = row_copiers.TakeOverdue(base::Now());
  EXPECT_EQ(overdue.at(0), 7u);
  away.hangs = false;
  EXPECT_TRUE(Collect(row_copiers, 1).at(7).ok());
}

TEST_F(RowCopiersTest, RowsLabelsAndIdsStandInTheOrderThatWasAsked) {
  const FakeRows dataset(1000, kShape);
  RowCopiers row_copiers({.count = 1});
  Start(row_copiers);
  const std::vector<uint64_t> samples = {999, 0, 7, 7};
  Target target(samples.size());

  row_copiers.Submit(target.For(dataset, samples, 1));

  ASSERT_TRUE(Collect(row_copiers, 1).at(1).ok());
  for (size_t row = 0; row < samples.size(); ++row) {
    for (uint64_t j = 0; j < kShape.bytes(); ++j)
      ASSERT_EQ(target.rows[row * kShape.bytes() + j], FakeRows::ByteOf(samples[row], j));
    int64_t label;
    uint64_t id;
    std::memcpy(&label, target.labels.data() + 8 * row, sizeof(label));
    std::memcpy(&id, target.ids.data() + 8 * row, sizeof(id));
    EXPECT_EQ(label, static_cast<int64_t>(samples[row] % 10));
    EXPECT_EQ(id, samples[row]);
  }
}

TEST_F(RowCopiersTest, TwoRowCopiersCopyEachRunOnce) {
  std::atomic<uint64_t> copies{0};
  const FakeRows dataset(1000, kShape, [&](auto) {
    ++copies;
    return absl::OkStatus();
  });
  RowCopiers row_copiers({.count = 2});
  Start(row_copiers);
  EXPECT_EQ(row_copiers.Capacity(), 8u);
  std::vector<Target> targets(100, Target(1));
  for (uint64_t id = 0; id < 100; ++id) row_copiers.Submit(targets[id].For(dataset, {id}, id));

  EXPECT_EQ(Collect(row_copiers, 100).size(), 100u);

  EXPECT_EQ(copies, 100u);
  for (uint64_t id = 0; id < 100; ++id) EXPECT_EQ(targets[id].rows[5], FakeRows::ByteOf(id, 5));
}

TEST_F(RowCopiersTest, TheEventIsRungWhenARunEnds) {
  const FakeRows dataset(10, kShape);
  RowCopiers row_copiers({.count = 1});
  Start(row_copiers);
  Target target(1);

  row_copiers.Submit(target.For(dataset, {1}, 1));

  pollfd ready = {.fd = row_copiers.event().get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&ready, 1, 10'000), 1);
  EXPECT_EQ(Collect(row_copiers, 1).size(), 1u);
}

}  // namespace
}  // namespace penstock::copy
