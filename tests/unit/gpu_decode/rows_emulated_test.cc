// The kernel's source, run on the CPU: the rows it makes have the bytes of the CPU's decoder.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "client/gpu_decode/kernel_tables.h"
#include "tests/support/gpu_decode/emulated_device.h"
#include "tests/support/gpu_decode/row_cases.h"

namespace penstock::gpu_decode {
namespace {

using testing::RowCase;

constexpr size_t kEmulatedTablesBytes = 4 << 20;
constexpr uint32_t kMaxEmulatedRows = 16;
constexpr uint8_t kSentinel = 0xA5;
constexpr size_t kBorder = 32;  // bytes before and behind a row that must stay

class EmulatedRowsTest : public ::testing::Test {
 protected:
  // A copy of the image with padded rows, and no more readable bytes behind it than promised.
  DecodedImage Place(const RowCase& row_case) {
    const size_t bytes = size_t{3} * row_case.row.width;
    const size_t pitch = (bytes + 3) / 4 * 4;
    const size_t all = pitch * row_case.row.height + kImageSlackBytes;
    images_.push_back(std::make_unique<uint32_t[]>((all + 3) / 4));
    auto* const at = reinterpret_cast<uint8_t*>(images_.back().get());
    for (uint32_t y = 0; y < row_case.row.height; ++y) {
      memcpy(at + y * pitch, &row_case.pixels[y * bytes], bytes);
    }
    return {at, pitch};
  }

  void Run() {
    const auto* rows = reinterpret_cast<const KernelRow*>(buffer_.get());
    const auto* tables = reinterpret_cast<const uint32_t*>(buffer_.get() + tables_.tables_offset());
    ASSERT_TRUE(device_
                    ->MakeRows({rows, tables, tables_.rows(), tables_.max_tiles(),
                                tables_.any_plain(), tables_.any_other()})
                    .ok());
    ASSERT_TRUE(device_->Synchronize().ok());
  }

  void Compare(const RowCase& row_case, size_t misaligned) {
    const std::vector<uint8_t> wanted = testing::ExpectedRow(row_case);
    std::vector<uint8_t> into(wanted.size() + 2 * kBorder + misaligned, kSentinel);
    const size_t begin = kBorder + misaligned;
    tables_.Clear();
    ASSERT_TRUE(tables_.AddImage(row_case.row, Place(row_case), &into[begin]));

    Run();

    const std::vector<uint8_t> made(into.begin() + begin, into.begin() + begin + wanted.size());
    ASSERT_EQ(made, wanted);
    std::fill_n(into.begin() + begin, wanted.size(), kSentinel);
    ASSERT_EQ(into, std::vector<uint8_t>(into.size(), kSentinel)) << "bytes beside the row";
    images_.clear();
  }

  testing::DeviceLog log_;
  std::unique_ptr<DecodeDevice> device_ = testing::MakeEmulatedDevice(log_);
  std::unique_ptr<std::byte[]> buffer_ = std::make_unique<std::byte[]>(kEmulatedTablesBytes);
  KernelTables tables_{{buffer_.get(), kEmulatedTablesBytes}, kMaxEmulatedRows};
  std::vector<std::unique_ptr<uint32_t[]>> images_;
};

RowCase Whole(uint32_t width, uint32_t height, uint32_t out, base::Interpolation interpolation) {
  RowCase made;
  made.row.width = width;
  made.row.height = height;
  made.row.x = {width, out, 0, out};
  made.row.y = {height, out, 0, out};
  made.row.interpolation = interpolation;
  made.pixels = testing::MakePixels(width, height, width + height);
  return made;
}

TEST_F(EmulatedRowsTest, RandomBoxesHaveTheCpusBytes) {
  std::mt19937 random(11);
  for (int i = 0; i < 250; ++i) {
    const RowCase row_case =
        testing::MakeRowCase(random, {.max_side = 120, .max_out = 80, .max_pixels = 9000});
    ASSERT_NO_FATAL_FAILURE(Compare(row_case, i % 5)) << "case " << i;
  }
}

TEST_F(EmulatedRowsTest, UsualRowsHaveTheCpusBytes) {
  std::mt19937 random(12);
  RowCase row_case = Whole(500, 375, 224, base::Interpolation::kBilinear);
  row_case.row.left = 33;
  row_case.row.top = 17;
  row_case.row.x.in = 401;
  row_case.row.y.in = 333;
  row_case.row.flip = true;
  Compare(row_case, 0);
}

TEST_F(EmulatedRowsTest, OnePixelBoxesAndHugeReductionsHaveTheCpusBytes) {
  for (int filter = 0; filter < base::kInterpolations; ++filter) {
    const auto interpolation = static_cast<base::Interpolation>(filter);
    Compare(Whole(1, 1, 40, interpolation), 1);
    Compare(Whole(1, 90, 33, interpolation), 0);
    Compare(Whole(9, 3000, 5, interpolation), 0);  // more inputs than shared memory holds
    Compare(Whole(3000, 9, 5, interpolation), 3);
    Compare(Whole(260, 260, 1, interpolation), 0);
  }
}

TEST_F(EmulatedRowsTest, SeveralRowsOfOneLaunchDoNotTouchEachOther) {
  std::mt19937 random(13);
  std::vector<uint8_t> wanted;
  std::vector<RowCase> cases;
  for (uint32_t i = 0; i < kMaxEmulatedRows; ++i) {
    cases.push_back(
        testing::MakeRowCase(random, {.max_side = 60, .max_out = 50, .max_pixels = 3000}));
    const std::vector<uint8_t> row = testing::ExpectedRow(cases.back());
    wanted.insert(wanted.end(), row.begin(), row.end());
  }
  std::vector<uint8_t> into(wanted.size(), kSentinel);
  size_t at = 0;
  for (const RowCase& row_case : cases) {
    ASSERT_TRUE(tables_.AddImage(row_case.row, Place(row_case), &into[at]));
    at += size_t{3} * row_case.row.x.count * row_case.row.y.count;
  }

  Run();

  EXPECT_EQ(into, wanted);
}

}  // namespace
}  // namespace penstock::gpu_decode
