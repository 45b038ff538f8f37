// The tables that the kernel reads, walked here on the CPU as the kernel walks them.
#include "client/gpu_decode/kernel_tables.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/support/gpu_decode/row_cases.h"

namespace penstock::gpu_decode {
namespace {

constexpr size_t kBufferBytes = 2 << 20;
constexpr uint32_t kMaxRows = 4;

struct Buffer {
  alignas(16) std::byte bytes[kBufferBytes];
};

class KernelTablesTest : public ::testing::Test {
 protected:
  KernelRow RowAt(uint32_t index) const {
    KernelRow row;
    memcpy(&row, buffer_->bytes + index * sizeof row, sizeof row);
    return row;
  }
  const uint32_t* table() const {
    return reinterpret_cast<const uint32_t*>(buffer_->bytes + tables_.tables_offset());
  }
  int Weight(uint32_t offset) const { return static_cast<int>(table()[offset]); }

  std::unique_ptr<Buffer> buffer_ = std::make_unique<Buffer>();
  KernelTables tables_{{buffer_->bytes, kBufferBytes}, kMaxRows};
};

// As the kernel, one channel at a time.
class Walker {
 public:
  Walker(const KernelRow& row, const uint32_t* table) : row_(row), table_(table) {}

  uint32_t Column(uint32_t x, uint32_t y, uint32_t channel) const {
    const uint8_t* from = row_.from + y * row_.pitch + table_[row_.x.first + x] + channel;
    uint32_t sum = half();
    for (uint32_t tap = 0; tap < table_[row_.x.counts + x]; ++tap) {
      sum += table_[row_.x.weights + tap * row_.width + x] * from[3 * tap];
    }
    return Clipped(sum);
  }

  uint32_t Pixel(uint32_t x, uint32_t y, uint32_t channel) const {
    const uint32_t* const record = table_ + row_.y.records + y * row_.y.groups * kTapsPerGroup;
    const uint32_t down = y / std::max(1u, row_.tile_height);
    const uint32_t first = table_[row_.tile_inputs + 2 * down] + record[0];
    uint32_t sum = half();
    for (uint32_t tap = 0; tap < table_[row_.y.counts + y]; ++tap) {
      sum += record[1 + tap] * Column(x, first + tap, channel);
    }
    return Clipped(sum);
  }

 private:
  uint32_t half() const { return row_.is_plain != 0 ? 1u << 23 : 1u << 21; }
  uint32_t Clipped(uint32_t sum) const {
    if (row_.is_plain != 0) return sum >> 24;
    return static_cast<uint32_t>(std::min(std::max(static_cast<int>(sum) >> 22, 0), 255));
  }

  const KernelRow& row_;
  const uint32_t* const table_;
};

JpegRow Shrink(uint32_t in, uint32_t out, base::Interpolation interpolation) {
  return {.width = in,
          .height = in,
          .x = {in, out, 0, out},
          .y = {in, out, 0, out},
          .interpolation = interpolation};
}

TEST_F(KernelTablesTest, WalkedAsTheKernelDoesTheyGiveTheCpusRow) {
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    const testing::RowCase made =
        testing::MakeRowCase(random, {.max_side = 90, .max_out = 40, .max_pixels = 5000});
    tables_.Clear();
    const DecodedImage image = {made.pixels.data(), uint64_t{3} * made.row.width};
    ASSERT_TRUE(tables_.AddImage(made.row, image, nullptr));

    const KernelRow row = RowAt(0);
    const Walker walker(row, table());
    const std::vector<uint8_t> wanted = testing::ExpectedRow(made);
    for (uint32_t at = 0; at < wanted.size(); ++at) {
      const uint32_t x = at / 3 % row.width, y = at / 3 / row.width;
      ASSERT_EQ(walker.Pixel(x, y, at % 3), wanted[at]) << "case " << i << " at " << at;
    }
  }
}

TEST_F(KernelTablesTest, WeightsBehindAnOutputsLastAreZeroUpToAGroup) {
  ASSERT_TRUE(tables_.AddImage(Shrink(99, 70, base::Interpolation::kLanczos), {}, nullptr));

  const KernelRow row = RowAt(0);
  EXPECT_EQ(row.y.records % 4, 0u);
  for (uint32_t i = 0; i < 70; ++i) {
    for (uint32_t tap = table()[row.y.counts + i]; tap < row.y.groups * 4 - 1; ++tap) {
      EXPECT_EQ(Weight(row.y.records + i * row.y.groups * 4 + 1 + tap), 0);
    }
    for (uint32_t tap = table()[row.x.counts + i]; tap < (row.x.taps + 3) / 4 * 4; ++tap) {
      EXPECT_EQ(Weight(row.x.weights + tap * row.width + i), 0);
    }
  }
}

TEST_F(KernelTablesTest, RowsOfFewTapsWithoutNegativeWeightsArePlain) {
  using base::Interpolation;
  const struct {
    uint32_t in;
    Interpolation interpolation;
    bool is_plain;
  } kCases[] = {{100, Interpolation::kBilinear, true},  {600, Interpolation::kBilinear, true},
                {800, Interpolation::kBilinear, false}, {800, Interpolation::kNearest, true},
                {100, Interpolation::kBicubic, false},  {100, Interpolation::kLanczos, false}};
  for (const auto& [in, interpolation, is_plain] : kCases) {
    tables_.Clear();
    ASSERT_TRUE(tables_.AddImage(Shrink(in, 224, interpolation), {}, nullptr));
    EXPECT_EQ(RowAt(0).is_plain != 0, is_plain) << in;
    EXPECT_EQ(tables_.any_plain(), is_plain);
    EXPECT_EQ(tables_.any_other(), !is_plain);
  }
}

TEST_F(KernelTablesTest, TilesAreAsHighAsSharedMemoryAllows) {
  const struct {
    uint32_t in, height;
  } kCases[] = {{224, 112}, {400, 80}, {1000, 40}, {2000, 16}, {8000, 4}, {20000, 1}, {50000, 0}};
  for (const auto& [in, height] : kCases) {
    tables_.Clear();
    ASSERT_TRUE(tables_.AddImage(Shrink(in, 224, base::Interpolation::kBilinear), {}, nullptr));
    EXPECT_EQ(RowAt(0).tile_height, height) << in;
  }
}

TEST_F(KernelTablesTest, EveryTilesInputsFitSharedMemory) {
  std::mt19937 random(7);
  for (int i = 0; i < 100; ++i) {
    const testing::RowCase made =
        testing::MakeRowCase(random, {.max_side = 3000, .max_out = 300, .max_pixels = 9000});
    tables_.Clear();
    ASSERT_TRUE(tables_.AddImage(made.row, {made.pixels.data(), 4}, nullptr));
    const KernelRow row = RowAt(0);
    for (uint32_t down = 0; down < row.tiles / row.tiles_across; ++down) {
      const uint32_t first = table()[row.tile_inputs + 2 * down];
      const uint32_t count = table()[row.tile_inputs + 2 * down + 1];
      EXPECT_TRUE(row.tile_height == 0 || count <= kMaxTileInputs);
      EXPECT_GE(first, made.row.top);
      EXPECT_LE(first + count, made.row.top + made.row.y.in);
    }
  }
}

TEST_F(KernelTablesTest, ARowThatDoesNotFitIsNotAdded) {
  const JpegRow large = Shrink(60000, 4000, base::Interpolation::kLanczos);
  ASSERT_GT(KernelTables::MostWords(large.x, large.y, large.interpolation) * 4,
            kBufferBytes - tables_.tables_offset());

  EXPECT_FALSE(tables_.AddImage(large, {}, nullptr));
  EXPECT_EQ(tables_.rows(), 0u);
  const JpegRow small = Shrink(2, 2, base::Interpolation::kNearest);
  for (uint32_t i = 0; i < kMaxRows; ++i) EXPECT_TRUE(tables_.AddImage(small, {}, nullptr));
  EXPECT_FALSE(tables_.AddImage(small, {}, nullptr));
  EXPECT_EQ(tables_.rows(), kMaxRows);
}

TEST_F(KernelTablesTest, TheBoundOnWordsHoldsForEveryFilterAndSize) {
  for (int filter = 0; filter < base::kInterpolations; ++filter) {
    for (const uint32_t in : {1u, 2u, 7u, 224u, 1000u, 8000u}) {
      for (const uint32_t out : {1u, 3u, 224u, 900u}) {
        tables_.Clear();
        const JpegRow row = Shrink(in, out, static_cast<base::Interpolation>(filter));
        ASSERT_TRUE(tables_.AddImage(row, {}, nullptr));
        const size_t words = (tables_.bytes() - tables_.tables_offset()) / 4;
        EXPECT_LE(words, KernelTables::MostWords(row.x, row.y, row.interpolation))
            << filter << ' ' << in << ' ' << out;
      }
    }
  }
}

}  // namespace
}  // namespace penstock::gpu_decode
