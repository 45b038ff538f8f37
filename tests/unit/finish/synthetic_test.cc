#include "client/finish/synthetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/base/philox.h"

namespace penstock::finish {
namespace {

constexpr Shape kShape = {3, 5, 7, 3};
constexpr Spec kBytes = {.type = Type::kUInt8, .layout = Layout::kNHWC};

struct Batch {
  std::vector<std::byte> rows;
  std::vector<int64_t> labels;
};

Batch Make(const Synthetic& what, const Shape& shape = kShape) {
  Batch batch;
  batch.rows.resize(FinishedBytes(Type::kUInt8, shape).value());
  batch.labels.resize(shape.rows);
  EXPECT_TRUE(Synthesize(what, kBytes, shape, batch.rows, batch.labels).ok());
  return batch;
}

TEST(SyntheticTest, NoClassesAreRefused) {
  std::vector<std::byte> into(315);

  EXPECT_FALSE(Synthesize({.classes = 0}, kBytes, kShape, into, {}).ok());
}

TEST(SyntheticTest, APlaceForTooFewLabelsIsRefused) {
  std::vector<std::byte> into(315);
  std::vector<int64_t> labels(2);

  const absl::Status status = Synthesize({}, kBytes, kShape, into, labels);

  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("labels: got 2"));
}

TEST(SyntheticTest, ARowIsPhiloxUnderItsSampleEpochAndPlace) {
  const Batch batch = Make({.seed = 5, .epoch = 2, .first_sample = (uint64_t{1} << 32) + 1});

  const base::PhiloxWords words = base::Philox4x32({2, 1, 2, 1}, 5);  // row 1, bytes 16 … 31

  for (int i = 0; i < 16; ++i) {
    ASSERT_EQ(std::to_integer<uint32_t>(batch.rows[105 + 16 + i]),
              (words[i / 4] >> (8 * (i % 4))) & 0xFF);
  }
}

TEST(SyntheticTest, ASampleIsTheSameInWhateverBatchItCome) {
  const Batch together = Make({.first_sample = 40});
  const Batch alone = Make({.first_sample = 42}, {1, 5, 7, 3});

  EXPECT_TRUE(std::equal(alone.rows.begin(), alone.rows.end(), together.rows.begin() + 210));
  EXPECT_EQ(alone.labels[0], together.labels[2]);
}

TEST(SyntheticTest, NoSamplesAreRefused) {
  std::vector<std::byte> into(315);

  EXPECT_FALSE(Synthesize({.samples = 0}, kBytes, kShape, into, {}).ok());
}

TEST(SyntheticTest, BehindTheLastSampleComesTheFirst) {
  const Batch across = Make({.first_sample = 9, .samples = 10});
  const Batch begin = Make({.first_sample = 0, .samples = 10});

  EXPECT_TRUE(std::equal(begin.rows.begin(), begin.rows.begin() + 210, across.rows.begin() + 105));
  EXPECT_EQ(across.labels[1], begin.labels[0]);
}

TEST(SyntheticTest, AnotherEpochChangesTheRowsAndKeepsTheLabels) {
  const Batch first = Make({.epoch = 0}), second = Make({.epoch = 1});

  EXPECT_NE(first.rows, second.rows);
  EXPECT_EQ(first.labels, second.labels);
}

TEST(SyntheticTest, LabelsAreBelowTheClasses) {
  const Batch batch = Make({.classes = 10}, {500, 1, 1, 1});

  EXPECT_GE(std::ranges::min(batch.labels), 0);
  EXPECT_EQ(std::ranges::max(batch.labels), 9);
}

TEST(SyntheticTest, FinishingComesAfterwardsAsForAnyBatch) {
  const Synthetic what = {.seed = 9};
  const float mean[3] = {0.4f, 0.5f, 0.6f}, stddev[3] = {0.2f, 0.3f, 0.4f};
  const Spec spec = {.mean = mean, .stddev = stddev};
  const Batch batch = Make(what);
  std::vector<std::byte> expected(315 * 4), got(315 * 4);
  const auto* bytes = reinterpret_cast<const uint8_t*>(batch.rows.data());
  ASSERT_TRUE(Apply(spec, kShape, {bytes, batch.rows.size()}, expected).ok());

  ASSERT_TRUE(Synthesize(what, spec, kShape, got, {}).ok());

  EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace penstock::finish
