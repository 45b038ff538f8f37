// Tests sample orders that trainers supply, and descriptions of samples, with a real daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <set>

#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kImages = 120;
constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

SessionOptions Given(std::vector<uint64_t> order, uint32_t batch_size) {
  SessionOptions options = SmallRows(Photographs(kImages), batch_size);
  options.order = Order::kGiven;
  options.given = std::make_shared<const std::vector<uint64_t>>(std::move(order));
  return options;
}

// Draws with replacement; `length` may exceed the dataset's.
std::vector<uint64_t> WithReplacement(size_t length) {
  std::mt19937_64 random(4711);
  std::vector<uint64_t> order(length);
  for (uint64_t& sample : order) sample = random() % kImages;
  return order;
}

std::vector<uint64_t> SamplesOf(const Delivered& delivered, uint64_t epoch) {
  std::vector<uint64_t> samples;
  for (const auto& [place, row] : delivered.rows)
    if (place.first == epoch) samples.push_back(row.sample);
  return samples;
}

class OrderTest : public ::testing::Test {
 protected:
  Client Connect() { return Client::Connect({.address = daemon_.address()}).OrDie(); }

  DaemonProcess daemon_{{.workers = 2}};
};

TEST_F(OrderTest, ASampleThatTheDatasetDoesNotHaveIsRefusedWithItsPlaceAndTheSize) {
  Client client = Connect();

  const Status status = client.Open(Given({3, 5, 120, 7}, 2)).status();

  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("sample 120 at place 2"));
  EXPECT_THAT(status.message(), HasSubstr("120 samples, 0 to 119"));
  EXPECT_TRUE(client.Open(Given({3, 5, 119, 7}, 2)).ok());
}

TEST_F(OrderTest, AStateOfAnotherOrderIsRefused) {
  Client client = Connect();
  SessionOptions options = Given({1, 2, 3, 4}, 2);
  const State state = client.Open(options).OrDie().state();
  options.given = std::make_shared<const std::vector<uint64_t>>(std::vector<uint64_t>{4, 3, 2, 1});
  options.state = state;

  EXPECT_EQ(client.Open(options).status().code(), Code::kFailedPrecondition);
}

TEST_F(OrderTest, SamplesComeAsGivenEachEpochAndRepeatedOnesWithCropsOfTheirOwn) {
  const std::vector<uint64_t> order = WithReplacement(300);
  SessionOptions options = Given(order, 16);
  options.epochs = 2;
  Session session = Connect().Open(options).OrDie();

  Delivered got;
  EXPECT_EQ(session.batches_in_epoch(), (300u + 15) / 16);
  EXPECT_EQ(session.samples(), uint64_t{kImages});
  EXPECT_EQ(TakeBatches(session, kAll, got).code(), Code::kEndOfEpoch);
  EXPECT_EQ(TakeBatches(session, kAll, got).code(), Code::kEndOfEpoch);
  EXPECT_EQ(session.Next().status().code(), Code::kEndOfData);

  EXPECT_EQ(SamplesOf(got, 0), order);
  EXPECT_EQ(SamplesOf(got, 1), order);
  std::map<uint64_t, std::set<uint64_t>> looks;  // of each sample, in both epochs
  std::map<uint64_t, size_t> times;
  for (const auto& [place, row] : got.rows) {
    looks[row.sample].insert(row.pixels);
    ++times[row.sample];
  }
  for (const auto& [sample, count] : times) EXPECT_EQ(looks[sample].size(), count) << sample;
}

TEST_F(OrderTest, WithoutRandomChoicesAGivenOrderIsThatOrderToTheByte) {
  SessionOptions sequential = SmallRows(Photographs(kImages), 16);
  sequential.order = Order::kSequential;
  sequential.center_crop = ResizeCenterCrop{.resize = 40, .height = 32, .width = 32};
  sequential.flip_probability = 0;
  SessionOptions given = sequential;
  given.order = Order::kGiven;
  std::vector<uint64_t> order(kImages);
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  given.given = std::make_shared<const std::vector<uint64_t>>(std::move(order));

  EXPECT_TRUE(OneEpoch(daemon_.address(), given) == OneEpoch(daemon_.address(), sequential));
}

TEST_F(OrderTest, TrainersThatSendTheSameOrderShareItsBatches) {
  const std::vector<uint64_t> order = WithReplacement(160);
  Client one = Connect(), other = Connect();
  Session first = one.Open(Given(order, 8)).OrDie();
  Session second = other.Open(Given(order, 8)).OrDie();

  Delivered got[2];
  for (int batch = 0; batch < 160 / 8; ++batch) {
    ASSERT_TRUE(TakeBatches(first, 1, got[0]).ok());
    ASSERT_TRUE(TakeBatches(second, 1, got[1]).ok());
  }

  EXPECT_TRUE(got[0] == got[1]);
  const v1::GetStatusResponse status = daemon_.Status();
  ASSERT_EQ(status.feeds_size(), 1);
  EXPECT_EQ(status.feeds(0).batches_announced(), 2u * 160 / 8);
  EXPECT_EQ(status.feeds(0).batches_decoded(), 160u / 8);
}

TEST_F(OrderTest, TwoRanksResumedAsThreeLoseAndDoubleNothing) {
  const std::vector<uint64_t> order = WithReplacement(200);
  SessionOptions options = Given(order, 8);
  options.remainder = Remainder::kPartial;
  const Delivered undisturbed = OneEpoch(daemon_.address(), options);
  Client client = Connect();

  Delivered all;
  std::optional<State> state;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    options.rank = rank;
    options.world_size = 2;
    Session session = client.Open(options).OrDie();
    EXPECT_TRUE(TakeBatches(session, 3, all).ok());
    state = session.state();
  }
  for (uint32_t rank = 0; rank < 3; ++rank) {
    options.rank = rank;
    options.world_size = 3;
    options.batch_size = 5;
    options.state = state;
    Session session = client.Open(options).OrDie();
    EXPECT_EQ(TakeBatches(session, kAll, all).code(), Code::kEndOfEpoch);
  }

  EXPECT_EQ(all.twice, 0u);
  EXPECT_EQ(SamplesOf(all, 0), order);
  EXPECT_TRUE(all == undisturbed);
}

TEST_F(OrderTest, PaddingComesFromTheOrdersBeginningAndDropLeavesItsEndOut) {
  SessionOptions options = Given({9, 8, 7, 6, 5}, 4);
  options.remainder = Remainder::kPadBatch;
  Session padded = Connect().Open(options).OrDie();
  options.remainder = Remainder::kDrop;
  Session dropped = Connect().Open(options).OrDie();

  ASSERT_TRUE(padded.Next(std::chrono::seconds(30)).ok());
  const Batch last = padded.Next(std::chrono::seconds(30)).OrDie();

  EXPECT_THAT(last.sample_ids(), ::testing::ElementsAre(5, 9, 8, 7));
  EXPECT_EQ(last.valid_rows(), 1u);
  EXPECT_EQ(dropped.batches_in_epoch(), 1u);
}

TEST_F(OrderTest, ByDefaultTwoRanksTakeTwentyOfThirtyNineSamplesEachTheLastOneThatOfTheFirst) {
  std::vector<uint64_t> order;
  for (uint64_t sample = 39; sample > 0; --sample) order.push_back(sample);
  std::vector<std::vector<uint64_t>> rows(2);
  std::vector<std::vector<uint32_t>> valid(2);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    SessionOptions options = Given(order, 16);
    options.rank = rank;
    options.world_size = 2;
    Session session = Connect().Open(options).OrDie();
    ASSERT_EQ(session.batches_in_epoch(), 2u);
    for (int step = 0; step < 2; ++step) {
      const Batch batch = session.Next(std::chrono::seconds(30)).OrDie();
      rows[rank].insert(rows[rank].end(), batch.sample_ids().begin(), batch.sample_ids().end());
      valid[rank].push_back(batch.valid_rows());
    }
    EXPECT_EQ(session.Next(std::chrono::seconds(30)).status().code(), Code::kEndOfEpoch);
  }

  EXPECT_EQ(rows[0].size(), 20u);
  EXPECT_EQ(rows[1].size(), 20u);
  EXPECT_THAT(valid[0], ::testing::ElementsAre(16, 4));
  EXPECT_THAT(valid[1], ::testing::ElementsAre(16, 3));
  EXPECT_EQ(rows[1].back(), 39u);
}

TEST_F(OrderTest, AfterADaemonsDeathTheOrderIsSentAgainAndGoesOnWithTheSameBytes) {
  const SessionOptions options = Given(WithReplacement(160), 8);
  const Delivered undisturbed = OneEpoch(daemon_.address(), options);
  Session session = Connect().Open(options).OrDie();
  Delivered got;
  ASSERT_TRUE(TakeBatches(session, 5, got).ok());

  daemon_.Kill(SIGKILL);
  Status status = TakeBatches(session, kAll, got);
  EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
  daemon_.Start();
  status = TakeBatches(session, kAll, got);

  EXPECT_EQ(status.code(), Code::kEndOfEpoch) << status.ToString();
  EXPECT_TRUE(got == undisturbed);
}

TEST_F(OrderTest, SamplesAreDescribedByTheIdsThatBatchesCarry) {
  Client client = Connect();
  Session session = client.Open(Given({17, 3, 17, 99}, 4)).OrDie();
  const Batch batch = session.Next(std::chrono::seconds(30)).OrDie();

  const std::vector<SampleInfo> samples =
      client.Samples(Photographs(kImages), batch.sample_ids()).OrDie();

  ASSERT_EQ(samples.size(), 4u);
  EXPECT_EQ(samples[0].path, samples[2].path);
  EXPECT_NE(samples[0].path, samples[1].path);
  for (size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(samples[row].label, batch.labels()[row]);
    EXPECT_TRUE(std::filesystem::exists(samples[row].path)) << samples[row].path;
  }
}

TEST_F(OrderTest, ASampleThatIsNotThereIsNotDescribed) {
  const uint64_t ids[] = {0, 120};

  const Status status = Connect().Samples(Photographs(kImages), ids).status();

  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("has no sample 120; it has 0 to 119"));
}

TEST(OrderLimitsTest, AnOrderBeyondTheLimitIsRefusedInWordsAndOthersAreServed) {
  DaemonProcess daemon({.workers = 1,
                        .config = "server: {socket: SOCKET, group: \"\", state_dir: \"\"}\n"
                                  "pool: {max: 64MiB}\n"
                                  "limits: {max_order_samples: 100}\n"
                                  "datasets: [{name: photographs, folder: " +
                                  Photographs(kImages) + "}]\n"});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  SessionOptions options = Given(WithReplacement(101), 4);
  options.dataset = "photographs";

  const Status status = client.Open(options).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("limits.max_order_samples, 100"));

  options.given = std::make_shared<const std::vector<uint64_t>>(WithReplacement(100));
  Session session = client.Open(options).OrDie();
  Delivered got;
  EXPECT_EQ(TakeBatches(session, kAll, got).code(), Code::kEndOfEpoch);
}

}  // namespace
}  // namespace penstock::testing
