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

TEST(FingerprintTest, OfAnInterpolationIsTheSameInEveryVersion) {
  FeedSpec spec = Spec();
  spec.decoding.interpolation = base::Interpolation::kBicubic;

  EXPECT_EQ(Fingerprint(spec), 0x32d97337d7a2025d);
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

// Of a recipe.
augment::Step& OneStep(FeedSpec& spec) {
  spec.decoding.recipe.count = 1;
  spec.decoding.recipe.steps[0].op = augment::Op::kInvert;
  return spec.decoding.recipe.steps[0];
}

TEST(FingerprintTest, OfARecipeIsTheSameInEveryVersion) {
  FeedSpec spec = Spec();
  OneStep(spec);

  EXPECT_EQ(Fingerprint(spec), 0xff6fad0db575a2c5);
}

TEST(FingerprintTest, StepsBehindTheRecipesEndDoNotCount) {
  FeedSpec spec = Spec();
  spec.decoding.recipe.steps[3].op = augment::Op::kInvert;

  EXPECT_EQ(Fingerprint(spec), Fingerprint(Spec()));
}

// One field, a target.
base::TargetSpec& OneTarget(FeedSpec& spec, base::TargetKind kind = base::TargetKind::kBoxes) {
  spec.selection.targets = {{.kind = kind}};
  return spec.selection.targets.front();
}

TEST(FingerprintTest, OfATargetIsTheSameInEveryVersion) {
  FeedSpec spec = Spec();
  OneTarget(spec) = {.kind = base::TargetKind::kPoints, .relative = 1, .pairs = 1, .pair = {1, 2}};

  EXPECT_EQ(Fingerprint(spec), 0x8db5810fb91efed3);
}

TEST(FingerprintTest, PointsBehindTheLastPairDoNotCount) {
  FeedSpec some = Spec(), more = Spec();
  OneTarget(some) = {.kind = base::TargetKind::kPoints, .pairs = 1, .pair = {1, 2}};
  OneTarget(more) = {.kind = base::TargetKind::kPoints, .pairs = 1, .pair = {1, 2, 7}};

  EXPECT_EQ(Fingerprint(some), Fingerprint(more));
}

TEST(FingerprintTest, ACanvasAddsTheSizeOfItsImage) {
  FeedSpec spec = Spec();
  spec.decoding.canvas = 1;

  const source::RowLayout layout = spec.Layout();

  EXPECT_EQ(layout.tensors.back().name, source::kImageSize);
  EXPECT_EQ(layout.tensors.back().type, base::DType::kInt32);
  EXPECT_EQ(layout.tensors.back().shape, std::vector<uint32_t>{2});
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
      [](FeedSpec& s) { s.decoding.interpolation = base::Interpolation::kNearest; },
      [](FeedSpec& s) { s.decoding.interpolation = base::Interpolation::kLanczos; },
      [](FeedSpec& s) { s.decoding.interpolation = base::Interpolation::kBicubic; },
      [](FeedSpec& s) { s.decoding.geometry = decode::Geometry::kWhole; },
      [](FeedSpec& s) { OneStep(s); },
      [](FeedSpec& s) { OneStep(s).op = augment::Op::kEqualize; },
      [](FeedSpec& s) { OneStep(s).children = 1; },
      [](FeedSpec& s) { OneStep(s).interpolation = 2; },
      [](FeedSpec& s) { OneStep(s).mode = 1; },
      [](FeedSpec& s) { OneStep(s).flags = 1; },
      [](FeedSpec& s) { OneStep(s).fill.values[0] = 1; },
      [](FeedSpec& s) { OneStep(s).fill.values[2] = 1; },
      [](FeedSpec& s) { OneStep(s).probability = 0.5; },
      [](FeedSpec& s) { OneStep(s).weight = 0.5; },
      [](FeedSpec& s) { OneStep(s).args[0] = 1; },
      [](FeedSpec& s) { OneStep(s).args[11] = 1; },
      [](FeedSpec& s) { OneStep(s), s.decoding.recipe.count = 2; },
      [](FeedSpec& s) { s.decoding.canvas = 1; },
      [](FeedSpec& s) { OneTarget(s); },
      [](FeedSpec& s) { OneTarget(s, base::TargetKind::kMask); },
      [](FeedSpec& s) { OneTarget(s, base::TargetKind::kPoints); },
      [](FeedSpec& s) { OneTarget(s, base::TargetKind::kWithBoxes); },
      [](FeedSpec& s) {
        OneTarget(s);
        s.selection.targets.insert(s.selection.targets.begin(), base::TargetSpec{});
      },
      [](FeedSpec& s) { OneTarget(s).format = base::BoxFormat::kCornerAndSize; },
      [](FeedSpec& s) { OneTarget(s).relative = 1; },
      [](FeedSpec& s) { OneTarget(s).fill = 1; },
      [](FeedSpec& s) { OneTarget(s).min_side = 2; },
      [](FeedSpec& s) { OneTarget(s).pairs = 1; },
      [](FeedSpec& s) {
        OneTarget(s) = {.kind = base::TargetKind::kBoxes, .pairs = 1, .pair = {0, 3}};
      },
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
