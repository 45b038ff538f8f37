// Our Huffman decoder compared with libjpeg's: it gives the same pixels, or gives up.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/files/jpeg_maker.h"
#include "tests/support/files/jpeg_window.h"

namespace penstock::decode {
namespace {

using base::Fault;
using testing::JpegOptions;
using testing::MakeJpeg;

using File = std::vector<std::byte>;

constexpr uint64_t kMaxScans = 100;

struct Pixels {
  Fault fault = Fault::kNone;
  bool gave_up = false;  // whether our decoder did
  std::vector<uint8_t> bytes;

  bool operator==(const Pixels& other) const {
    return fault == other.fault && bytes == other.bytes;
  }
};

// Uses one reader for all files, like a worker.
class Reader {
 public:
  explicit Reader(Entropy entropy) : reader_(kMaxScans, entropy) {}

  void UseCheckpoints(CheckpointRoom* room) { reader_.UseCheckpoints(room); }

  Pixels Read(const File& file, std::optional<Box> box = std::nullopt) {
    Pixels pixels;
    pixels.fault = ReadInto(pixels.bytes, file, box);
    pixels.gave_up = reader_.started_over();
    if (pixels.fault != Fault::kNone) pixels.bytes.clear();
    return pixels;
  }

 private:
  Fault ReadInto(std::vector<uint8_t>& pixels, const File& file, std::optional<Box> box) {
    if (Fault fault = reader_.ReadHeader(file); fault != Fault::kNone) return fault;
    const Box window = box.value_or(Box{0, 0, reader_.width(), reader_.height()});
    return testing::ReadWindow(reader_, window, pixels);
  }

  JpegReader reader_;
};

class EntropyTest : public ::testing::Test {
 protected:
  void ExpectEqual(const File& file, std::optional<Box> box = std::nullopt) {
    const Pixels expected = libjpegs_.Read(file, box);
    const Pixels actual = ours_.Read(file, box);
    ASSERT_EQ(actual.fault, expected.fault);
    ASSERT_TRUE(actual.bytes == expected.bytes);
    ExpectTheSameWithCheckpoints(file, box, expected);
    gave_up_ += actual.gave_up;
    sound_ += expected.fault == Fault::kNone;
  }

  // With what other windows left, and another file before them.
  void ExpectTheSameWithCheckpoints(const File& file, std::optional<Box> box,
                                    const Pixels& expected) {
    room_.changed = false;
    again_.UseCheckpoints(&room_);
    const Pixels again = again_.Read(file, box);
    ASSERT_TRUE(again == expected);
    taken_ += !room_.changed && room_.bytes > 0;
    left_ += room_.changed && room_.bytes > 0;
  }

  // In builds without our decoder, libjpeg decodes everything and no file is given up.
  void ExpectMoreGivenUpThan(int count) const {
#ifdef PENSTOCK_LIBJPEG_ALONE
    EXPECT_EQ(gave_up_, 0) << "at most " << count;
#else
    EXPECT_GT(gave_up_, count);
#endif
  }

  Box RandomBox(uint32_t width, uint32_t height) {
    Box box;
    box.x = random_() % width;
    box.y = random_() % height;
    box.width = 1 + random_() % (width - box.x);
    box.height = 1 + random_() % (height - box.y);
    return box;
  }

  std::mt19937 random_{11};
  Reader ours_{Entropy::kOwn};
  Reader libjpegs_{Entropy::kLibjpeg};
  Reader again_{Entropy::kOwn};
  std::vector<std::byte> bytes_ = std::vector<std::byte>(300);
  CheckpointRoom room_ = {.room = bytes_};
  int left_ = 0, taken_ = 0;  // how often checkpoints were left, and how often there were enough
  int gave_up_ = 0;
  int sound_ = 0;
};

class SoundTest : public EntropyTest, public ::testing::WithParamInterface<JpegOptions> {};

TEST_P(SoundTest, FilesOfEverySizeAndQualityAreDecodedAsByLibjpegAndNeverGivenUp) {
  for (const int quality : {3, 50, 90, 98, 100}) {
    for (const bool optimized : {false, true}) {
      for (const auto& [width, height] :
           {std::pair{1u, 1u}, {17u, 9u}, {150u, 70u}, {333u, 200u}}) {
        JpegOptions options = GetParam();
        options.quality = quality;
        options.optimized = optimized;
        options.noise = quality == 100 ? 255 : 24;  // gives blocks without zeros
        const File file = MakeJpeg(width, height, options, random_());

        ExpectEqual(file);
        for (int round = 0; round < 6; ++round) ExpectEqual(file, RandomBox(width, height));
      }
    }
  }
  EXPECT_EQ(gave_up_, 0);
#ifndef PENSTOCK_LIBJPEG_ALONE
  if (GetParam().components == 4 || GetParam().progressive) return;
  EXPECT_GT(left_, 10);
  EXPECT_GT(taken_, 50);
#endif
}

INSTANTIATE_TEST_SUITE_P(Layouts, SoundTest,
                         ::testing::Values(JpegOptions{}, JpegOptions{.horizontal = 2},
                                           JpegOptions{.horizontal = 2, .vertical = 2},
                                           JpegOptions{.vertical = 2, .restart_rows = 1},
                                           JpegOptions{.horizontal = 4, .vertical = 2},
                                           JpegOptions{.components = 1, .restart_rows = 2},
                                           JpegOptions{
                                               .components = 1, .horizontal = 2, .vertical = 2},
                                           JpegOptions{.components = 4, .horizontal = 2},
                                           JpegOptions{.components = 4, .ycck = true},
                                           JpegOptions{.progressive = true}));

// The position of the first marker of this kind at or after `from`; the file's size if there is
// none.
size_t Find(const File& file, uint8_t kind, size_t from = 0) {
  const std::byte marker[] = {std::byte{0xFF}, std::byte{kind}};
  const auto begin = file.begin() + static_cast<std::ptrdiff_t>(from);
  const auto at = std::search(begin, file.end(), std::begin(marker), std::end(marker));
  return static_cast<size_t>(at - file.begin());
}

constexpr uint8_t kCodes = 0xC4;  // DHT
constexpr uint8_t kScan = 0xDA;   // SOS

class DamagedTest : public EntropyTest, public ::testing::WithParamInterface<JpegOptions> {
 protected:
  // Compares the whole image and two random windows.
  void ExpectEqualAnyhow(const File& file) {
    ExpectEqual(file);
    for (int round = 0; round < 2; ++round) ExpectEqual(file, RandomBox(200, 120));
  }

  const File file_ = MakeJpeg(200, 120, GetParam());
  const size_t scan_ = Find(file_, kScan) + 14;  // after the scan header of three components
};

TEST_P(DamagedTest, FlippedBitsGiveThePixelsThatLibjpegGives) {
  for (int round = 0; round < 300; ++round) {
    File file = file_;
    for (uint32_t flips = 1 + random_() % 3; flips > 0; --flips) {
      file[scan_ + random_() % (file.size() - scan_)] ^= std::byte{1} << random_() % 8;
    }
    ExpectEqualAnyhow(file);
  }
  EXPECT_GT(sound_, 300);
  ExpectMoreGivenUpThan(50);
}

TEST_P(DamagedTest, MissingBytesGiveThePixelsThatLibjpegGives) {
  for (int round = 0; round < 100; ++round) {
    File file = file_;
    const size_t at = scan_ + random_() % (file.size() - scan_ - 2);
    const size_t end = at + std::min<size_t>(1 + random_() % 50, file.size() - 2 - at);
    file.erase(file.begin() + at, file.begin() + end);
    ExpectEqualAnyhow(file);
  }
  ExpectMoreGivenUpThan(20);
}

TEST_P(DamagedTest, StrayMarkersGiveThePixelsThatLibjpegGives) {
  const uint8_t markers[] = {0xD0, 0xD3, 0xD7, 0xD9, 0xFF, 0x01, 0xDA, 0x00};
  for (int round = 0; round < 200; ++round) {
    File file = file_;
    const size_t at = scan_ + random_() % (file.size() - scan_ - 2);
    const std::byte marker[] = {std::byte{0xFF}, std::byte{markers[round % std::size(markers)]}};
    file.insert(file.begin() + at, std::begin(marker), std::end(marker));
    ExpectEqualAnyhow(file);
  }
  ExpectMoreGivenUpThan(20);
}

TEST_P(DamagedTest, MangledCodesGiveThePixelsThatLibjpegGives) {
  const size_t codes = Find(file_, kCodes);
  for (int round = 0; round < 300; ++round) {
    File file = file_;
    file[codes + random_() % (Find(file_, kScan) - codes)] = static_cast<std::byte>(random_());
    ExpectEqualAnyhow(file);
  }
  ExpectMoreGivenUpThan(20);
}

INSTANTIATE_TEST_SUITE_P(Layouts, DamagedTest,
                         ::testing::Values(JpegOptions{},
                                           JpegOptions{.horizontal = 2, .vertical = 2},
                                           JpegOptions{.quality = 100, .optimized = true},
                                           JpegOptions{.vertical = 2, .restart_rows = 1}));

// libjpeg accepts a code without words, and reads any bits as zeros.
TEST_F(EntropyTest, CodesWithoutWordsAreGivenUp) {
  File file = MakeJpeg(40, 30);
  for (size_t at = Find(file, kCodes); at < file.size(); at = Find(file, kCodes, at + 2)) {
    std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(at) + 5, 16, std::byte{0});  // counts
    const auto length =
        std::to_integer<size_t>(file[at + 2]) << 8 | std::to_integer<size_t>(file[at + 3]);
    file[at + 2] = std::byte{0};
    file[at + 3] = std::byte{19};
    file.erase(file.begin() + static_cast<std::ptrdiff_t>(at) + 21,
               file.begin() + static_cast<std::ptrdiff_t>(at + 2 + length));
  }

  ExpectEqual(file);

  EXPECT_EQ(sound_, 1);
  ExpectMoreGivenUpThan(0);
}

}  // namespace
}  // namespace penstock::decode
