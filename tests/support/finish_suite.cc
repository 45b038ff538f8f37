#include "tests/support/finish_suite.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "client/finish/half.h"

namespace penstock::finish {
namespace {

void Put(Type type, float value, uint8_t byte, std::byte* out) {
  const uint16_t half = type == Type::kFloat16 ? ToHalf(value) : ToBFloat16(value);
  if (type == Type::kUInt8) std::memcpy(out, &byte, 1);
  if (type == Type::kFloat32) std::memcpy(out, &value, 4);
  if (type == Type::kFloat16 || type == Type::kBFloat16) std::memcpy(out, &half, 2);
}

}  // namespace

std::vector<uint8_t> RandomRows(const Shape& shape) {
  std::mt19937 random(7);
  std::vector<uint8_t> rows(FinishedBytes(Type::kUInt8, shape).value());
  for (uint8_t& value : rows) value = static_cast<uint8_t>(random());
  return rows;
}

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

// Volatile, so that each operation is rounded separately.
std::vector<std::byte> NaiveFinish(const Spec& spec, const Shape& shape,
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

std::vector<FinishCase> AllCases(const std::string& finisher, std::shared_ptr<Finisher> (*make)()) {
  std::vector<FinishCase> cases;
  for (const Type type : {Type::kUInt8, Type::kFloat32, Type::kFloat16, Type::kBFloat16}) {
    for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
      cases.push_back({finisher, make, type, layout});
    }
  }
  return cases;
}

std::string FinishCaseName(const ::testing::TestParamInfo<FinishCase>& info) {
  const char* types[] = {"UInt8", "Float32", "Float16", "BFloat16"};
  const char* layouts[] = {"Nhwc", "Nchw"};
  return absl::StrCat(types[static_cast<int>(info.param.type)],
                      layouts[static_cast<int>(info.param.layout)], info.param.finisher);
}

void FinishSuite::SetUp() { finisher_ = GetParam().make(); }

Spec FinishSuite::MakeSpec(const std::vector<float>& mean, const std::vector<float>& stddev) const {
  return {GetParam().type, GetParam().layout, mean, stddev};
}

::testing::AssertionResult FinishSuite::EqualsTheReference(const Spec& spec, const Shape& shape,
                                                           const std::vector<uint8_t>& rows,
                                                           const Places& places) {
  const std::vector<std::byte> expected = NaiveFinish(spec, shape, rows);
  const auto got = finisher_->Finish(spec, shape, rows, places);
  if (!got.ok()) return ::testing::AssertionFailure() << got.status();
  const auto is_poison = [](std::byte b) { return b == Finisher::kPoison; };
  const auto begin = got->begin() + Finisher::kMargin, end = got->end() - Finisher::kMargin;
  if (!std::all_of(got->begin(), begin, is_poison) || !std::all_of(end, got->end(), is_poison)) {
    return ::testing::AssertionFailure() << "bytes beside the result were touched";
  }
  const auto [e, g] = std::mismatch(expected.begin(), expected.end(), begin, end);
  if (e == expected.end() && g == end) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "byte " << e - expected.begin() << " of " << expected.size() << " differs: expected "
         << std::to_integer<int>(*e) << ", got " << std::to_integer<int>(*g);
}

TEST_P(FinishSuite, EqualsTheNaiveReferenceAtEveryWidthAndChannelCount) {
  for (uint32_t channels = 1; channels <= kMaxChannels; ++channels) {
    const std::vector<float> mean = Means(channels), stddev = Deviations(channels);
    for (const uint32_t width : {1u, 2u, 5u, 7u, 8u, 15u, 16u, 17u, 31u, 33u, 61u, 64u}) {
      const Shape shape = {2, 3, width, channels};

      ASSERT_TRUE(EqualsTheReference(MakeSpec(mean, stddev), shape, RandomRows(shape)))
          << channels << " channels, width " << width;
    }
  }
}

TEST_P(FinishSuite, EqualsTheNaiveReferenceOnPixelsAndOnWholeImages) {
  const std::vector<float> mean = Means(3), stddev = Deviations(3);
  for (const Shape& shape :
       {Shape{1, 1, 1, 3}, Shape{300, 1, 1, 3}, Shape{2, 224, 224, 3}, Shape{3, 75, 75, 3}}) {
    ASSERT_TRUE(EqualsTheReference(MakeSpec(mean, stddev), shape, RandomRows(shape)))
        << shape.rows << " rows, width " << shape.width;
  }
}

// The values include tiny and huge divisors, and some for which a fast division would round
// wrongly.
TEST_P(FinishSuite, EqualsTheNaiveReferenceForEveryValueAndAnyCoefficients) {
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

    ASSERT_TRUE(EqualsTheReference(MakeSpec({mean}, {stddev}), shape, rows))
        << "mean " << mean << ", deviation " << stddev;
  }
}

TEST_P(FinishSuite, NeitherSideNeedsAnAlignmentAndNothingBesideIsTouched) {
  const std::vector<float> mean = Means(3), stddev = Deviations(3);
  for (const Shape& shape : {Shape{1, 5, 13, 3}, Shape{2, 40, 48, 3}}) {
    const std::vector<uint8_t> rows = RandomRows(shape);
    for (const Places& places : {Places{1, 0}, Places{0, 1}, Places{0, 4}, Places{8, 8},
                                 Places{4, 2}, Places{15, 15}, Places{3, 12}}) {
      ASSERT_TRUE(EqualsTheReference(MakeSpec(mean, stddev), shape, rows, places))
          << "rows at " << places.rows << ", into " << places.into;
    }
  }
}

}  // namespace penstock::finish
