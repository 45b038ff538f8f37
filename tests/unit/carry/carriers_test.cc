// Carriers: what they write, what they do when a source fails, and that none holds up another.
#include "server/carry/carriers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <cstring>
#include <map>
#include <thread>

#include "tests/support/fake_rows.h"

namespace penstock::carry {
namespace {

using penstock::testing::FakeRows;
using ::testing::HasSubstr;

constexpr source::RowShape kShape = {2, 3, 1};

// Memory for one run.
struct Target {
  explicit Target(size_t rows) : rows(rows * kShape.bytes()), labels(rows * 8), ids(rows * 8) {}
  Run For(const source::Dataset& dataset, std::vector<uint64_t> samples, uint64_t id) {
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

class CarriersTest : public ::testing::Test {
 protected:
  void Start(Carriers& carriers) { ASSERT_TRUE(carriers.Start().ok()); }

  // Waits until so many runs ended.
  static std::map<uint64_t, absl::Status> Collect(Carriers& carriers, size_t count) {
    std::map<uint64_t, absl::Status> ended;
    const base::TimePoint deadline = base::Now() + std::chrono::seconds(20);
    while (ended.size() < count && base::Now() < deadline) {
      for (Outcome& outcome : carriers.Collect())
        EXPECT_TRUE(ended.emplace(outcome.id, outcome.status).second);
      ::poll(nullptr, 0, 1);
    }
    return ended;
  }
};

// When to try again is the caller's business.
TEST_F(CarriersTest, ASourceThatFailsEndsTheRunAtOnceInItsOwnWords) {
  for (const absl::Status& why : {absl::UnavailableError("'/data/x': Input/output error"),
                                  absl::DataLossError("a token is 70000")}) {
    const FakeRows dataset(10, kShape, [&](auto) { return why; });
    Carriers carriers({.count = 1});
    Start(carriers);
    Target target(1);

    carriers.Submit(target.For(dataset, {3}, 7));

    EXPECT_EQ(Collect(carriers, 1).at(7), why);
  }
}

// A dataset whose copies hang until the test says.
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

TEST_F(CarriersTest, ACopyThatDoesNotComeBackHoldsUpNoOtherAndEndsOnceItDoes) {
  HangingRows away;
  const FakeRows whole(10, kShape);
  Carriers carriers({.count = 2});
  Start(carriers);
  Target stuck(1), other(1);
  carriers.Submit(stuck.For(away.rows, {4}, 0));
  carriers.Submit(other.For(away.rows, {4}, 1));
  ASSERT_TRUE(away.Hang(2));

  std::vector<uint64_t> overdue;
  while (overdue.size() < 2)
    for (const uint64_t id : carriers.TakeOverdue(base::Now())) overdue.push_back(id);
  EXPECT_THAT(overdue, ::testing::UnorderedElementsAre(0u, 1u));
  EXPECT_TRUE(carriers.TakeOverdue(base::Now()).empty());

  EXPECT_EQ(carriers.Capacity(), 8u);  // it takes no place
  for (uint64_t id = 100; id < 120; ++id) {
    Target target(1);
    carriers.Submit(target.For(whole, {1}, id));
    EXPECT_TRUE(Collect(carriers, 1).at(id).ok());
  }
  EXPECT_THAT(carriers.Stalls(base::Now() + std::chrono::seconds(2)).at(0).reason,
              HasSubstr("/fake#4"));

  away.hangs = false;
  EXPECT_EQ(Collect(carriers, 2).size(), 2u);
  EXPECT_EQ(stuck.rows[0], FakeRows::ByteOf(4, 0));
  Target target(1);
  carriers.Submit(target.For(whole, {1}, 7));
  EXPECT_TRUE(Collect(carriers, 1).at(7).ok());
}

TEST_F(CarriersTest, WhatIsCopiedAsideTakesNoPlaceAndIsToldWhenItDoesNotComeBack) {
  HangingRows away;
  Carriers carriers({.count = 1});
  Start(carriers);
  Target stuck(1);
  carry::Run run = stuck.For(away.rows, {4}, 7);
  run.aside = true;

  carriers.Submit(std::move(run));

  ASSERT_TRUE(away.Hang(1));
  EXPECT_EQ(carriers.Capacity(), 4u);
  std::vector<uint64_t> overdue;
  while (overdue.empty()) overdue = carriers.TakeOverdue(base::Now());
  EXPECT_EQ(overdue.at(0), 7u);
  away.hangs = false;
  EXPECT_TRUE(Collect(carriers, 1).at(7).ok());
}

TEST_F(CarriersTest, RowsLabelsAndIdsStandInTheOrderThatWasAsked) {
  const FakeRows dataset(1000, kShape);
  Carriers carriers({.count = 1});
  Start(carriers);
  const std::vector<uint64_t> samples = {999, 0, 7, 7};
  Target target(samples.size());

  carriers.Submit(target.For(dataset, samples, 1));

  ASSERT_TRUE(Collect(carriers, 1).at(1).ok());
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

TEST_F(CarriersTest, TwoCarriersCopyEachRunOnce) {
  std::atomic<uint64_t> copies{0};
  const FakeRows dataset(1000, kShape, [&](auto) {
    ++copies;
    return absl::OkStatus();
  });
  Carriers carriers({.count = 2});
  Start(carriers);
  EXPECT_EQ(carriers.Capacity(), 8u);
  std::vector<Target> targets(100, Target(1));
  for (uint64_t id = 0; id < 100; ++id) carriers.Submit(targets[id].For(dataset, {id}, id));

  EXPECT_EQ(Collect(carriers, 100).size(), 100u);

  EXPECT_EQ(copies, 100u);
  for (uint64_t id = 0; id < 100; ++id) EXPECT_EQ(targets[id].rows[5], FakeRows::ByteOf(id, 5));
}

TEST_F(CarriersTest, TheEventIsRungWhenARunEnds) {
  const FakeRows dataset(10, kShape);
  Carriers carriers({.count = 1});
  Start(carriers);
  Target target(1);

  carriers.Submit(target.For(dataset, {1}, 1));

  pollfd ready = {.fd = carriers.event().get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&ready, 1, 10'000), 1);
  EXPECT_EQ(Collect(carriers, 1).size(), 1u);
}

}  // namespace
}  // namespace penstock::carry
