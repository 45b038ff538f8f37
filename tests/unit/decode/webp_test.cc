// WebP: every window is part of the whole image, and incomplete files are refused.
#include <gtest/gtest.h>
#include <webp/decode.h>
#include <webp/encode.h>

#include <random>

#include "server/decode/raster/webp_reader.h"

namespace penstock::decode {
namespace {

using base::Fault;
using File = std::vector<std::byte>;

constexpr int kWidth = 61, kHeight = 45;

enum class Coding { kLossy, kLossyAlpha, kLossless };

File Make(Coding coding) {
  std::mt19937 random(9);
  std::vector<uint8_t> pixels(4 * kWidth * kHeight);
  for (size_t i = 0; i < pixels.size(); ++i) {
    const bool opaque = i % 4 == 3 && coding == Coding::kLossy;
    pixels[i] = opaque ? 255 : static_cast<uint8_t>(i / 40 + random() % 60);
  }
  uint8_t* data = nullptr;
  const size_t bytes =
      coding == Coding::kLossless
          ? WebPEncodeLosslessRGBA(pixels.data(), kWidth, kHeight, 4 * kWidth, &data)
          : WebPEncodeRGBA(pixels.data(), kWidth, kHeight, 4 * kWidth, 70, &data);
  const auto* first = reinterpret_cast<const std::byte*>(data);
  File file(first, first + bytes);
  WebPFree(data);
  return file;
}

std::vector<uint8_t> Whole(const File& file) {
  int width = 0, height = 0;
  uint8_t* pixels =
      WebPDecodeRGBA(reinterpret_cast<const uint8_t*>(file.data()), file.size(), &width, &height);
  EXPECT_EQ(width, kWidth);
  EXPECT_EQ(height, kHeight);
  std::vector<uint8_t> whole(pixels, pixels + 4 * kWidth * kHeight);
  WebPFree(pixels);
  return whole;
}

class WebpTest : public ::testing::TestWithParam<Coding> {
 protected:
  Fault Read(const File& file) {
    if (Fault fault = reader_.ReadHeader(file); fault != Fault::kNone) return fault;
    if (Fault fault = reader_.Begin({0, 0, 2, 2}); fault != Fault::kNone) return fault;
    return reader_.End();
  }

  const File file_ = Make(GetParam());
  WebpReader reader_;
};

TEST_P(WebpTest, AFileCutAnywhereIsRefused) {
  for (size_t cut = 12; cut < file_.size(); ++cut) {
    ASSERT_EQ(Read({file_.begin(), file_.begin() + cut}), Fault::kTruncated) << "cut at " << cut;
  }
}

TEST_P(WebpTest, AContainerThatSaysItIsLongerThanTheFileIsTruncated) {
  File file = file_;
  file[6] = std::byte{1};  // 64 KiB more
  EXPECT_EQ(Read(file), Fault::kTruncated);
}

TEST_P(WebpTest, FlippedBitsGiveAFaultOrPixelsAndLeaveNoTrace) {
  std::mt19937 random(4);
  for (int round = 0; round < 400; ++round) {
    File file = file_;
    for (uint32_t flips = 1 + random() % 4; flips > 0; --flips) {
      file[12 + random() % (file.size() - 12)] ^= std::byte{1} << random() % 8;
    }
    if (reader_.ReadHeader(file) != Fault::kNone) continue;
    if (uint64_t{reader_.width()} * reader_.height() <= 100'000) reader_.Begin({0, 0, 1, 1});
  }
  EXPECT_EQ(Read(file_), Fault::kNone);
}

TEST_P(WebpTest, EveryWindowIsAPartOfTheWhole) {
  const std::vector<uint8_t> whole = Whole(file_);
  for (const Box& window : {Box{0, 0, kWidth, kHeight}, Box{kWidth - 1, kHeight - 1, 1, 1},
                            Box{7, 3, 30, 40}, Box{0, 44, kWidth, 1}}) {
    ASSERT_EQ(reader_.ReadHeader(file_), Fault::kNone);
    ASSERT_EQ(reader_.Begin(window), Fault::kNone);
    std::vector<uint8_t> row(reader_.row_bytes());
    uint8_t* const into = row.data();
    for (uint32_t y = 0; y < window.height; ++y) {
      ASSERT_EQ(reader_.ReadRows({&into, 1}), Fault::kNone);
      for (uint32_t x = 0; x < window.width; ++x) {
        const size_t at = 4 * (size_t{window.y + y} * kWidth + window.x + x);
        const uint8_t* pixel = &row[reader_.window_offset() + 4 * x];
        ASSERT_TRUE(std::equal(pixel, pixel + 3, &whole[at])) << x << ", " << y;
      }
    }
    EXPECT_EQ(reader_.End(), Fault::kNone);
  }
}

INSTANTIATE_TEST_SUITE_P(Codings, WebpTest,
                         ::testing::Values(Coding::kLossy, Coding::kLossyAlpha, Coding::kLossless));

// Puts a picture into an extended file with a canvas of this size.
File Extended(const File& plain, uint32_t canvas_width, uint32_t canvas_height) {
  File file(plain.begin(), plain.begin() + 12);
  for (const char c : {'V', 'P', '8', 'X', '\x0a', '\0', '\0', '\0', '\0', '\0', '\0', '\0'}) {
    file.push_back(static_cast<std::byte>(c));
  }
  for (const uint32_t side : {canvas_width - 1, canvas_height - 1}) {
    for (int shift = 0; shift < 24; shift += 8)
      file.push_back(static_cast<std::byte>(side >> shift));
  }
  file.insert(file.end(), plain.begin() + 12, plain.end());
  const uint32_t bytes = static_cast<uint32_t>(file.size() - 8);
  for (int i = 0; i < 4; ++i) file[4 + i] = static_cast<std::byte>(bytes >> 8 * i);
  return file;
}

TEST(WebpCanvasTest, APictureThatIsNotItsCanvassSizeIsCorrupt) {
  const File plain = Make(Coding::kLossy);
  WebpReader reader;
  EXPECT_EQ(reader.ReadHeader(Extended(plain, kWidth, kHeight)), Fault::kNone);
  EXPECT_EQ(reader.ReadHeader(Extended(plain, 16000, 16000)), Fault::kCorrupt);
  EXPECT_EQ(reader.ReadHeader(Extended(plain, 1, 1)), Fault::kCorrupt);
}

}  // namespace
}  // namespace penstock::decode
