// Effects of the finish: which rows get which draws, batches on the host and on a GPU, refusals.
#include "penstock/effects.h"

#include <cstring>
#include <numeric>
#include <vector>

#include "tests/unit/client/device_fixture.h"

namespace penstock::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Finish kFloats = {.type = Type::kFloat32, .layout = Layout::kNHWC};

EffectOptions EverythingOn() {
  EffectOptions options = {.seed = 9, .classes = 1000};
  options.erasing = RandomErasing{.probability = 1.0, .scale_max = 0.5, .value = {7, 8, 9}};
  options.mixes = {{.kind = MixKind::kMixUp, .alpha = 0.4}};
  return options;
}

class HostEffectsTest : public ::testing::Test {
 protected:
  Batch Next() {
    daemon_.AnnounceNext();
    return std::move(*session_.Next(kNow));
  }

  FakeDaemon daemon_, second_;
  Reopening reopening_{.asked = {}, .epochs = {}, .refusals = {}, .daemon = &second_, .gpu = {}};
  SessionCore session_{std::make_unique<FakeOpener>(&reopening_), daemon_.Attach().value(), {}};
  std::vector<float> images_ = std::vector<float>(48), soft_ = std::vector<float>(4000);
};

TEST_F(HostEffectsTest, ABatchIsMixedWithTheRowBefore) {
  Batch batch = Next();
  std::vector<float> plain(48);
  ASSERT_TRUE(batch.FinishInto(kFloats, plain.data(), 192).ok());
  const std::vector<int64_t> labels(batch.labels().begin(), batch.labels().end());
  const Effects effects = {.mix = {.kind = MixKind::kMixUp, .share = 0.75},
                           .soft_labels = soft_.data(),
                           .classes = 1000};

  ASSERT_TRUE(batch.FinishInto(kFloats, effects, {images_.data(), 192}, nullptr).ok());

  for (int i = 0; i < 48; ++i)
    EXPECT_EQ(images_[i], plain[(i + 36) % 48] * 0.25f + plain[i] * 0.75f) << i;
  for (int row = 0; row < 4; ++row) {
    float sum = 0;
    for (int k = 0; k < 1000; ++k) sum += soft_[row * 1000 + k];
    EXPECT_EQ(sum, 1.0f);
    EXPECT_GE(soft_[row * 1000 + labels[row]], 0.75f);
    EXPECT_GE(soft_[row * 1000 + labels[(row + 3) % 4]], 0.25f);
  }
  EXPECT_TRUE(batch.labels().empty());  // released
}

TEST_F(HostEffectsTest, WhatIsDrawnDependsOnTheBatchAndTheOptionsAlone) {
  const Batch first = Next(), second = Next();
  const EffectOptions options = EverythingOn();
  const auto drawn = DrawEffects(options, first), again = DrawEffects(options, first);
  const auto other = DrawEffects(options, second);
  ASSERT_TRUE(drawn.ok() && again.ok() && other.ok());

  const Effects effects = drawn->For(soft_.data());
  EXPECT_EQ(effects.mix, again->For(nullptr).mix);
  EXPECT_NE(effects.mix, other->For(nullptr).mix);
  EXPECT_THAT(effects.value, ElementsAre(7, 8, 9));
  EXPECT_EQ(effects.soft_labels, soft_.data());
  EXPECT_EQ(effects.classes, 1000u);
  const auto boxes =
      DrawErasures(*options.erasing, {.seed = 9, .epoch = first.epoch()}, first.sample_ids(), 2, 2);
  ASSERT_TRUE(boxes.ok());
  EXPECT_TRUE(std::ranges::equal(effects.erasures, *boxes));
  EXPECT_TRUE(first.FinishInto(kFloats, effects, images_.data(), 192).ok());
}

TEST_F(HostEffectsTest, AReleasedBatchHasNoEffects) {
  Batch batch = Next();
  batch.Release();

  EXPECT_EQ(DrawEffects(EverythingOn(), batch).status().code(), Code::kFailedPrecondition);
}

TEST_F(HostEffectsTest, WrongOptionsAreRefusedAndTheBatchIsStillHeld) {
  Batch batch = Next();
  EffectOptions options = EverythingOn();
  options.erasing->step = 0;
  EXPECT_THAT(DrawEffects(options, batch).status().message(), HasSubstr("step: got 0"));
  options = EverythingOn();
  options.mixes[0].alpha = -1;
  EXPECT_THAT(DrawEffects(options, batch).status().message(), HasSubstr("alpha: got -1"));
  const Effects one_class = {.soft_labels = soft_.data(), .classes = 1};
  EXPECT_THAT(batch.FinishInto(kFloats, one_class, {images_.data(), 192}, nullptr).message(),
              HasSubstr("expected 0 to 0"));
  EXPECT_EQ(batch.labels().size(), 4u);
}

TEST(RowKeysTest, AreSamplesButForPaddingAndOrdersThatRepeat) {
  const uint64_t ids[] = {5, 5, 9};

  const std::vector<uint64_t> by_sample = RowKeys({}, 100, ids, 2);
  const std::vector<uint64_t> by_position = RowKeys({.by_position = true}, 100, ids, 2);
  const std::vector<uint64_t> given =
      RowKeys({.by_position = true, .given_by = {.rank = 1, .ranks = 3}}, 100, ids, 2);

  // As draw_number of server/plan/README.md gives.
  EXPECT_THAT(by_sample, ElementsAre(5, 5, by_position[2]));
  EXPECT_THAT(by_position, ElementsAre(0xBF5C1885DB3E6F4F, 0x94BA2CAD01DBACD9, 0x5C857730416CEEE2));
  EXPECT_THAT(given, ElementsAre(0xFCD47243BB9072EB, 0x6FDCCEC0D54A541, 0x99EDD9EF672F8973));
}

TEST_F(DeviceSessionTest, EffectsHappenWhereTheBatchIs) {
  AnnounceNext();
  SessionCore session = Open();
  Result<Batch> batch = session.Next(kNow);
  std::vector<uint8_t> stored(48);
  ASSERT_TRUE(batch->CopyImages(stored.data(), 48).ok());
  std::vector<float> images(48), soft(4000);
  const std::vector<Erasure> erasures(4, {.box = {1, 0, 1, 2}});
  const Effects effects = {
      .erasures = erasures, .value = {-1, -2, -3}, .soft_labels = soft.data(), .classes = 1000};

  ASSERT_TRUE(batch->FinishInto(kFloats, effects, {images.data(), 192, labels_}, stream_).ok());
  gpu_->Run(stream_);

  for (int i = 0; i < 48; ++i)
    EXPECT_EQ(images[i], i / 3 % 2 == 1 ? -1.0f - i % 3 : stored[i] / 255.0f) << i;
  for (int row = 0; row < 4; ++row) EXPECT_EQ(soft[row * 1000 + labels_[row]], 1.0f);
  EXPECT_EQ(std::accumulate(soft.begin(), soft.end(), 0.0f), 4.0f);
}

TEST_F(DeviceSessionTest, SoftLabelsInHostMemoryAreRefused) {
  AnnounceNext();
  SessionCore session = Open();
  Result<Batch> batch = session.Next(kNow);
  std::vector<float> images(48), soft(4000);
  gpu_->plain_host = soft.data();
  const Effects effects = {.soft_labels = soft.data(), .classes = 1000};

  const Status refused = batch->FinishInto(kFloats, effects, {images.data(), 192}, stream_);

  EXPECT_THAT(refused.message(), HasSubstr("'soft_labels' is not memory that the device can"));
}

TEST(TensorEffectsTest, ABatchWithoutImagesIsRefused) {
  Grant grant = SmallGrant();
  grant.row_bytes = grant.height = grant.width = grant.channels = 0;
  grant.tensors = {
      {.field = {"x", DType::kFloat32, {3}}, .offset = 0, .row_stride = 12, .row_bytes = 12}};
  FakeDaemon daemon{grant}, second{grant};
  Reopening reopening{.asked = {}, .epochs = {}, .refusals = {}, .daemon = &second, .gpu = {}};
  SessionCore session(std::make_unique<FakeOpener>(&reopening), daemon.Attach().value(), {});
  daemon.AnnounceNext();
  Result<Batch> batch = session.Next(kNow);
  const Effects effects = {.mix = {.kind = MixKind::kMixUp, .share = 0.5}};

  EXPECT_THAT(batch->FinishInto({}, effects, {}, nullptr).message(),
              HasSubstr("got a batch without images"));
  EXPECT_FALSE(DrawEffects(EverythingOn(), *batch).ok());
}

}  // namespace
}  // namespace penstock::client
