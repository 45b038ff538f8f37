#include "client/finish/finish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "tests/support/finish_suite.h"

namespace penstock::finish {
namespace {

using ::testing::HasSubstr;

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

  EXPECT_THAT(std::string(status.message()), HasSubstr("got 11 bytes, expected at least 12"));
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

// 66 images of 201·225 pixels: more than is written through the caches. The images and planes begin
// at every remainder of 16 bytes.
class LargeFinishTest : public ::testing::TestWithParam<std::tuple<Type, Layout>> {};

TEST_P(LargeFinishTest, EveryVariantGivesTheSameBytes) {
  const auto [type, layout] = GetParam();
  const std::vector<float> mean = {0.485f, 0.456f, 0.406f}, stddev = {0.229f, 0.224f, 0.225f};
  const Spec spec = {.type = type, .layout = layout, .mean = mean, .stddev = stddev};
  const Shape shape = {.rows = 66, .height = 201, .width = 225, .channels = 3};
  std::vector<uint8_t> rows(size_t{shape.rows} * shape.height * shape.width * shape.channels);
  uint32_t state = 1;
  for (uint8_t& value : rows) value = static_cast<uint8_t>((state = state * 1664525 + 1) >> 24);
  const size_t bytes = rows.size() * ElementBytes(type);
  ASSERT_GT(bytes, size_t{16} << 20);

  std::vector<std::vector<std::byte>> found;
  for (const Variant variant : SupportedVariants()) {
    std::vector<std::byte>& into = found.emplace_back(bytes);
    ASSERT_TRUE(Apply(spec, shape, rows, into, variant).ok());
  }
  for (const std::vector<std::byte>& other : found) EXPECT_TRUE(other == found.front());
}

INSTANTIATE_TEST_SUITE_P(Cpu, LargeFinishTest,
                         ::testing::Combine(::testing::Values(Type::kFloat32, Type::kFloat16,
                                                              Type::kBFloat16),
                                            ::testing::Values(Layout::kNHWC, Layout::kNCHW)));

// One of this CPU's variants.
class CpuFinisher final : public Finisher {
 public:
  explicit CpuFinisher(Variant variant) : variant_(variant) {}

  absl::StatusOr<std::vector<std::byte>> Finish(const Spec& spec, const Shape& shape,
                                                const std::vector<uint8_t>& rows,
                                                const Places& places) override {
    const std::span<uint8_t> from = Aligned(from_, rows.size() + places.rows).subspan(places.rows);
    std::ranges::copy(rows, from.begin());
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t bytes, FinishedBytes(spec.type, shape));
    const size_t all = bytes + 2 * kMargin;
    const auto into =
        std::as_writable_bytes(Aligned(into_, all + places.into)).subspan(places.into);
    std::ranges::fill(into, kPoison);
    PENSTOCK_RETURN_IF_ERROR(Apply(spec, shape, from, into.subspan(kMargin, bytes), variant_));
    return std::vector<std::byte>(into.begin(), into.end());
  }

 private:
  static std::span<uint8_t> Aligned(std::vector<uint8_t>& memory, size_t bytes) {
    memory.resize(bytes + 16);
    const size_t beyond = reinterpret_cast<uintptr_t>(memory.data()) % 16;
    return std::span(memory).subspan((16 - beyond) % 16, bytes);
  }

  const Variant variant_;
  std::vector<uint8_t> from_, into_;
};

template <Variant variant>
std::shared_ptr<Finisher> MakeCpu() {
  return std::make_shared<CpuFinisher>(variant);
}

std::vector<FinishCase> CpuCases() {
  std::vector<FinishCase> cases = AllCases("Portable", MakeCpu<Variant::kPortable>);
  if (SupportedVariants().back() == Variant::kAvx2) {
    for (FinishCase& one : AllCases("Avx2", MakeCpu<Variant::kAvx2>)) cases.push_back(one);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cpu, FinishSuite, ::testing::ValuesIn(CpuCases()), FinishCaseName);

}  // namespace
}  // namespace penstock::finish
