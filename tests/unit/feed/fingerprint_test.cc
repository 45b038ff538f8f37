#include "server/feed/identity/fingerprint.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <vector>

namespace penstock::feed {
namespace {

FeedSpec Spec() {
  FeedSpec spec;
  spec.dataset_digest = 0x1234;
  spec.samples = 1'281'167;
  spec.order = plan::Order::kShuffled;
  spec.seed = 7;
  return spec;
}

void Window(FeedSpec& spec, const plan::Windows& windows) {
  spec.order = plan::Order::kShuffledInWindows;
  spec.windows = windows;
}

std::shared_ptr<const plan::Mixture> Mixture(uint64_t epoch_samples) {
  return std::make_shared<const plan::Mixture>(
      plan::Mixture::Make(
          {.samples = {1'281'167}, .epoch_samples = epoch_samples, .schedule = {{0, {1}}}})
          .value());
}

// Users keep states that contain fingerprints, and changing the hash would invalidate all of them.
TEST(FingerprintTest, IsTheSameOnEveryMachineAndInEveryVersion) {
  EXPECT_EQ(Fingerprint(Spec()), 0x4baf176a38c2b717);
}

FeedSpec PythonSpec(const session::PythonFeed& python) {
  FeedSpec spec = Spec();
  spec.storage = source::Storage::kMade;
  spec.python = python;
  return spec;
}

TEST(FingerprintTest, OfAPythonDatasetIsTheSameInEveryVersion) {
  EXPECT_EQ(Fingerprint(PythonSpec({.streams = 2, .digest = 3, .replace_bad_samples = true})),
            0xF6EE7DCB513B3E8D);
}

TEST(FingerprintTest, OfAPythonDatasetDoesNotDependOnTheLimitOfABatch) {
  EXPECT_EQ(Fingerprint(PythonSpec({.max_batch_bytes = 4096, .digest = 3})),
            Fingerprint(PythonSpec({.digest = 3})));
}

TEST(FingerprintTest, OfAPythonDatasetDependsOnWhatDecidesItsBytes) {
  const std::set<uint64_t> all = {Fingerprint(PythonSpec({})),
                                  Fingerprint(PythonSpec({.streams = 1})),
                                  Fingerprint(PythonSpec({.digest = 1})),
                                  Fingerprint(PythonSpec({.replace_bad_samples = true}))};

  EXPECT_EQ(all.size(), 4u);
}

TEST(FingerprintTest, WhateverDecidesABatchsBytesChangesIt) {
  const std::vector<std::function<void(FeedSpec&)>> changes = {
      [](FeedSpec&) {},
      [](FeedSpec& s) { ++s.dataset_digest; },
      [](FeedSpec& s) { ++s.samples; },
      [](FeedSpec& s) { s.order = plan::Order::kSequential; },
      [](FeedSpec& s) { ++s.seed; },
      [](FeedSpec& s) { s.range = {.first = 0, .count = 100}; },
      [](FeedSpec& s) { s.range = {.first = 1, .count = 100}; },
      [](FeedSpec& s) {
        Window(s, {1000, 16});
      },
      [](FeedSpec& s) {
        Window(s, {1001, 16});
      },
      [](FeedSpec& s) {
        Window(s, {1000, 17});
      },
      [](FeedSpec& s) { s.mixture = Mixture(100); },
      [](FeedSpec& s) { s.mixture = Mixture(101); },
      [](FeedSpec& s) { s.decoding.geometry = decode::Geometry::kResizeCenterCrop; },
      [](FeedSpec& s) { ++s.decoding.height; },
      [](FeedSpec& s) { ++s.decoding.width; },
      [](FeedSpec& s) { s.decoding.scale_min = 0.25; },
      [](FeedSpec& s) { s.decoding.scale_max = 0.5; },
      [](FeedSpec& s) { s.decoding.ratio_min = 0.5; },
      [](FeedSpec& s) { s.decoding.ratio_max = 2; },
      [](FeedSpec& s) { s.decoding.flip_probability = 0.5; },
      [](FeedSpec& s) { s.decoding.color = decode::Color::kGray; },
      [](FeedSpec& s) { s.decoding.exif = decode::Exif::kApply; },
      [](FeedSpec& s) { s.storage = source::Storage::kRows; },
      [](FeedSpec& s) { s.storage = source::Storage::kNothing; },
      [](FeedSpec& s) {
        s.storage = source::Storage::kRows, s.selection.layout = source::ImageLayout(1, 2, 3);
      },
      [](FeedSpec& s) {
        s.storage = source::Storage::kRows, s.selection.layout = source::ImageLayout(2, 1, 3);
      },
  };
  std::set<uint64_t> seen;

  for (const auto& change : changes) {
    FeedSpec spec = Spec();
    change(spec);
    EXPECT_TRUE(seen.insert(Fingerprint(spec)).second);
  }
}

TEST(FingerprintTest, TheWholeIsNoRangeAndWindowsThatNobodyAskedForDoNotCount) {
  FeedSpec spec = Spec();
  spec.range = {.first = 0, .count = spec.samples};
  spec.windows = {.shard_samples = 10, .shards = 2};

  EXPECT_EQ(Fingerprint(spec), Fingerprint(Spec()));
}

// The same samples in the same order are the same feed, whoever sent them. The seed still decides
// the crops.
TEST(FingerprintTest, AGivenOrdersContentTakesThePlaceOfTheOrder) {
  const auto given = [](std::vector<uint64_t> samples) {
    plan::GivenOrderBuilder builder(samples.size());
    EXPECT_TRUE(builder.Add(samples).ok());
    FeedSpec spec = Spec();
    spec.given = std::make_shared<const plan::GivenOrder>(builder.Finish().value());
    return spec;
  };
  FeedSpec sequential = given({1, 2}), seeded = given({1, 2});
  sequential.order = plan::Order::kSequential;
  ++seeded.seed;

  EXPECT_EQ(Fingerprint(given({1, 2})), Fingerprint(given({1, 2})));
  EXPECT_EQ(Fingerprint(given({1, 2})), Fingerprint(sequential));
  EXPECT_NE(Fingerprint(given({1, 2})), Fingerprint(given({2, 1})));
  EXPECT_NE(Fingerprint(given({1, 2})), Fingerprint(seeded));
  EXPECT_NE(Fingerprint(given({1, 2})), Fingerprint(Spec()));
}

TEST(FingerprintTest, WhichRankGaveAnOrderCountsWhereThereAreSeveral) {
  FeedSpec spec = Spec();
  plan::GivenOrderBuilder builder(1);
  ASSERT_TRUE(builder.Add(std::vector<uint64_t>{4}).ok());
  spec.given = std::make_shared<const plan::GivenOrder>(builder.Finish().value());
  std::set<uint64_t> seen;
  for (const plan::GivenBy by : {plan::GivenBy{0, 1}, {0, 2}, {1, 2}, {1, 3}}) {
    spec.given_by = by;
    seen.insert(Fingerprint(spec));
  }

  EXPECT_EQ(seen.size(), 4u);
}

TEST(FingerprintTest, HeightAndWidthAreNotMistakenForEachOther) {
  FeedSpec tall = Spec(), wide = Spec();
  tall.decoding.height = wide.decoding.width = 300;

  EXPECT_NE(Fingerprint(tall), Fingerprint(wide));
}

TEST(FingerprintTest, WhatAGeometryDoesNotUseDoesNotCount) {
  FeedSpec crop = Spec();
  crop.decoding.resize = 999;
  EXPECT_EQ(Fingerprint(crop), Fingerprint(Spec()));

  FeedSpec center = Spec(), other = Spec();
  center.decoding.geometry = other.decoding.geometry = decode::Geometry::kResizeCenterCrop;
  other.decoding.scale_min = 0.25;
  EXPECT_EQ(Fingerprint(center), Fingerprint(other));
  other.decoding.resize = 300;
  EXPECT_NE(Fingerprint(center), Fingerprint(other));
}

}  // namespace
}  // namespace penstock::feed
