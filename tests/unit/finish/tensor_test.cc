// Tensors that aren't images: allowed casts, exact values, and gaps between rows.
#include "client/finish/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "client/finish/half.h"

namespace penstock::finish {
namespace {

using base::DType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// `rows` rows of `from`, `stride` elements apart.
template <typename To, typename From>
std::vector<To> Converted(DType from_type, DType to_type, const std::vector<From>& from,
                          uint64_t rows, uint64_t elements, uint64_t stride) {
  std::vector<To> into(rows * elements);
  const absl::Status status =
      Convert(TensorJob{.from = from_type,
                        .to = to_type,
                        .rows = rows,
                        .elements = elements,
                        .row_stride = stride * sizeof(From),
                        .data = reinterpret_cast<const std::byte*>(from.data()),
                        .into = reinterpret_cast<std::byte*>(into.data()),
                        .into_bytes = into.size() * sizeof(To)});
  EXPECT_TRUE(status.ok()) << status;
  return into;
}

TEST(TensorTest, ACastThatWouldLoseNumbersIsRefusedByName) {
  const std::pair<DType, DType> casts[] = {
      {DType::kInt64, DType::kInt32},   {DType::kUInt32, DType::kInt32},
      {DType::kUInt64, DType::kInt64},  {DType::kFloat32, DType::kInt64},
      {DType::kInt64, DType::kFloat32}, {DType::kFloat32, DType::kFloat16}};
  for (const auto& [from, to] : casts) {
    const absl::Status status = CheckTensor({.from = from, .to = to});
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("no cast from " + std::string(base::DTypeName(from))),
                      HasSubstr("request")));
  }
}

TEST(TensorTest, APlaceThatIsTooSmallOrOddIsRefusedWithTheNumbers) {
  alignas(8) std::byte into[64];
  TensorJob job = {.from = DType::kUInt16,
                   .to = DType::kInt64,
                   .rows = 2,
                   .elements = 4,
                   .row_stride = 8,
                   .into = into,
                   .into_bytes = 63};

  EXPECT_THAT(std::string(Convert(job).message()), HasSubstr("need 64 bytes"));
  job.into = into + 4;
  job.into_bytes = 1000;
  EXPECT_THAT(std::string(Convert(job).message()), HasSubstr("aligned to 8"));
}

TEST(TensorTest, SizesThatNoNumberHoldsAreRefused) {
  const TensorJob job = {.from = DType::kInt64,
                         .to = DType::kInt64,
                         .rows = uint64_t{1} << 40,
                         .elements = uint64_t{1} << 40};
  EXPECT_TRUE(absl::IsInvalidArgument(CheckTensor(job)));
}

TEST(TensorTest, WholeNumbersKeepTheirValues) {
  const auto same = [](auto from_type, auto smallest, auto largest) {
    using From = decltype(smallest);
    const std::vector<From> from = {smallest, largest, 1};
    EXPECT_THAT(Converted<int64_t>(from_type, DType::kInt64, from, 1, 3, 3),
                ElementsAre(int64_t{smallest}, int64_t{largest}, 1));
    if (sizeof(From) == 4 && smallest == 0) return;  // uint32 does not fit into int32
    EXPECT_THAT(Converted<int32_t>(from_type, DType::kInt32, from, 1, 3, 3),
                ElementsAre(static_cast<int32_t>(smallest), static_cast<int32_t>(largest), 1));
  };
  same(DType::kUInt8, uint8_t{0}, uint8_t{255});
  same(DType::kInt8, int8_t{-128}, int8_t{127});
  same(DType::kUInt16, uint16_t{0}, uint16_t{65535});
  same(DType::kInt16, int16_t{-32768}, int16_t{32767});
  same(DType::kUInt32, uint32_t{0}, uint32_t{4294967295});
  same(DType::kInt32, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
}

// Converts every float16 and bfloat16 to float. Rounding a float16's value back must give the same
// bits.
TEST(TensorTest, HalvesBecomeTheFloatsThatTheyAre) {
  std::vector<uint16_t> all(65536);
  for (uint32_t bits = 0; bits < 65536; ++bits) all[bits] = static_cast<uint16_t>(bits);

  const auto halves = Converted<float>(DType::kFloat16, DType::kFloat32, all, 1, 65536, 65536);
  const auto brains = Converted<float>(DType::kBFloat16, DType::kFloat32, all, 1, 65536, 65536);

  for (uint32_t bits = 0; bits < 65536; ++bits) {
    EXPECT_EQ(std::bit_cast<uint32_t>(brains[bits]), bits << 16);
    if ((bits & 0x7C00) == 0x7C00) continue;  // infinities and NaNs
    EXPECT_EQ(ToHalf(halves[bits]), bits);
  }
  EXPECT_EQ(halves[0x7C00], std::numeric_limits<float>::infinity());
  EXPECT_EQ(halves[0xFC00], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(halves[0x7E00]));
}

TEST(TensorTest, DoublesAreRoundedToTheNearestFloat) {
  const std::vector<double> from = {0.1, -1e300, 1.0 + 0x1p-24, 1.0 + 3 * 0x1p-24};
  EXPECT_THAT(Converted<float>(DType::kFloat64, DType::kFloat32, from, 1, 4, 4),
              ElementsAre(0.1f, -std::numeric_limits<float>::infinity(), 1.0f, 1.0f + 0x1p-22f));
}

// Windows of tokens overlap with their targets, so rows are further apart than their length.
TEST(TensorTest, GapsBetweenRowsAreLeftOut) {
  const std::vector<uint16_t> tokens = {1, 2, 3, 99, 4, 5, 6, 99};
  EXPECT_THAT(Converted<int64_t>(DType::kUInt16, DType::kInt64, tokens, 2, 3, 4),
              ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Converted<uint16_t>(DType::kUInt16, DType::kUInt16, tokens, 2, 3, 4),
              ElementsAre(1, 2, 3, 4, 5, 6));
}

}  // namespace
}  // namespace penstock::finish
