// Small files that need a lot of memory. If a limit forbids them, they are refused by their
// headers; otherwise the allocation fails. In both cases the next file is decoded.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>
#include <webp/encode.h>

#include <fstream>
#include <string>

#include "server/decode/decoder.h"
#include "tests/support/files/jpeg_maker.h"
#include "tests/support/files/png_maker.h"

namespace penstock::decode {
namespace {

using base::Fault;
using File = std::vector<std::byte>;

Fault Decode(Decoder& decoder, const File& file, const Spec& spec = {}) {
  std::vector<std::byte> row(RowBytes(spec));
  return decoder.DecodeRow(file, spec, {}, row);
}

File Zeros(uint32_t width, uint32_t height) {
  const PngHeader header{width, height, 1, PngHeader::kGray};
  return testing::MakePng(header, std::vector<uint16_t>(size_t{width} * height));
}

// The file with another size in its header. The header's CRC is then wrong, but decoding doesn't
// get that far.
File Claiming(File png, uint32_t width, uint32_t height) {
  for (int i = 0; i < 4; ++i) {
    png[16 + i] = static_cast<std::byte>(width >> (24 - 8 * i));
    png[20 + i] = static_cast<std::byte>(height >> (24 - 8 * i));
  }
  return png;
}

// Lossless WebP: a signature, then width - 1 and height - 1 in fourteen bits each.
File ClaimingWebP(uint32_t width, uint32_t height) {
  const uint32_t sides = (width - 1) | (height - 1) << 14;
  File file;
  for (const char c : std::string("RIFF\x1c\0\0\0WEBPVP8L\x10\0\0\0\x2f", 21)) {
    file.push_back(static_cast<std::byte>(c));
  }
  for (int shift = 0; shift < 32; shift += 8)
    file.push_back(static_cast<std::byte>(sides >> shift));
  file.resize(36);
  return file;
}

TEST(BombTest, AnImageOfTwoAndAHalfBillionPixelsIsRefusedByItsHeader) {
  Decoder decoder{SampleLimits()};
  EXPECT_EQ(Decode(decoder, Claiming(Zeros(9, 9), 50'000, 50'000)), Fault::kTooManyPixels);
  EXPECT_EQ(Decode(decoder, Claiming(Zeros(9, 9), 0x7FFF'FFFF, 0x7FFF'FFFF)),
            Fault::kTooManyPixels);
  EXPECT_EQ(Decode(decoder, ClaimingWebP(16384, 16384)), Fault::kTooManyPixels);
}

File Of(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return File(first, first + text.size());
}

template <typename... Numbers>
std::string Little(size_t bytes, Numbers... numbers) {
  std::string text;
  for (const uint32_t number : {static_cast<uint32_t>(numbers)...})
    for (size_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>(number >> 8 * i));
  return text;
}

File ClaimingBmp(uint32_t width, uint32_t height, uint32_t compression = 0) {
  return Of("BM" +
            Little(4, 54, 0, 54, 40, width, height, 8 << 16 | 1, compression, 0, 0, 0, 0, 0) +
            std::string(1024, '\0'));
}

File ClaimingGif(uint32_t width, uint32_t height) {
  return Of("GIF89a" + Little(2, 9, 9) + std::string(3, '\0') + "," +
            Little(2, 0, 0, width, height) + std::string("\0\2\1\x44\0;", 6));
}

// A TIFF with one strip, or with tiles of the image's size.
File ClaimingTiff(uint32_t width, uint32_t height, uint32_t compression, bool tiles = false) {
  std::string tags;
  const auto tag = [&](uint32_t number, uint32_t value) {
    tags += Little(2, number, 4) + Little(4, 1, value);
  };
  tag(256, tiles ? 1 : width), tag(257, tiles ? 1 : height), tag(258, 8), tag(259, compression);
  tag(262, 1), tag(tiles ? 324 : 273, 8), tag(tiles ? 325 : 279, 100);
  if (tiles) tag(322, width), tag(323, height);
  const uint32_t count = tiles ? 9 : 7;
  return Of(std::string("II*\0", 4) + Little(4, 8) + Little(2, count) + tags + Little(4, 0) +
            std::string(100, 'x'));
}

TEST(BombTest, AnOlderImageOfBillionsOfPixelsIsRefusedByItsHeader) {
  Decoder decoder{SampleLimits()};
  EXPECT_EQ(Decode(decoder, ClaimingBmp(50'000, 50'000)), Fault::kTooManyPixels);
  EXPECT_EQ(Decode(decoder, ClaimingBmp(0x7FFF'FFFF, 0x7FFF'FFFF, 1)), Fault::kTooManyPixels);
  EXPECT_EQ(Decode(decoder, ClaimingGif(65'535, 65'535)), Fault::kTooManyPixels);
  EXPECT_EQ(Decode(decoder, Of("P6 4294967295 4294967295 255\nxyz")), Fault::kTooManyPixels);
  EXPECT_EQ(Decode(decoder, Of("P1 9999999999 1 0")), Fault::kTooManyPixels);
  for (const uint32_t compression : {1, 5, 8, 32773}) {
    EXPECT_EQ(Decode(decoder, ClaimingTiff(50'000, 50'000, compression)), Fault::kTooManyPixels);
    EXPECT_EQ(Decode(decoder, ClaimingTiff(0xFFFF'FFFF, 0xFFFF'FFFF, compression)),
              Fault::kTooManyPixels);
    EXPECT_EQ(Decode(decoder, ClaimingTiff(50'000, 50'000, compression, true)),
              Fault::kTooManyPixels);
  }
}

TEST(BombTest, AnOlderImageThatClaimsMoreThanItHoldsIsRefusedWithinTheLimit) {
  Decoder decoder{SampleLimits()};
  EXPECT_EQ(Decode(decoder, ClaimingBmp(9'000, 9'000)), Fault::kTruncated);
  EXPECT_EQ(Decode(decoder, ClaimingGif(9'000, 9'000)), Fault::kTruncated);
  EXPECT_EQ(Decode(decoder, Of("P6 9000 9000 255\nxyz")), Fault::kTruncated);
  EXPECT_EQ(Decode(decoder, Of("P2 9000 9000 255\n1 2 3")), Fault::kTruncated);
  for (const uint32_t compression : {1, 5, 8, 32773})
    EXPECT_NE(Decode(decoder, ClaimingTiff(9'000, 9'000, compression)), Fault::kNone);
  EXPECT_EQ(Decode(decoder, Zeros(9, 9)), Fault::kNone);
}

TEST(BombTest, AHeaderThatClaimsMoreThanItsDataHoldIsRefusedWithinTheLimit) {
  Decoder decoder{SampleLimits()};
  EXPECT_NE(Decode(decoder, Claiming(Zeros(9, 9), 9'000, 9'000)), Fault::kNone);
  EXPECT_NE(Decode(decoder, ClaimingWebP(9'000, 9'000)), Fault::kNone);
  EXPECT_EQ(Decode(decoder, Zeros(9, 9)), Fault::kNone);
}

TEST(BombTest, AThousandfoldDecompressionWithinTheLimitsIsAnImageAsAnyOther) {
  Decoder decoder{SampleLimits()};
  const File file = Zeros(8'000, 8'000);
  EXPECT_LT(file.size(), 30'000u);
  EXPECT_EQ(Decode(decoder, file), Fault::kNone);
}

#if !defined(PENSTOCK_ASAN) && !defined(PENSTOCK_TSAN)  // shadow memory counts too

File WebP(int width, int height) {
  const std::vector<uint8_t> pixels(size_t{4} * width * height, 77);
  uint8_t* data = nullptr;
  const size_t bytes = WebPEncodeLosslessRGBA(pixels.data(), width, height, 4 * width, &data);
  const auto* first = reinterpret_cast<const std::byte*>(data);
  File file(first, first + bytes);
  WebPFree(data);
  return file;
}

uint64_t PrivateBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kib = 0;
    if (word == "VmData:" && status >> kib) return kib << 10;
  }
  return 0;
}

// A TIFF with one LZMA-compressed strip, whose header asks for a dictionary of almost 4 GiB.
File HugeDictionaryTiff() {
  const std::string stream = std::string(
                                 "\xfd"
                                 "7zXZ\0\0\1\x69\x22\xde\x36",
                                 12) +
                             std::string("\2\0\x21\1\x28\0\0\0", 8);
  uint32_t sum = 0xFFFF'FFFF;  // CRC-32 of the block's header
  for (const char c : stream.substr(12)) {
    sum ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xEDB8'8320 : 0);
  }
  std::string data = stream + Little(4, ~sum) + std::string(100, 'x');
  std::string tags;
  const auto tag = [&](uint32_t number, uint32_t value) {
    tags += Little(2, number, 4) + Little(4, 1, value);
  };
  tag(256, 20), tag(257, 20), tag(258, 8), tag(259, 34925), tag(262, 1), tag(273, 8 + 2 + 84 + 4);
  tag(279, static_cast<uint32_t>(data.size()));
  return Of(std::string("II*\0", 4) + Little(4, 8) + Little(2, 7) + tags + Little(4, 0) + data);
}

// Decodes `file`, then a small file, with only `spare` more bytes of memory. Exits with both faults
// encoded in one number.
[[noreturn]] void DecodeWithLittleMemory(const File& file, const Spec& spec, uint64_t spare) {
  Decoder decoder{SampleLimits()};
  const File small = testing::MakeJpeg(20, 20);
  if (Decode(decoder, small) != Fault::kNone) ::_exit(98);
  ::malloc_trim(0);  // memory that was freed while making the files
  const rlim_t most = PrivateBytes() + spare;
  const rlimit limit{.rlim_cur = most, .rlim_max = most};
  if (::setrlimit(RLIMIT_DATA, &limit) != 0) ::_exit(99);
  const Fault fault = Decode(decoder, file, spec);
  const Fault next = Decode(decoder, small);
  ::_exit(static_cast<int>(fault) + 20 * static_cast<int>(next));
}

constexpr Spec kWhole = {.geometry = Geometry::kResizeCenterCrop};
constexpr int kTooMuch = static_cast<int>(Fault::kTooManyPixels);

class MemoryTest : public ::testing::Test {
 protected:
  void ExpectRefusal(const File& file, const Spec& spec = kWhole) {
    EXPECT_EXIT(DecodeWithLittleMemory(file, spec, 4 << 20), ::testing::ExitedWithCode(kTooMuch),
                "");
    EXPECT_EXIT(DecodeWithLittleMemory(file, spec, 200 << 20), ::testing::ExitedWithCode(0), "");
  }
};

TEST_F(MemoryTest, AProgressiveJpegThatDoesNotFitIsRefused) {
  ExpectRefusal(testing::MakeJpeg(1600, 1600, {.progressive = true}));
}

TEST_F(MemoryTest, APngThatDoesNotFitIsRefused) { ExpectRefusal(Zeros(3000, 3000)); }

TEST_F(MemoryTest, APngOfOneRowThatDoesNotFitIsRefused) {
  ExpectRefusal(
      testing::MakePng({9'000'000, 1, 8, PngHeader::kGray}, std::vector<uint16_t>(9'000'000)),
      {.scale_min = 1e-9, .scale_max = 1e-9});
}

TEST_F(MemoryTest, ABitmapThatDoesNotFitIsRefused) {
  ExpectRefusal(Of("P4 6000 6000\n" + std::string(4'500'000, 'x')));
}

TEST_F(MemoryTest, AWebPThatDoesNotFitIsRefused) { ExpectRefusal(WebP(2000, 2000)); }

TEST_F(MemoryTest, ATiffThatDoesNotFitIsRefused) {
  EXPECT_EXIT(DecodeWithLittleMemory(ClaimingTiff(6000, 6000, 8), kWhole, 4 << 20),
              ::testing::ExitedWithCode(kTooMuch), "");
}

TEST_F(MemoryTest, ATiffWhoseCodecAsksForMoreThanThereIsIsRefused) {
  EXPECT_EXIT(DecodeWithLittleMemory(HugeDictionaryTiff(), kWhole, 200 << 20),
              ::testing::ExitedWithCode(kTooMuch), "");
}

#endif

}  // namespace
}  // namespace penstock::decode
