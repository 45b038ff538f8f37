// Ranges and mixtures in the configuration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/app/config/config.h"
#include "tests/unit/config/refusal.h"

namespace penstock::app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ConfigPartsTest, ARangeIsTwoNumbersOrTwoPercents) {
  EXPECT_THAT(Refusal("datasets:\n  - name: a\n    folder: /a\n    range: 5..5\n"),
              StartsWith("p.yaml:4: datasets[0].range: got '5..5', wanted a range like 0..50000"));
  EXPECT_THAT(Refusal("datasets: [{name: a, folder: /a, range: 5%..6}]"), HasSubstr("5%..6"));
  EXPECT_THAT(Refusal("datasets: [{name: a, folder: /a, range: 90%..100%}]"),
              HasSubstr("not refused"));
}

std::string MixtureRefusal(const std::string& mixture) {
  return Refusal(
      "datasets:\n- {name: a, folder: /a}\n- {name: b, folder: /b}\n- {name: n, synthetic: {}}\n"
      "- name: m\n  mixture: " +
      mixture);
}

TEST(ConfigPartsTest, AMixtureHasPartsThatAreHereAndWeightsThatSaySomething) {
  EXPECT_THAT(MixtureRefusal("{}"), HasSubstr("mixture.parts: got 0, wanted 1 to 64"));
  EXPECT_THAT(MixtureRefusal("{parts: [{dataset: c}]}"),
              HasSubstr("datasets[3].mixture.parts[0].dataset: got 'c', wanted the name of"));
  EXPECT_THAT(MixtureRefusal("{parts: [{dataset: a}, {dataset: m}]}"),
              HasSubstr("parts[1].dataset: got 'm', wanted a dataset that is neither a mixture"));
  EXPECT_THAT(MixtureRefusal("{parts: [{dataset: n}]}"), HasSubstr("nor synthetic"));
  EXPECT_THAT(MixtureRefusal("{parts: [{dataset: a, weight: -1}]}"),
              HasSubstr("wanted a number of at least 0, like 0.7"));
  EXPECT_THAT(MixtureRefusal("{parts: [{dataset: a, weight: 0}]}"), HasSubstr("are 0"));
  EXPECT_THAT(MixtureRefusal(
                  "{parts: [{dataset: a}, {dataset: b}], later: [{from_epoch: 5, weights: [1]}]}"),
              HasSubstr("from epoch 5 the mixture has 1 weights, but 2 parts"));
  EXPECT_THAT(MixtureRefusal("{parts: [{dataset: a}], later: [{from_epoch: 0, weights: [1]}]}"),
              HasSubstr("in ascending order of epochs"));
  EXPECT_THAT(MixtureRefusal("{parts: [{dataset: a}]}\n  range: 0..5\n"),
              HasSubstr("datasets[3].range: got '0..5', wanted no range for a mixture"));
}

TEST(ConfigPartsTest, AMixturesWeightsAreReadAsTheyAreWritten) {
  const auto config = ParseConfig(
      "datasets:\n- {name: a, folder: /a}\n- {name: b, folder: /b}\n- name: m\n  mixture:\n"
      "    parts: [{dataset: a, weight: 0.7}, {dataset: b}]\n    epoch_samples: 1000\n"
      "    later: [{from_epoch: 10, weights: [0.5, 2]}]\n",
      "p.yaml");
  ASSERT_TRUE(config.ok()) << config.status();

  const plan::MixtureSpec spec = ToMixture(config->datasets(2).mixture());

  EXPECT_EQ(spec.epoch_samples, 1000u);
  ASSERT_EQ(spec.schedule.size(), 2u);
  EXPECT_EQ(spec.schedule[0], (plan::MixtureSpec::Weights{0, {0.7, 1}}));
  EXPECT_EQ(spec.schedule[1], (plan::MixtureSpec::Weights{10, {0.5, 2}}));
}

}  // namespace
}  // namespace penstock::app
