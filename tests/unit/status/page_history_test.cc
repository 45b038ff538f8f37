#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/status/page/history.h"

namespace penstock::status {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::FloatEq;
using ::testing::FloatNear;

HistoryPoint PointAt(base::Duration since) {
  HistoryPoint point = {.at = base::TimePoint() + std::chrono::hours(1) + since};
  point.time_unix_ms = std::chrono::duration_cast<milliseconds>(since).count();
  return point;
}

TEST(HistoryRecordTest, CountersOfAllDatasetsBecomeRates) {
  HistoryPoint before = PointAt(seconds(0)), now = PointAt(seconds(5));
  before.snapshot.counts["a"] = {.batches_announced = 10, .samples_decoded = 100};
  now.snapshot.counts["a"] = {.batches_announced = 30, .samples_decoded = 400};
  now.snapshot.counts["b"] = {.batches_announced = 5, .samples_decoded = 200};  // opened meanwhile

  const HistoryRecord record = ToHistoryRecord(before, now);

  EXPECT_EQ(record.time_unix_ms, 5000);
  EXPECT_THAT(record.samples_per_second, FloatEq(100));
  EXPECT_THAT(record.batches_per_second, FloatEq(5));
}

TEST(HistoryRecordTest, TimesOfSessionsBecomeSharesOfTheTimeThatTheyWereOpen) {
  HistoryPoint before = PointAt(seconds(0)), now = PointAt(seconds(5));
  before.snapshot.counts["a"] = {.sessions_open = seconds(100),
                                 .sessions_filled = seconds(40),
                                 .sessions_starved = seconds(50)};
  now.snapshot.counts["a"] = {.sessions_open = seconds(110),  // two sessions
                              .sessions_filled = seconds(45),
                              .sessions_starved = milliseconds(52'500)};

  const HistoryRecord record = ToHistoryRecord(before, now);

  EXPECT_THAT(record.starved, FloatNear(0.25f, 1e-6f));
  EXPECT_THAT(record.occupancy, FloatNear(0.5f, 1e-6f));
}

TEST(HistoryRecordTest, WithoutSessionsNobodyWaits) {
  const HistoryRecord record = ToHistoryRecord(PointAt(seconds(0)), PointAt(seconds(5)));

  EXPECT_EQ(record.starved, 0);
  EXPECT_EQ(record.samples_per_second, 0);
}

TEST(HistoryRecordTest, WhatIsNowIsOfTheLaterMoment) {
  HistoryPoint now = PointAt(seconds(5));
  now.draining = true;
  now.snapshot.workers_busy = 0.75;
  now.snapshot.stalls = 2;
  now.snapshot.sessions[0][3] = 1;
  now.snapshot.sessions[2][0] = 4;

  const HistoryRecord record = ToHistoryRecord(PointAt(seconds(0)), now);

  EXPECT_TRUE(record.draining);
  EXPECT_THAT(record.workers_busy, FloatEq(0.75f));
  EXPECT_EQ(record.stalls, 2u);
  EXPECT_EQ(record.sessions, 5u);
}

TEST(HistoryTest, TheFirstPointOnlyBeginsAnInterval) {
  History history;
  history.Add(PointAt(seconds(0)));
  EXPECT_TRUE(history.Newest(10).empty());

  history.Add(PointAt(seconds(5)));

  EXPECT_EQ(history.Newest(10).size(), 1u);
}

TEST(HistoryTest, APointOfNoLaterTimeIsLeftOut) {
  History history;
  history.Add(PointAt(seconds(5)));
  history.Add(PointAt(seconds(5)));
  history.Add(PointAt(seconds(4)));

  EXPECT_TRUE(history.Newest(10).empty());
}

TEST(HistoryTest, TheNewestHourIsKeptOldestFirst) {
  History history;
  for (int i = 0; i < 1000; ++i) history.Add(PointAt(seconds(5 * i)));

  const std::vector<HistoryRecord> all = history.Newest(5000);
  const std::vector<HistoryRecord> two = history.Newest(2);

  ASSERT_EQ(all.size(), kHistoryRecords);
  EXPECT_EQ(all.front().time_unix_ms, 5000 * (1000 - 720));
  EXPECT_EQ(all.back().time_unix_ms, 5000 * 999);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].time_unix_ms, 5000 * 998);
}

}  // namespace
}  // namespace penstock::status
