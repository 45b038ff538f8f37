// Requests and datasets that fit or don't fit. tests/unit/rpc tests the rules that need no dataset,
// where messages are parsed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/session/validate.h"
#include "server/source/made/python_dataset.h"
#include "tests/support/fakes/fake_dataset.h"
#include "tests/support/fakes/fake_rows.h"

namespace penstock::session {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A synthetic dataset, whose rows the consumer generates.
class Noise final : public source::Dataset {
 public:
  absl::string_view kind() const override { return "synthetic"; }
  uint64_t samples() const override { return 100; }
  uint64_t digest() const override { return 1; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t) const override { return 0; }
  std::string path(uint64_t) const override { return ""; }
  source::Storage storage() const override { return source::Storage::kNothing; }
  std::vector<source::SampleField> fields() const override {
    return {{.name = source::kImage, .shape = {8, 9, 3}}};
  }

 private:
  const std::vector<std::string> classes_ = {"daisy"};
};

// Photographs with boxes, in shards of 10 samples.
class Boxed final : public source::Dataset {
 public:
  absl::string_view kind() const override { return "boxed"; }
  uint64_t samples() const override { return 100; }
  uint64_t digest() const override { return 2; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t) const override { return 0; }
  std::string path(uint64_t) const override { return ""; }
  uint64_t shard_samples() const override { return 10; }
  std::vector<source::SampleField> fields() const override {
    return {{.name = "box", .type = base::DType::kFloat32, .shape = {4}, .placed = true}};
  }

 private:
  const std::vector<std::string> classes_ = {"daisy"};
};

plan::GivenOrder OrderOf(const std::vector<uint64_t>& samples) {
  plan::GivenOrderBuilder builder(samples.size());
  EXPECT_TRUE(builder.Add(samples).ok());
  return builder.Finish().value();
}

class FitTest : public ::testing::Test {
 protected:
  static Request Photographs() {
    Request request;
    request.dataset_name = "flowers";
    request.share.batch_size = 8;
    return request;
  }
  static Request AsStored() {
    Request request = Photographs();
    request.decoding_mode = DecodingMode::kIfEncoded;
    return request;
  }
  static Request Made() {
    Request request = Photographs();
    request.decoding_mode = DecodingMode::kNone;
    request.feed.python = PythonFeed{};
    return request;
  }
  static Target To(const source::Dataset& dataset) {
    return {.dataset = dataset, .range = {.first = 0, .count = dataset.samples()}};
  }
  static std::string Refusal(const Target& target, Request request) {
    const absl::Status status = Fit(target, request).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }

  const testing::FakeDataset photographs_{100};
  const testing::FakeRows digits_{100, {28, 28, 1}};
  const testing::FakeRows pairs_{100, {28, 28, 2}};  // no images
  const Noise noise_{};
  const Boxed boxed_{};
  const std::unique_ptr<const source::Dataset> made_ =
      source::MakePython({.id = "ab", .samples = 100});
};

TEST_F(FitTest, AnEpochHasTheSamplesThatTheNameStandsFor) {
  Request request = Photographs();
  Target target = To(photographs_);
  target.range = {.first = 40, .count = 20};

  ASSERT_TRUE(Fit(target, request).ok());

  EXPECT_EQ(request.feed.range, (plan::Range{40, 20}));
  EXPECT_EQ(request.share.samples, 20u);
}

TEST_F(FitTest, ARangeIsWithinTheSamplesThatTheNameStandsFor) {
  Request inside = Photographs(), outside = Photographs();
  inside.feed.range = {.first = 45, .count = 5};
  outside.feed.range = {.first = 0, .count = 5};
  Target target = To(photographs_);
  target.range = {.first = 40, .count = 20};

  EXPECT_TRUE(Fit(target, inside).ok());

  EXPECT_EQ(inside.share.samples, 5u);
  EXPECT_THAT(Refusal(target, outside), HasSubstr("dataset 'flowers': the range has 5 samples"));
}

TEST_F(FitTest, AGivenOrderIsAnEpochAndHasNoOtherSamples) {
  const plan::GivenOrder good = OrderOf({7, 7, 99}), bad = OrderOf({7, 100});
  Request request = Photographs();
  Target target = To(photographs_);
  target.given = &good;

  ASSERT_TRUE(Fit(target, request).ok());

  EXPECT_EQ(request.share.samples, 3u);
  target.given = &bad;
  EXPECT_THAT(Refusal(target, Photographs()), HasSubstr("has sample 100 at place 1"));
}

TEST_F(FitTest, AMixtureHasAnEpochOfItsOwnAndNoRange) {
  const plan::Mixture mixture =
      plan::Mixture::Make({.samples = {50, 50}, .epoch_samples = 60, .schedule = {{0, {1, 2}}}})
          .value();
  Request request = Photographs(), ranged = Photographs();
  ranged.feed.range = {.first = 0, .count = 5};
  Target target = To(photographs_);
  target.mixture = &mixture;

  ASSERT_TRUE(Fit(target, request).ok());

  EXPECT_EQ(request.share.samples, 60u);
  EXPECT_THAT(Refusal(target, ranged), HasSubstr("is a mixture, which cannot have a range"));
}

TEST_F(FitTest, ShardsAreTheDatasetsOwnUnlessTheRequestSaysHowLongTheyAre) {
  Request by_default = Photographs(), own = Photographs(), none = Photographs();
  for (Request* request : {&by_default, &own, &none}) {
    request->feed.order = plan::Order::kShuffledInWindows;
    request->feed.windows.shards = 4;
  }
  own.feed.windows.shard_samples = 25;

  ASSERT_TRUE(Fit(To(boxed_), by_default).ok());
  ASSERT_TRUE(Fit(To(boxed_), own).ok());

  EXPECT_EQ(by_default.feed.windows.shard_samples, 10u);
  EXPECT_EQ(own.feed.windows.shard_samples, 25u);
  EXPECT_THAT(Refusal(To(photographs_), none), HasSubstr("has no shards to shuffle in windows"));
}

TEST_F(FitTest, EncodedSamplesAreDecodedAndOthersOnlyIfThatIsNotRequired) {
  Request none = Photographs(), required = Photographs(), as_stored = AsStored();
  none.decoding_mode = DecodingMode::kNone;

  EXPECT_THAT(Refusal(To(photographs_), none), HasSubstr("'flowers' has images"));
  EXPECT_THAT(Refusal(To(pairs_), required), HasSubstr("need no decoding"));
  ASSERT_TRUE(Fit(To(digits_), required).ok());
  EXPECT_EQ(required.feed.decoding.color, decode::Color::kGray);
  EXPECT_TRUE(Fit(To(digits_), as_stored).ok());
  EXPECT_TRUE(Fit(To(photographs_), as_stored).ok());
  EXPECT_TRUE(Fit(To(digits_), none).ok());
}

TEST_F(FitTest, SyntheticRowsHaveOneOrderAndGoToTheHost) {
  Request request = AsStored();
  request.feed.order = plan::Order::kShuffled;
  request.delivery = Delivery::kDevice;
  request.device.emplace();
  const plan::GivenOrder given = OrderOf({1});

  ASSERT_TRUE(Fit(To(noise_), request).ok());

  EXPECT_EQ(request.feed.order, plan::Order::kSequential);
  EXPECT_EQ(request.delivery, Delivery::kHost);
  EXPECT_FALSE(request.device.has_value());
  Target target = To(noise_);
  target.given = &given;
  EXPECT_THAT(Refusal(target, AsStored()), HasSubstr("its samples have only one order"));
}

TEST_F(FitTest, AnotherDeliveryNeedsNoDevice) {
  Request pinned = Photographs(), device = Photographs(), without = Photographs();
  pinned.delivery = Delivery::kPinned;
  pinned.device.emplace();
  device.delivery = without.delivery = Delivery::kDevice;
  device.device.emplace();

  ASSERT_TRUE(Fit(To(photographs_), pinned).ok());
  ASSERT_TRUE(Fit(To(photographs_), device).ok());

  EXPECT_FALSE(pinned.device.has_value());
  EXPECT_TRUE(device.device.has_value());
  EXPECT_THAT(Refusal(To(photographs_), without), HasSubstr("device is missing"));
}

TEST_F(FitTest, PlacesInAnImageDoNotFollowARandomCrop) {
  Request random = Photographs();
  random.fields = {{.name = "box"}};
  Request center = random, as_stored = random;
  center.feed.decoding.geometry = decode::Geometry::kResizeCenterCrop;
  as_stored.fields[0].as_stored = true;

  EXPECT_THAT(Refusal(To(boxed_), random), HasSubstr("'box' holds positions in the image"));
  EXPECT_TRUE(Fit(To(boxed_), center).ok());
  const auto selection = Fit(To(boxed_), as_stored);
  ASSERT_TRUE(selection.ok());
  EXPECT_THAT(selection->fields, ElementsAre(0));
}

TEST_F(FitTest, AFieldThatTheDatasetDoesNotHaveIsRefusedByTheNameThatTheClientUsed) {
  Request request = AsStored();
  request.fields = {{.name = "mask"}};

  EXPECT_THAT(Refusal(To(digits_), request), HasSubstr("dataset 'flowers'"));
}

TEST_F(FitTest, ARankThatWouldNeverHaveABatchIsRefusedWithTheNumbers) {
  Request request = Photographs();
  Target target = To(photographs_);
  target.range.count = 10;
  request.share = {.world = 4, .batch_size = 4, .remainder = plan::Remainder::kDrop};
  EXPECT_THAT(Refusal(target, request),
              HasSubstr("rank 0 of 4 would never have a batch: an epoch's 10 samples in batches of "
                        "4 for 4 ranks leave none"));
  request.share.remainder = plan::Remainder::kPartial;
  request.share.rank = 3;
  EXPECT_THAT(Refusal(target, request), HasSubstr("rank 3 of 4 would never have a batch"));
  request.share.remainder = plan::Remainder::kPadBatch;
  EXPECT_TRUE(Fit(target, request).ok());
}

TEST_F(FitTest, AStateBeyondTheEpochsEndIsRefused) {
  Request request = Photographs();
  request.share.consumed = 101;

  EXPECT_THAT(Refusal(To(photographs_), request), HasSubstr("101 samples of the epoch"));
}

// Fit also checks the rules that need no dataset.
TEST_F(FitTest, WhatIsWrongByItselfIsRefusedHereToo) {
  const std::vector<std::pair<std::function<void(Request&)>, std::string>> wrong = {
      {[](Request& r) { r.dataset_name = ""; }, "dataset is missing"},
      {[](Request& r) { r.feed.decoding.height = 0; }, "feed.image: height"},
      {[](Request& r) { r.share.batch_size = 0; }, "batch_size: wanted 1 to 65536, got 0"},
      {[](Request& r) { r.share.rank = 1; }, "rank: wanted 0 to 0"},
      {[](Request& r) { r.share.world = 0; }, "world_size: wanted 1 to"},
      {[](Request& r) { r.window = 0; }, "window: wanted 1 to 256 batches ahead, got 0"},
      {[](Request& r) { r.epochs = r.first_epoch = UINT64_MAX; }, "epochs: "},
      {[](Request& r) { r.feed.given_by.ranks = 0; }, "feed.given_by"},
      {[](Request& r) { r.name = "\n"; }, "name: '\\n' has control characters"},
      {[](Request& r) { r.fields.resize(33); }, "feed.fields: wanted at most 32, got 33"},
      {[](Request& r) { r.fields.resize(1); }, "feed.fields: one has no name"}};
  for (const auto& [spoil, words] : wrong) {
    Request request = Photographs();
    spoil(request);

    EXPECT_THAT(Refusal(To(photographs_), request), HasSubstr(words));
  }
}

TEST_F(FitTest, APythonDatasetHasAFeedOfItsOwn) {
  Request request = Made();

  const source::Selection selection = Fit(To(*made_), request).value();

  EXPECT_TRUE(selection.layout.tensors.empty());
  EXPECT_EQ(request.share.samples, 100u);
}

TEST_F(FitTest, APythonDatasetIsDeliveredToHostMemory) {
  Request pinned = Made(), device = Made();
  pinned.delivery = Delivery::kPinned;
  device.delivery = Delivery::kDevice;
  device.device = exporting::DeviceRequest{};

  EXPECT_TRUE(Fit(To(*made_), pinned).ok());
  EXPECT_THAT(Refusal(To(*made_), device), HasSubstr("request pinned delivery"));
}

TEST_F(FitTest, NothingOfAPythonDatasetIsDecodedOrChosen) {
  Request decoded = Made(), by_default = Made(), chosen = Made(), windows = Made();
  decoded.decoding_mode = DecodingMode::kRequired;
  by_default.decoding_mode = DecodingMode::kIfEncoded;
  chosen.fields = {{.name = "image"}};
  windows.feed.order = plan::Order::kShuffledInWindows;
  windows.feed.windows = {.shard_samples = 0, .shards = 2};

  EXPECT_THAT(Refusal(To(*made_), decoded), HasSubstr("is made in Python"));
  EXPECT_THAT(Refusal(To(*made_), by_default), HasSubstr("is made in Python"));
  EXPECT_THAT(Refusal(To(*made_), chosen), HasSubstr("got 'image', expected none"));
  EXPECT_THAT(Refusal(To(*made_), windows), HasSubstr("has no shards to shuffle in windows"));
  windows.feed.windows.shard_samples = 10;
  EXPECT_TRUE(Fit(To(*made_), windows).ok());
}

TEST_F(FitTest, OnlyAPythonDatasetIsMadeByPythonWorkers) {
  Request without = Made(), elsewhere = Photographs();
  without.feed.python.reset();
  elsewhere.feed.python = PythonFeed{};

  EXPECT_THAT(Refusal(To(*made_), without), HasSubstr("feed.python is missing"));
  EXPECT_THAT(Refusal(To(photographs_), elsewhere), HasSubstr("feed.python: wanted none"));
}

}  // namespace
}  // namespace penstock::session
