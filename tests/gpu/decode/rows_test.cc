// The kernel that makes rows against the CPU's decoder, byte for byte, over random boxes, sizes and
// filters.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "client/gpu_decode/kernel_tables.h"
#include "common/cuda/registration.h"
#include "tests/gpu/gpu.h"
#include "tests/support/gpu_decode/row_cases.h"

namespace penstock::gpu_decode {
namespace {

using gpu::Must;
using testing::RowCase;

constexpr size_t kTableBytes = 16 << 20;
constexpr size_t kArenaBytes = 96 << 20;
constexpr uint32_t kRowsPerLaunch = 64;
constexpr std::byte kSentinel{0xA5};

class RowsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    staging_ = Must(cuda::PinnedMemory::Make(kTableBytes));
    tables_ =
        std::make_unique<KernelTables>(std::span(staging_.data(), kTableBytes), kRowsPerLaunch);
    on_device_ = Must(cuda::DeviceMemory::Make(kTableBytes));
    images_ = Must(cuda::DeviceMemory::Make(kArenaBytes));
    rows_ = Must(cuda::DeviceMemory::Make(kArenaBytes));
    stream_ = Must(cuda::Stream::Make());
  }

  // Puts an image into the arena, with rows of 3 · width bytes, and up to 15 more.
  DecodedImage Place(const RowCase& row_case) {
    const uint64_t bytes = uint64_t{3} * row_case.row.width;
    const uint64_t pitch = (bytes + 15) / 16 * 16;
    std::vector<std::byte> padded(pitch * row_case.row.height);
    for (uint32_t y = 0; y < row_case.row.height; ++y) {
      memcpy(&padded[y * pitch], &row_case.pixels[y * bytes], bytes);
    }
    std::byte* const at = images_.data() + images_used_;
    images_used_ += (padded.size() + kImageSlackBytes + 255) / 256 * 256;
    EXPECT_LE(images_used_, kArenaBytes);
    EXPECT_OK(cuda::CopyToDevice(at, padded.data(), padded.size(), stream_.get()));
    EXPECT_OK(cuda::Synchronize(stream_.get()));
    return {reinterpret_cast<const uint8_t*>(at), pitch};
  }

  // Where the next row goes: behind the last one, with a gap of bytes that must stay.
  uint8_t* NextRow(size_t bytes, size_t gap) {
    uint8_t* const at = reinterpret_cast<uint8_t*>(rows_.data()) + rows_used_ + gap;
    rows_used_ += bytes + gap;
    return at;
  }

  void Launch() {
    EXPECT_OK(
        cuda::CopyToDevice(on_device_.data(), staging_.data(), tables_->bytes(), stream_.get()));
    EXPECT_EQ(LaunchRows({.rows = reinterpret_cast<const KernelRow*>(on_device_.data()),
                          .tables = reinterpret_cast<const uint32_t*>(on_device_.data() +
                                                                      tables_->tables_offset()),
                          .row_count = tables_->rows(),
                          .max_tiles = tables_->max_tiles(),
                          .any_plain = tables_->any_plain(),
                          .any_other = tables_->any_other(),
                          .stream = stream_.get()}),
              0);
    EXPECT_OK(cuda::Synchronize(stream_.get()));
  }

  // Makes the cases' rows in one launch and compares them, and the gaps between them.
  void Compare(const std::vector<RowCase>& cases) {
    tables_->Clear();
    images_used_ = rows_used_ = 0;
    std::vector<std::byte> wanted;
    for (size_t i = 0; i < cases.size(); ++i) {
      const std::vector<uint8_t> row = testing::ExpectedRow(cases[i]);
      const size_t gap = i % 3 == 0 ? 0 : i % 7;
      wanted.insert(wanted.end(), gap, kSentinel);
      for (const uint8_t byte : row) wanted.push_back(std::byte{byte});
      ASSERT_TRUE(tables_->AddImage(cases[i].row, Place(cases[i]), NextRow(row.size(), gap)));
    }
    ASSERT_OK(gpu::Fill(rows_.data(), std::vector<std::byte>(rows_used_ + 64, kSentinel)));
    Launch();
    wanted.insert(wanted.end(), 64, kSentinel);
    const std::vector<std::byte> made = Must(gpu::ReadBack(rows_.data(), wanted.size()));
    ASSERT_EQ(memcmp(made.data(), wanted.data(), wanted.size()), 0)
        << "first difference at byte "
        << std::mismatch(made.begin(), made.end(), wanted.begin()).first - made.begin();
  }

  void CompareRandom(int launches, uint32_t seed, const testing::RowCaseLimits& limits) {
    std::mt19937 random(seed);
    for (int i = 0; i < launches; ++i) {
      std::vector<RowCase> cases;
      for (uint32_t k = 0; k < kRowsPerLaunch / 2; ++k) {
        cases.push_back(testing::MakeRowCase(random, limits));
      }
      ASSERT_NO_FATAL_FAILURE(Compare(cases)) << "launch " << i;
    }
  }

  cuda::PinnedMemory staging_;
  std::unique_ptr<KernelTables> tables_;
  cuda::DeviceMemory on_device_, images_, rows_;
  cuda::Stream stream_;
  size_t images_used_ = 0, rows_used_ = 0;
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

// Small enough for compute-sanitizer.
TEST_F(RowsTest, SmallBoxesHaveTheCpusBytes) {
  CompareRandom(6, 1, {.max_side = 60, .max_out = 70, .max_pixels = 3600});
}

TEST_F(RowsTest, FewRowsFromManyHaveTheCpusBytes) {
  for (int filter = 0; filter < base::kInterpolations; ++filter) {
    const auto interpolation = static_cast<base::Interpolation>(filter);
    Compare({Whole(9, 3000, 5, interpolation), Whole(3000, 9, 5, interpolation),
             Whole(700, 700, 1, interpolation), Whole(1, 1, 40, interpolation)});
  }
}

TEST_F(RowsTest, RandomBoxesHaveTheCpusBytes) {
  CompareRandom(100, 2, {.max_side = 500, .max_out = 256, .max_pixels = 250'000});
}

TEST_F(RowsTest, HugeImagesHaveTheCpusBytes) {
  for (int filter = 0; filter < base::kInterpolations; ++filter) {
    const auto interpolation = static_cast<base::Interpolation>(filter);
    Compare({Whole(2400, 1800, 224, interpolation), Whole(60000, 20, 224, interpolation),
             Whole(20, 60000, 224, interpolation), Whole(30000, 70, 3, interpolation)});
  }
}

TEST_F(RowsTest, LargeRowsHaveTheCpusBytes) {
  CompareRandom(3, 3, {.max_side = 300, .max_out = 900, .max_pixels = 90'000});
}

}  // namespace
}  // namespace penstock::gpu_decode
