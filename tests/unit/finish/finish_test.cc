#include "client/finish/finish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "client/finish/half.h"

namespace penstock::finish {
namespace {

using ::testing::HasSubstr;

std::vector<uint8_t> RandomRows(const Shape& shape) {
  std::mt19937 random(7);
  std::vector<uint8_t> rows(FinishedBytes(Type::kUInt8, shape).value());
  for (uint8_t& value : rows) value = static_cast<uint8_t>(random());
  return rows;
}

// One mean and deviation a channel; ImageNet's first.
std::vector<float> Means(uint32_t channels) {
  std::vector<float> means = {0.485f, 0.456f, 0.406f};
  while (means.size() < channels) means.push_back(0.1f * static_cast<float>(means.size()) - 0.7f);
  means.resize(channels);
  return means;
}

std::vector<float> Deviations(uint32_t channels) {
  std::vector<float> deviations = {0.229f, 0.224f, 0.225f};
  while (deviations.size() < channels) {
    deviations.push_back(0.03f * static_cast<float>(deviations.size()) - 0.5f);
  }
  deviations.resize(channels);
  return deviations;
}

void Put(Type type, float value, uint8_t byte, std::byte* out) {
  const uint16_t half = type == Type::kFloat16 ? ToHalf(value) : ToBFloat16(value);
  if (type == Type::kUInt8) std::memcpy(out, &byte, 1);
  if (type == Type::kFloat32) std::memcpy(out, &value, 4);
  if (type == Type::kFloat16 || type == Type::kBFloat16) std::memcpy(out, &half, 2);
}

// Element by element, as the contract reads. Volatile: each operation rounds by itself.
std::vector<std::byte> Naive(const Spec& spec, const Shape& shape,
                             const std::vector<uint8_t>& rows) {
  const size_t bytes = ElementBytes(spec.type);
  std::vector<std::byte> out(rows.size() * bytes);
  const size_t area = size_t{shape.height} * shape.width;
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t c = i % shape.channels, pixel = i / shape.channels % area;
    const size_t row = i / shape.channels / area;
    volatile float value = static_cast<float>(rows[i]) / 255.0f;
    if (spec.type != Type::kUInt8) {
      value = value - spec.mean[c];
      value = value / spec.stddev[c];
    }
    const size_t at = spec.layout == Layout::kNHWC ? i : (row * shape.channels + c) * area + pixel;
    Put(spec.type, value, rows[i], out.data() + at * bytes);
  }
  return out;
}

std::vector<std::byte> Finished(const Spec& spec, const Shape& shape,
                                const std::vector<uint8_t>& rows, Variant variant) {
  std::vector<std::byte> out(FinishedBytes(spec.type, shape).value());
  EXPECT_TRUE(Apply(spec, shape, rows, out, variant).ok());
  return out;
}

constexpr Shape kPixel = {1, 1, 1, 3};

absl::Status ApplyToPixel(const Spec& spec, size_t into_bytes = 12) {
  const std::vector<uint8_t> rows(3);
  std::vector<std::byte> out(into_bytes);
  return Apply(spec, kPixel, rows, out);
}

TEST(FinishTest, ADeviationOfZeroIsRefused) {
  const float mean[3] = {}, stddev[3] = {1, 0, 1};

  const absl::Status status = ApplyToPixel({.mean = mean, .stddev = stddev});

  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("for channel 1"));
}

TEST(FinishTest, AMeanThatIsNoNumberIsRefused) {
  const float mean[3] = {0, 0, NAN}, stddev[3] = {1, 1, 1};

  EXPECT_FALSE(ApplyToPixel({.mean = mean, .stddev = stddev}).ok());
}

TEST(FinishTest, OneMeanForThreeChannelsIsRefused) {
  const float mean[1] = {}, stddev[3] = {1, 1, 1};

  const absl::Status status = ApplyToPixel({.mean = mean, .stddev = stddev});

  EXPECT_THAT(std::string(status.message()), HasSubstr("got 1 and 3"));
}

TEST(FinishTest, APlaceThatIsTooSmallIsRefusedWithTheNumbers) {
  const float mean[3] = {}, stddev[3] = {1, 1, 1};

  const absl::Status status = ApplyToPixel({.mean = mean, .stddev = stddev}, 11);

  EXPECT_THAT(std::string(status.message()), HasSubstr("need 12 bytes, the place for them has 11"));
}

TEST(FinishTest, RowsThatDoNotFitTheirShapeAreRefused) {
  const std::vector<uint8_t> rows(5);
  std::vector<std::byte> out(12);

  EXPECT_FALSE(Apply({.type = Type::kUInt8}, kPixel, rows, out).ok());
}

TEST(FinishTest, SeventeenChannelsAreRefused) {
  const std::vector<uint8_t> rows(17);
  std::vector<std::byte> out(17);

  EXPECT_FALSE(Apply({.type = Type::kUInt8}, {1, 1, 1, 17}, rows, out).ok());
}

TEST(FinishTest, AShapeBeyondMemoryIsRefused) {
  constexpr uint32_t kMost = 0xFFFFFFFF;

  EXPECT_FALSE(FinishedBytes(Type::kFloat32, {kMost, kMost, kMost, 3}).ok());
}

TEST(FinishTest, NoRowsAreFine) {
  EXPECT_TRUE(Apply({.type = Type::kUInt8}, {0, 224, 224, 3}, {}, {}).ok());
}

struct Case {
  Type type;
  Layout layout;
  Variant variant;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Type type : {Type::kUInt8, Type::kFloat32, Type::kFloat16, Type::kBFloat16}) {
    for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
      for (const Variant variant : SupportedVariants()) cases.push_back({type, layout, variant});
    }
  }
  return cases;
}

class FinishVariantTest : public ::testing::TestWithParam<Case> {};

TEST_P(FinishVariantTest, EqualsTheNaiveReferenceAtEveryWidthAndChannelCount) {
  const auto [type, layout, variant] = GetParam();
  for (uint32_t channels = 1; channels <= kMaxChannels; ++channels) {
    for (const uint32_t width : {1u, 2u, 5u, 7u, 8u, 15u, 16u, 17u, 31u, 33u, 61u}) {
      const std::vector<float> mean = Means(channels), stddev = Deviations(channels);
      const Spec spec = {type, layout, mean, stddev};
      const Shape shape = {2, 3, width, channels};
      const std::vector<uint8_t> rows = RandomRows(shape);

      ASSERT_EQ(Finished(spec, shape, rows, variant), Naive(spec, shape, rows))
          << channels << " channels, width " << width;
    }
  }
}

TEST_P(FinishVariantTest, EqualsTheNaiveReferenceOnAWholeImage) {
  const auto [type, layout, variant] = GetParam();
  const std::vector<float> mean = Means(3), stddev = Deviations(3);
  const Spec spec = {type, layout, mean, stddev};
  const Shape shape = {2, 224, 224, 3};
  const std::vector<uint8_t> rows = RandomRows(shape);

  EXPECT_EQ(Finished(spec, shape, rows, variant), Naive(spec, shape, rows));
}

// Among these are divisors whose quick division would round wrongly, tiny and huge ones.
TEST_P(FinishVariantTest, EqualsTheNaiveReferenceForEveryValueAndAnyCoefficients) {
  const auto [type, layout, variant] = GetParam();
  const Shape shape = {1, 1, 256, 1};
  std::vector<uint8_t> rows(256);
  for (int v = 0; v < 256; ++v) rows[v] = static_cast<uint8_t>(v);
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    const float scale = std::ldexp(1.0f, static_cast<int>(random() % 276) - 149);
    const float stddev =
        std::bit_cast<float>(static_cast<uint32_t>((random() & 0x807FFFFF) | 0x3F800000)) *
        (round % 3 ? 1 : scale);
    const float mean =
        round % 2 ? static_cast<float>(random()) / 4e9f : rows[random() % 256] / 255.0f;
    const Spec spec = {type, layout, {&mean, 1}, {&stddev, 1}};

    ASSERT_EQ(Finished(spec, shape, rows, variant), Naive(spec, shape, rows))
        << "mean " << mean << ", deviation " << stddev;
  }
}

TEST_P(FinishVariantTest, NeitherSideNeedsAnAlignmentAndNothingBesideIsTouched) {
  const auto [type, layout, variant] = GetParam();
  const std::vector<float> mean = Means(3), stddev = Deviations(3);
  const Spec spec = {type, layout, mean, stddev};
  const Shape shape = {1, 5, 13, 3};
  const std::vector<uint8_t> rows = RandomRows(shape);
  const std::vector<std::byte> expected = Naive(spec, shape, rows);
  std::vector<uint8_t> from(rows.size() + 1);
  std::memcpy(from.data() + 1, rows.data(), rows.size());
  std::vector<std::byte> into(expected.size() + 2, std::byte{0xA5});

  ASSERT_TRUE(Apply(spec, shape, std::span(from).subspan(1),
                    std::span(into).subspan(1, expected.size()), variant)
                  .ok());

  EXPECT_EQ(into.front(), std::byte{0xA5});
  EXPECT_EQ(into.back(), std::byte{0xA5});
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), into.begin() + 1));
}

std::string CaseName(const ::testing::TestParamInfo<Case>& info) {
  const char* types[] = {"UInt8", "Float32", "Float16", "BFloat16"};
  const char* layouts[] = {"Nhwc", "Nchw"};
  const char* variants[] = {"Portable", "Avx2"};
  return absl::StrCat(types[static_cast<int>(info.param.type)],
                      layouts[static_cast<int>(info.param.layout)],
                      variants[static_cast<int>(info.param.variant)]);
}

INSTANTIATE_TEST_SUITE_P(All, FinishVariantTest, ::testing::ValuesIn(Cases()), CaseName);

}  // namespace
}  // namespace penstock::finish
