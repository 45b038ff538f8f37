// Tests a batch's whole path, with a real daemon, workers and trainers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

constexpr int kImages = 120;

TEST(FeedingTest, OneTwoAndFourWorkersGiveTheSameBytes) {
  std::vector<Delivered> epochs;
  for (int workers : {1, 2, 4}) {
    DaemonProcess daemon({.workers = workers});
    epochs.push_back(OneEpoch(daemon.address(), SmallRows(Photographs(kImages), 16)));
  }

  EXPECT_EQ(epochs[0].rows.size(), size_t{kImages});
  EXPECT_TRUE(epochs[0] == epochs[1]);
  EXPECT_TRUE(epochs[0] == epochs[2]);
}

TEST(FeedingTest, AnEpochHasEverySampleOnceAndTheNextOneAnotherOrder) {
  DaemonProcess daemon({.workers = 2});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = SmallRows(Photographs(kImages), 16);
  options.epochs = 2;
  Session session = client.Open(options).OrDie();

  Delivered both;
  EXPECT_EQ(session.batches_in_epoch(), (kImages + 15u) / 16);
  EXPECT_EQ(TakeBatches(session, 1000, both).code(), Code::kEndOfEpoch);
  EXPECT_EQ(TakeBatches(session, 1000, both).code(), Code::kEndOfEpoch);
  EXPECT_EQ(session.Next().status().code(), Code::kEndOfData);

  std::set<uint64_t> seen[2];
  int same_place = 0;
  for (uint64_t place = 0; place < kImages; ++place) {
    seen[0].insert(both.rows.at({0, place}).sample);
    seen[1].insert(both.rows.at({1, place}).sample);
    same_place += both.rows.at({0, place}).sample == both.rows.at({1, place}).sample ? 1 : 0;
  }
  EXPECT_EQ(seen[0].size(), size_t{kImages});
  EXPECT_EQ(seen[1].size(), size_t{kImages});
  EXPECT_LT(same_place, kImages / 4);
}

TEST(FeedingTest, TwoRanksResumedAsThreeLoseAndDoubleNothing) {
  DaemonProcess daemon({.workers = 2});
  SessionOptions options = SmallRows(Photographs(kImages), 8);
  options.remainder = Remainder::kPartial;
  const Delivered undisturbed = OneEpoch(daemon.address(), options);
  Client client = Client::Connect({.address = daemon.address()}).OrDie();

  Delivered all;
  std::optional<State> state;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    options.rank = rank;
    options.world_size = 2;
    Session session = client.Open(options).OrDie();
    EXPECT_TRUE(TakeBatches(session, 3, all).ok());
    state = session.state();
  }
  EXPECT_EQ(state->consumed, 2u * 3 * 8);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    options.rank = rank;
    options.world_size = 3;
    options.batch_size = 5;
    options.state = state;
    Session session = client.Open(options).OrDie();
    EXPECT_EQ(TakeBatches(session, 1000, all).code(), Code::kEndOfEpoch);
  }

  EXPECT_EQ(all.twice, 0u);
  EXPECT_TRUE(all == undisturbed);
}

TEST(FeedingTest, TwoTrainersOfOneSpeedShareEachDecodedBatch) {
  DaemonProcess daemon({.workers = 1});
  const SessionOptions options = SmallRows(Photographs(kImages), 8);
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session first = client.Open(options).OrDie();
  Session second = client.Open(options).OrDie();

  Delivered got[2];
  for (int batch = 0; batch < kImages / 8; ++batch) {
    ASSERT_TRUE(TakeBatches(first, 1, got[0]).ok());
    ASSERT_TRUE(TakeBatches(second, 1, got[1]).ok());
  }

  EXPECT_TRUE(got[0] == got[1]);
  const v1::GetStatusResponse status = daemon.Status();
  ASSERT_EQ(status.feeds_size(), 1);
  EXPECT_EQ(status.feeds(0).batches_announced(), 2u * kImages / 8);
  EXPECT_EQ(status.feeds(0).batches_decoded(), uint64_t{kImages} / 8);
  EXPECT_EQ(status.samples_decoded(), uint64_t{kImages});
}

TEST(FeedingTest, EightTrainersOfOneSpeedHaveEachBatchDecodedOnceForAllOfThem) {
  constexpr int kTrainers = 8, kEpochs = 4;
  DaemonProcess daemon({.workers = 1});
  SessionOptions options = SmallRows(Photographs(kImages), 8);
  options.epochs = kEpochs;
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  std::vector<Session> sessions;
  for (int i = 0; i < kTrainers; ++i) sessions.push_back(client.Open(options).OrDie());

  std::vector<Delivered> got(kTrainers);
  std::vector<std::thread> trainers;
  for (int i = 0; i < kTrainers; ++i)
    trainers.emplace_back([&, i] {
      for (int epoch = 0; epoch < kEpochs; ++epoch)
        EXPECT_EQ(TakeBatches(sessions[i], 1000, got[i], std::chrono::milliseconds(20)).code(),
                  Code::kEndOfEpoch);
    });
  for (std::thread& trainer : trainers) trainer.join();

  for (const Delivered& delivered : got) EXPECT_TRUE(delivered == got[0]);
  EXPECT_EQ(got[0].rows.size(), size_t{kImages} * kEpochs);
  const v1::GetStatusResponse status = daemon.Status();
  ASSERT_EQ(status.feeds_size(), 1);
  const double shared = static_cast<double>(status.feeds(0).batches_announced()) /
                        static_cast<double>(status.feeds(0).batches_decoded());
  EXPECT_EQ(status.feeds(0).batches_announced(), uint64_t{kTrainers} * kEpochs * kImages / 8);
  EXPECT_GE(shared, 7.9);
}

TEST(FeedingTest, SixtyFourSessionsWithBatchesOfThirtyTwoAreServedAtOnce) {
  DaemonProcess daemon({.workers = 2});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = SmallRows(Photographs(kImages), 32);
  options.window = 2;
  std::vector<Session> sessions;
  for (int i = 0; i < 64; ++i) {
    Result<Session> session = client.Open(options);
    ASSERT_TRUE(session.ok()) << i << ": " << session.status().ToString();
    sessions.push_back(*std::move(session));
  }

  std::vector<Delivered> got(sessions.size());
  for (int batch = 0; batch < 3; ++batch)
    for (size_t i = 0; i < sessions.size(); ++i)
      ASSERT_TRUE(TakeBatches(sessions[i], 1, got[i]).ok());

  for (const Delivered& delivered : got) EXPECT_TRUE(delivered == got[0]);
  EXPECT_EQ(daemon.Status().sessions(), 64u);
}

TEST(FeedingTest, ASessionResumedAtItsVeryEndIsOver) {
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = SmallRows(Photographs(kImages), 16);
  Session first = client.Open(options).OrDie();
  Delivered got;
  ASSERT_EQ(TakeBatches(first, 1000, got).code(), Code::kEndOfEpoch);
  options.state = first.state();
  options.state->epoch = 0;
  options.state->consumed = kImages;
  options.remainder = Remainder::kPartial;

  Session second = client.Open(options).OrDie();

  EXPECT_EQ(second.Next(std::chrono::seconds(5)).status().code(), Code::kEndOfData);
}

TEST(FeedingTest, AClosedSessionGivesItsReservationBack) {
  DaemonProcess daemon({.workers = 1});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  {
    Session session = client.Open(SmallRows(Photographs(kImages), 16)).OrDie();
    EXPECT_GT(daemon.Status().pool().reserved_bytes(), 0u);
  }

  EXPECT_TRUE(daemon.Eventually([&] {
    const v1::GetStatusResponse status = daemon.Status();
    return status.sessions() == 0 && status.pool().reserved_bytes() == 0 &&
           status.pool().slots_held() == 0;
  }));
}

}  // namespace
}  // namespace penstock::testing
