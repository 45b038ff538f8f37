// Images that are decoded as a whole, to be kept. tests/system/image_kinds_test.py compares every
// kind of file.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "server/decode/decoder.h"
#include "tests/support/files/jpeg_maker.h"

namespace penstock::decode {
namespace {

using base::Fault;
using testing::MakeJpeg;

constexpr SampleLimits kRoomLimits = {.max_bytes = 1 << 20, .max_pixels = 1'000'000};
constexpr Spec kCrop = {.height = 20, .width = 30, .flip_probability = 0.5};

class ImageRoomTest : public ::testing::Test {
 protected:
  std::vector<std::byte> Row(std::span<const std::byte> file, uint64_t sample,
                             ImageRoom* room = nullptr) {
    std::vector<std::byte> row(RowBytes(kCrop));
    decoder_.UseImageRoom(room);
    fault_ = decoder_.DecodeRow(file, kCrop, {.seed = 7, .sample = sample}, row);
    decoder_.UseImageRoom(nullptr);
    return row;
  }

  Decoder decoder_{kRoomLimits};
  Fault fault_ = Fault::kNone;
};

TEST_F(ImageRoomTest, AnyCropOfTheKeptImageIsThatOfTheFile) {
  std::vector<std::byte> memory(200'000);
  for (uint64_t sample = 0; sample < 50; ++sample) {
    const uint32_t width = 50 + 3 * static_cast<uint32_t>(sample), height = 201 - width / 2;
    const std::vector<std::byte> file =
        MakeJpeg(width, height, {.horizontal = 2, .vertical = 1 + static_cast<int>(sample % 2)});
    const std::vector<std::byte> alone = Row(file, sample);
    ImageRoom room = {.room = memory};
    EXPECT_EQ(Row(file, sample, &room), alone);
    const std::string header =
        "P6\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n";
    ASSERT_EQ(room.bytes, header.size() + size_t{3} * width * height);
    const std::vector<std::byte> kept(memory.begin(), memory.begin() + room.bytes);
    EXPECT_EQ(Row(kept, sample), alone);
    for (uint64_t other = 100; other < 110; ++other) EXPECT_EQ(Row(kept, other), Row(file, other));
  }
}

TEST_F(ImageRoomTest, AnImageForWhichThereIsTooLittleRoomIsDecodedAsUsual) {
  const std::vector<std::byte> file = MakeJpeg(100, 80, {});
  std::vector<std::byte> memory(3 * 100 * 80);  // but for the header
  ImageRoom room = {.room = memory};
  EXPECT_EQ(Row(file, 1, &room), Row(file, 1));
  EXPECT_EQ(room.bytes, 0u);
}

TEST_F(ImageRoomTest, ADamagedFileHasItsFaultAndIsNotKept) {
  std::vector<std::byte> file = MakeJpeg(100, 80, {});
  file.resize(file.size() / 2);
  std::vector<std::byte> memory(100'000);
  ImageRoom room = {.room = memory};
  Row(file, 1);
  const Fault alone = fault_;
  Row(file, 1, &room);
  EXPECT_EQ(fault_, alone);
  EXPECT_NE(fault_, Fault::kNone);
  EXPECT_EQ(room.bytes, 0u);
}

// A kept image must be one that may be read again.
TEST_F(ImageRoomTest, AnImageLargerThanAFileMayBeIsNotKept) {
  const std::vector<std::byte> file = MakeJpeg(700, 600, {});
  std::vector<std::byte> memory(2 << 20);
  ImageRoom room = {.room = memory};
  Row(file, 1, &room);
  EXPECT_EQ(fault_, Fault::kNone);
  EXPECT_EQ(room.bytes, 0u);
}

TEST_F(ImageRoomTest, TheNextFileDoesNotUseTheRoom) {
  std::vector<std::byte> memory(100'000, std::byte{0x11});
  ImageRoom room = {.room = memory};
  Row(MakeJpeg(60, 40, {}), 1, &room);
  const std::vector<std::byte> kept = memory;
  Row(MakeJpeg(70, 50, {}), 2);
  EXPECT_EQ(memory, kept);
}

}  // namespace
}  // namespace penstock::decode
