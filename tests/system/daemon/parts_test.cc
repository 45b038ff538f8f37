// Tests parts of datasets, mixtures, and window shuffling, with a real daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/files/idx_maker.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint32_t kDigits = 500, kLetters = 100;
constexpr uint64_t kAll = ~uint64_t{0};

// "digits" and "letters" have MNIST's format. "held-out" is the last tenth of the digits. "both"
// mixes the digits' first nine tenths with the letters: half and half for two epochs, then only
// letters.
class PartsTest : public ::testing::Test {
 protected:
  PartsTest() {
    folder_.Write("digits-images", IdxImages(kDigits, 4, 4));
    folder_.Write("digits-labels", IdxLabels(kDigits));
    folder_.Write("letters-images", IdxImages(kLetters, 4, 4));
    folder_.Write("letters-labels", IdxLabels(kLetters));
    daemon_.emplace(DaemonProcess::Options{.workers = 1, .config = Config()});
  }

  std::string Idx(const std::string& name) const {
    return "idx: {images: " + folder_.At(name + "-images") +
           ", labels: " + folder_.At(name + "-labels") + "}";
  }
  std::string Config() const {
    return "server: {socket: SOCKET, group: '', state_dir: ''}\ndatasets:\n"
           "- {name: digits, " +
           Idx("digits") +
           "}\n"
           "- {name: training, " +
           Idx("digits") +
           ", range: 0%..90%}\n"
           "- {name: held-out, " +
           Idx("digits") +
           ", range: 90%..100%}\n"
           "- {name: letters, " +
           Idx("letters") +
           "}\n"
           "- name: both\n"
           "  mixture:\n"
           "    parts: [{dataset: training, weight: 0.5}, {dataset: letters, weight: 0.5}]\n"
           "    epoch_samples: 300\n"
           "    later: [{from_epoch: 2, weights: [0, 1]}]\n";
  }
  Client Connect() { return Client::Connect({.address = daemon_->address()}).OrDie(); }
  static SessionOptions Options(const std::string& dataset, uint32_t batch_size = 16) {
    SessionOptions options;
    options.dataset = dataset;
    options.batch_size = batch_size;
    options.seed = 5;
    options.epochs = 1;
    return options;
  }
  Status Refusal(const SessionOptions& options) { return Connect().Open(options).status(); }

  TempFolder folder_;
  std::optional<DaemonProcess> daemon_;
};

std::vector<uint64_t> SamplesOf(const Delivered& delivered, uint64_t epoch = 0) {
  std::vector<uint64_t> samples;
  for (const auto& [place, row] : delivered.rows)
    if (place.first == epoch) samples.push_back(row.sample);
  return samples;
}

std::set<uint64_t> From(uint64_t first, uint64_t count) {
  std::set<uint64_t> samples;
  for (uint64_t i = 0; i < count; ++i) samples.insert(first + i);
  return samples;
}

std::set<uint64_t> SetOf(const std::vector<uint64_t>& samples) {
  return {samples.begin(), samples.end()};
}

TEST_F(PartsTest, WhatIsOutsideOfARangeIsRefusedWithWhatThereIs) {
  SessionOptions beyond = Options("digits");
  beyond.range = {.first = 490, .count = 11};
  SessionOptions elsewhere = Options("held-out");
  elsewhere.range = {.first = 0, .count = 10};
  SessionOptions of_mixture = Options("both");
  of_mixture.range = {.first = 0, .count = 10};
  SessionOptions given = Options("held-out");
  given.order = Order::kGiven;
  given.given = std::make_shared<const std::vector<uint64_t>>(std::vector<uint64_t>{470, 20});

  EXPECT_THAT(Refusal(beyond).message(), HasSubstr("the dataset has 500 (0 to 499)"));
  EXPECT_THAT(Refusal(elsewhere).message(),
              AllOf(HasSubstr("'held-out'"), HasSubstr("50 (450 to 499)")));
  EXPECT_THAT(Refusal(of_mixture).message(), HasSubstr("is a mixture"));
  EXPECT_THAT(Refusal(given).message(),
              AllOf(HasSubstr("sample 20 at place 1"), HasSubstr("450 to 499")));
  EXPECT_EQ(Refusal(given).code(), Code::kInvalidArgument);
}

TEST_F(PartsTest, ANamedPartIsADatasetOfItsOwnWhoseSamplesKeepTheirNumbers) {
  Client client = Connect();
  const DatasetInfo whole = client.Describe("digits").OrDie();
  const DatasetInfo part = client.Describe("held-out").OrDie();

  const Delivered got = OneEpoch(daemon_->address(), Options("held-out"));

  EXPECT_EQ(whole.samples, kDigits);
  EXPECT_EQ(part.samples, 50u);
  EXPECT_EQ(part.first_sample, 450u);
  EXPECT_EQ(part.epoch_samples, 50u);
  EXPECT_EQ(part.classes, whole.classes);
  EXPECT_EQ(got.rows.size(), 50u);
  EXPECT_EQ(SetOf(SamplesOf(got)), From(450, 50));
  for (const auto& [place, row] : got.rows) EXPECT_EQ(row.label, 3 * row.sample % 10);
  const uint64_t id = 450;
  EXPECT_EQ(client.Samples("held-out", std::span(&id, 1)).OrDie()[0].path,
            client.Samples("digits", std::span(&id, 1)).OrDie()[0].path);
  const uint64_t outside = 449;
  EXPECT_THAT(client.Samples("held-out", std::span(&outside, 1)).status().message(),
              HasSubstr("it has 450 to 499"));
}

TEST_F(PartsTest, TwoRanksShareARangeAndAnyNumberOfThemResumesIt) {
  SessionOptions options = Options("digits", 8);
  options.range = {.first = 100, .count = 77};
  const std::vector<uint64_t> alone = SamplesOf(OneEpoch(daemon_->address(), options));
  options.world_size = 2;
  options.remainder = Remainder::kPartial;
  Client client = Connect();
  Delivered got;
  State state;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    options.rank = rank;
    Session session = client.Open(options).OrDie();
    ASSERT_TRUE(TakeBatches(session, 2, got).ok());
    state = session.state();
  }

  options.rank = 0;
  options.world_size = 1;
  options.batch_size = 5;
  options.state = state;
  Session rest = client.Open(options).OrDie();
  ASSERT_EQ(TakeBatches(rest, kAll, got).code(), Code::kEndOfEpoch);

  EXPECT_EQ(got.twice, 0u);
  EXPECT_EQ(SamplesOf(got), alone);
  EXPECT_EQ(SetOf(alone), From(100, 77));
}

TEST_F(PartsTest, AStateOfTheWholeIsNotOneOfAPart) {
  SessionOptions options = Options("digits");
  options.state = Connect().Open(options).OrDie().state();
  options.range = {.first = 0, .count = 450};
  SessionOptions named = options;
  named.dataset = "training";

  EXPECT_EQ(Refusal(options).code(), Code::kFailedPrecondition);
  options.state.reset();
  named.state = Connect().Open(options).OrDie().state();
  EXPECT_TRUE(Refusal(named).ok());  // the same part by its name
}

TEST_F(PartsTest, AMixtureHasOfEachPartWhatTheWeightsOfTheEpochSay) {
  SessionOptions options = Options("both");
  options.epochs = 3;
  Session session = Connect().Open(options).OrDie();
  Delivered got;

  EXPECT_EQ(session.samples(), 450u + kLetters);
  EXPECT_EQ(session.batches_in_epoch(), (300u + 15) / 16);
  for (int epoch = 0; epoch < 3; ++epoch)
    ASSERT_EQ(TakeBatches(session, kAll, got).code(), Code::kEndOfEpoch);

  std::map<uint64_t, int> digits;
  std::multiset<uint64_t> letters;
  for (const auto& [place, row] : got.rows) {
    const bool is_letter = row.sample >= 450;
    digits[place.first] += is_letter ? 0 : 1;
    if (is_letter) letters.insert(row.sample);
    EXPECT_EQ(row.label, 3 * (is_letter ? row.sample - 450 : row.sample) % 10);
  }
  EXPECT_EQ(got.rows.size(), 900u);
  EXPECT_EQ(digits, (std::map<uint64_t, int>{{0, 150}, {1, 150}, {2, 0}}));
  for (const uint64_t letter : From(450, kLetters)) EXPECT_EQ(letters.count(letter), 6u);
}

TEST_F(PartsTest, AMixtureIsTheSameForOneRankAndForMoreAndGoesOnWhereItWasLeft) {
  SessionOptions options = Options("both", 10);
  const Delivered alone = OneEpoch(daemon_->address(), options);
  Client client = Connect();
  Delivered got;
  State state;
  options.world_size = 3;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    options.rank = rank;
    Session session = client.Open(options).OrDie();
    ASSERT_TRUE(TakeBatches(session, 4, got).ok());
    state = session.state();
  }

  options.rank = 0;
  options.world_size = 1;
  options.batch_size = 64;
  options.state = state;
  Session rest = client.Open(options).OrDie();
  ASSERT_EQ(TakeBatches(rest, kAll, got).code(), Code::kEndOfEpoch);

  EXPECT_TRUE(got == alone);
}

TEST_F(PartsTest, WindowsOfShardsAreShownAndNoShardIsTouchedAfterItsWindow) {
  SessionOptions options = Options("digits", 20);
  options.order = Order::kShuffledInWindows;
  EXPECT_THAT(Refusal(options).message(), HasSubstr("has no shards to shuffle in windows"));
  options.shuffle_window = {.shard_samples = 50, .shards = 2};
  options.window = 1;
  Session session = Connect().Open(options).OrDie();

  EXPECT_EQ(daemon_->Sessions().sessions(0).order(),
            "shuffled in windows of 2 shards of 50 samples");
  Delivered got;
  ASSERT_EQ(TakeBatches(session, kAll, got).code(), Code::kEndOfEpoch);

  const std::vector<uint64_t> samples = SamplesOf(got);
  EXPECT_EQ(SetOf(samples), From(0, kDigits));
  for (size_t window = 0; window < 5; ++window) {
    std::set<uint64_t> shards;
    for (size_t i = 100 * window; i < 100 * (window + 1); ++i) shards.insert(samples[i] / 50);
    EXPECT_EQ(shards.size(), 2u);
  }
}

TEST_F(PartsTest, DrawnByWeightsSamplesComeAsDrawn) {
  std::vector<double> weights(kDigits);
  for (uint64_t sample = 0; sample < kDigits; ++sample) weights[sample] = sample % 10 == 3 ? 1 : 0;
  SessionOptions options = Options("digits");
  options.order = Order::kGiven;
  options.given = std::make_shared<const std::vector<uint64_t>>(
      DrawWeighted(weights, 200, options.seed, 0).OrDie());

  const Delivered got = OneEpoch(daemon_->address(), options);

  EXPECT_EQ(SamplesOf(got), *options.given);
  for (const auto& [place, row] : got.rows) EXPECT_EQ(row.sample % 10, 3u);
}

TEST_F(PartsTest, WhatIsServedIsListedWithWhatEachNameMeans) {
  (void)OneEpoch(daemon_->address(), Options("held-out"));
  (void)OneEpoch(daemon_->address(), Options("both"));

  const std::string table = daemon_->Ctl({"datasets"}).output;

  EXPECT_THAT(table, AllOf(HasSubstr("held-out"), HasSubstr("mixture")));
  const auto checked = daemon_->Ctl({"-o", "json", "datasets"});
  EXPECT_THAT(checked.output, HasSubstr("\"50\""));
}

}  // namespace
}  // namespace penstock::testing
