#include "server/plan/mixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace penstock::plan {
namespace {

using ::testing::HasSubstr;

Mixture Make(std::vector<uint64_t> samples, std::vector<double> weights, uint64_t epoch_samples) {
  absl::StatusOr<Mixture> mixture = Mixture::Make({.samples = std::move(samples),
                                                   .epoch_samples = epoch_samples,
                                                   .schedule = {{0, std::move(weights)}}});
  EXPECT_TRUE(mixture.ok()) << mixture.status();
  return *std::move(mixture);
}

std::string Refusal(const MixtureSpec& spec) {
  const absl::Status status = Mixture::Make(spec).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(MixtureTest, WhatCannotBeIsRefusedInWords) {
  const MixtureSpec good = {.samples = {10, 20}, .epoch_samples = 30, .schedule = {{0, {1, 2}}}};
  ASSERT_TRUE(Mixture::Make(good).ok());
  const auto with = [&](auto change) {
    MixtureSpec spec = good;
    change(spec);
    return Refusal(spec);
  };

  EXPECT_THAT(with([](auto& s) { s.samples = {}; }), HasSubstr("has 0 parts"));
  EXPECT_THAT(with([](auto& s) { s.samples.assign(65, 1); }), HasSubstr("1 to 64"));
  EXPECT_THAT(with([](auto& s) { s.samples = {0, 1}; }), HasSubstr("a part of the mixture has 0"));
  EXPECT_THAT(with([](auto& s) { s.samples = {kMaxSamples, 1}; }), HasSubstr("all together"));
  EXPECT_THAT(with([](auto& s) { s.epoch_samples = 0; }),
              HasSubstr("an epoch of the mixture has 0"));
  EXPECT_THAT(with([](auto& s) { s.schedule = {}; }), HasSubstr("must start at epoch 0"));
  EXPECT_THAT(with([](auto& s) { s.schedule[0].from_epoch = 1; }),
              HasSubstr("must start at epoch 0"));
  EXPECT_THAT(with([](auto& s) { s.schedule[0].weights = {1}; }),
              HasSubstr("has 1 weights, but 2 parts"));
  EXPECT_THAT(with([](auto& s) { s.schedule[0].weights = {0, 0}; }), HasSubstr("are 0"));
  EXPECT_THAT(with([](auto& s) { s.schedule[0].weights = {1, -1}; }), HasSubstr("is -1"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(with([&](auto& s) { s.schedule[0].weights = {nan, 1}; }), HasSubstr("is nan"));
  EXPECT_THAT(with([](auto& s) { s.schedule[0].weights = {HUGE_VAL, 1}; }), HasSubstr("is inf"));
  EXPECT_THAT(with([](auto& s) {
                s.schedule = {{0, {1, 1}}, {5, {1, 2}}, {5, {2, 1}}};
              }),
              HasSubstr("from epoch 5 come after those from epoch 5"));
}

TEST(MixtureDeathTest, APlaceOutsideTheEpochIsOurBug) {
  EXPECT_DEATH(Make({1, 1}, {1, 1}, 5).At(0, 0, 5), "place");
  EXPECT_DEATH(Make({1, 1}, {1, 1}, 5).PartOf(2), "sample");
}

TEST(MixtureTest, AnEpochHasOfEachPartWhatTheWeightsSayButForLessThanOneSample) {
  EXPECT_EQ(Make({10, 10}, {0.7, 0.3}, 1000).CountsOf(0), (std::vector<uint64_t>{700, 300}));
  EXPECT_EQ(Make({10, 10, 10}, {1, 1, 1}, 100).CountsOf(0), (std::vector<uint64_t>{34, 33, 33}));
  EXPECT_EQ(Make({10, 10}, {1, 0}, 100).CountsOf(0), (std::vector<uint64_t>{100, 0}));
  EXPECT_EQ(Make({10, 10}, {1e-300, 1e300}, 100).CountsOf(0), (std::vector<uint64_t>{0, 100}));
  for (uint64_t samples = 1; samples < 500; ++samples) {
    const std::vector<double> weights = {0.11, 2.3, 0.77, 1.001};
    const std::vector<uint64_t> counts = Make({1, 1, 1, 1}, weights, samples).CountsOf(7);
    for (size_t part = 0; part < 4; ++part)
      ASSERT_LT(std::abs(static_cast<double>(counts[part]) -
                         static_cast<double>(samples) * weights[part] / 4.181),
                1.0001);
  }
}

// Checks every guarantee about an epoch position by position.
TEST(MixtureTest, TheCountsAreExactAndEachPartsSamplesComeInTheirTurn) {
  const Mixture mixture = Make({50, 7, 1000}, {5, 3, 2}, 333);
  std::vector<uint64_t> drawn(3);

  for (uint64_t epoch = 0; epoch < 20; ++epoch) {
    std::vector<uint64_t> counts(3);
    for (uint64_t place = 0; place < mixture.epoch_samples(); ++place) {
      const Mixture::Pick draw = mixture.At(11, epoch, place);
      const uint64_t samples = mixture.PartRange(draw.part).count;
      ASSERT_EQ(draw.pass, drawn[draw.part] / samples);
      ASSERT_EQ(draw.index, drawn[draw.part] % samples);
      ++drawn[draw.part];
      ++counts[draw.part];
    }
    ASSERT_EQ(counts, mixture.CountsOf(epoch));
  }
}

TEST(MixtureTest, NoSampleComesTwiceBeforeAllOthersOfItsPartCame) {
  const Mixture mixture = Make({50, 7}, {1, 1}, 100);
  std::vector<std::set<uint64_t>> pass(2);

  for (uint64_t epoch = 0; epoch < 30; ++epoch) {
    for (uint64_t place = 0; place < 100; ++place) {
      const uint64_t sample = mixture.SampleAt(Order::kShuffled, {}, 3, epoch, place);
      const uint32_t part = mixture.PartOf(sample);
      ASSERT_TRUE(pass[part].insert(sample).second) << "epoch " << epoch << " place " << place;
      if (pass[part].size() == mixture.PartRange(part).count) pass[part].clear();
    }
  }
}

TEST(MixtureTest, PartsComeEvenlyInEveryStretch) {
  const Mixture mixture = Make({1000, 1000, 1000}, {0.6, 0.3, 0.1}, 4096);
  const std::vector<double> weights = {0.6, 0.3, 0.1};

  for (uint64_t begin = 0; begin < 4096; begin += 256) {
    std::vector<double> counts(3);
    for (uint64_t place = begin; place < begin + 256; ++place)
      ++counts[mixture.At(5, 1, place).part];
    for (size_t part = 0; part < 3; ++part) EXPECT_NEAR(counts[part], 256 * weights[part], 2.5);
  }
}

TEST(MixtureTest, WeightsChangeWithTheEpochAndPassesGoOn) {
  const absl::StatusOr<Mixture> mixture =
      Mixture::Make({.samples = {30, 30},
                     .epoch_samples = 10,
                     .schedule = {{0, {1, 0}}, {2, {1, 1}}, {4, {0, 1}}}});
  ASSERT_TRUE(mixture.ok());

  EXPECT_EQ(mixture->CountsOf(1), (std::vector<uint64_t>{10, 0}));
  EXPECT_EQ(mixture->CountsOf(2), (std::vector<uint64_t>{5, 5}));
  EXPECT_EQ(mixture->CountsOf(3), (std::vector<uint64_t>{5, 5}));
  EXPECT_EQ(mixture->CountsOf(1'000'000), (std::vector<uint64_t>{0, 10}));
  std::set<uint64_t> seen;  // the first part's first pass: 10 + 10 + 5 + 5 samples
  for (uint64_t epoch = 0; epoch < 5; ++epoch) {
    for (uint64_t place = 0; place < 10; ++place) {
      const uint64_t sample = mixture->SampleAt(Order::kShuffled, {}, 1, epoch, place);
      const bool is_new = mixture->PartOf(sample) != 0 || seen.insert(sample).second;
      ASSERT_TRUE(is_new) << "epoch " << epoch << " place " << place;
    }
  }
  EXPECT_EQ(seen.size(), 30u);
}

TEST(MixtureTest, SequentialGoesThroughEachPartInItsOwnOrder) {
  const Mixture mixture = Make({5, 1000}, {1, 1}, 20);
  std::vector<uint64_t> first, second;

  for (uint64_t place = 0; place < 20; ++place) {
    const uint64_t sample = mixture.SampleAt(Order::kSequential, {}, 1, 0, place);
    (sample < 5 ? first : second).push_back(sample);
  }

  EXPECT_EQ(first, (std::vector<uint64_t>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));
  EXPECT_EQ(second, (std::vector<uint64_t>{5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
}

TEST(MixtureTest, APartMayBeShuffledInWindows) {
  const Mixture mixture = Make({1000, 10}, {1, 1}, 40);
  std::set<uint64_t> shards;

  for (uint64_t place = 0; place < 40; ++place) {
    const uint64_t sample = mixture.SampleAt(Order::kShuffledInWindows, {10, 2}, 1, 0, place);
    if (sample < 1000) shards.insert(sample / 10);
  }

  EXPECT_EQ(shards.size(), 2u);
}

TEST(MixtureTest, PartsAreFoundByTheirSamples) {
  const Mixture mixture = Make({3, 1, 5}, {1, 1, 1}, 9);

  EXPECT_EQ(mixture.samples(), 9u);
  EXPECT_EQ(mixture.PartOf(0), 0u);
  EXPECT_EQ(mixture.PartOf(2), 0u);
  EXPECT_EQ(mixture.PartOf(3), 1u);
  EXPECT_EQ(mixture.PartOf(4), 2u);
  EXPECT_EQ(mixture.PartOf(8), 2u);
  EXPECT_EQ(mixture.PartRange(2), (Range{4, 5}));
}

TEST(MixtureTest, AnotherSeedOrEpochMixesOtherwise) {
  const Mixture mixture = Make({1000, 1000}, {1, 2}, 64);
  const auto parts = [&](uint64_t seed, uint64_t epoch) {
    std::vector<uint32_t> all;
    for (uint64_t place = 0; place < 64; ++place)
      all.push_back(mixture.At(seed, epoch, place).part);
    return all;
  };

  EXPECT_EQ(parts(1, 0), parts(1, 0));
  EXPECT_NE(parts(1, 0), parts(1, 1));
  EXPECT_NE(parts(1, 0), parts(2, 0));
}

// Over seeds, every position gets each part in proportion to its weight.
TEST(MixtureTest, OverSeedsEveryPlaceHasEveryPartAsOftenAsItsWeight) {
  constexpr uint64_t kSeeds = 4000, kPlaces = 64;
  const Mixture mixture = Make({1000, 1000, 1000}, {0.5, 0.3, 0.2}, 10 * kPlaces);
  for (uint64_t place : {0, 1, 7, 31, 63, 100, 333, 639}) {
    std::vector<double> counts(3);
    for (uint64_t seed = 0; seed < kSeeds; ++seed) ++counts[mixture.At(seed, 0, place).part];
    EXPECT_NEAR(counts[0] / kSeeds, 0.5, 0.03) << place;
    EXPECT_NEAR(counts[1] / kSeeds, 0.3, 0.03) << place;
    EXPECT_NEAR(counts[2] / kSeeds, 0.2, 0.03) << place;
  }
}

TEST(MixtureTest, TheHashTellsMixturesApart) {
  const MixtureSpec spec = {.samples = {10, 20}, .epoch_samples = 30, .schedule = {{0, {1, 2}}}};
  const auto hash = [&](auto change) {
    MixtureSpec other = spec;
    change(other);
    return Mixture::Make(other)->hash();
  };

  const std::set<uint64_t> hashes = {hash([](auto&) {}),
                                     hash([](auto& s) {
                                       s.samples = {20, 10};
                                     }),
                                     hash([](auto& s) { s.epoch_samples = 31; }),
                                     hash([](auto& s) {
                                       s.schedule[0].weights = {2, 1};
                                     }),
                                     hash([](auto& s) {
                                       s.schedule.push_back({3, {2, 1}});
                                     }),
                                     hash([](auto& s) {
                                       s.schedule.push_back({4, {2, 1}});
                                     })};

  EXPECT_EQ(hashes.size(), 6u);
  EXPECT_EQ(hash([](auto&) {}), hash([](auto& s) { s.schedule[0].weights = {2, 4}; }));
}

TEST(MixtureTest, TheOrderIsTheOneThatWasPublished) {
  const Mixture mixture = Make({5, 3}, {2, 1}, 9);
  std::vector<uint64_t> order;

  for (uint64_t place = 0; place < 9; ++place)
    order.push_back(mixture.SampleAt(Order::kShuffled, {}, 42, 1, place));

  EXPECT_EQ(order, (std::vector<uint64_t>{7, 3, 1, 5, 2, 4, 6, 2, 0}));
}

TEST(MixtureTest, TheLargestNumbersDoNotOverflow) {
  std::vector<uint64_t> samples(64, kMaxSamples / 64);
  const Mixture mixture = Make(samples, std::vector<double>(64, 1.0), kMaxSamples);

  const Mixture::Pick draw = mixture.At(1, UINT64_MAX, kMaxSamples - 1);

  EXPECT_LT(draw.index, kMaxSamples / 64);
  EXPECT_LT(mixture.SampleAt(Order::kShuffled, {}, 1, UINT64_MAX, 0), kMaxSamples);
}

TEST(MixtureTest, AnyPlaceOfABillionIsReachedAtOnce) {
  constexpr int kCalls = 20'000;
  const Mixture mixture = Make({1'000'000, 5'000'000, 70'000'000, 300'000, 12},
                               {0.5, 0.2, 0.2, 0.05, 0.05}, 1'000'000'000);
  const auto begin = std::chrono::steady_clock::now();

  uint64_t sum = 0;
  for (int i = 0; i < kCalls; ++i) sum += mixture.SampleAt(Order::kShuffled, {}, i, 90, i * 49'999);

  const auto each = (std::chrono::steady_clock::now() - begin) / kCalls;
  std::printf("%.2f us a place\n", std::chrono::duration<double, std::micro>(each).count());
  EXPECT_NE(sum, 0u);
  EXPECT_LT(each, std::chrono::microseconds(100));
}

}  // namespace
}  // namespace penstock::plan
