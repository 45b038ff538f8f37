// Small files that ask for much: refused by their headers where a limit says so, and by the memory
// that is not there where none does; the next file is decoded all the same.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>
#include <webp/encode.h>

#include <fstream>
#include <string>

#include "server/decode/decoder.h"
#include "tests/support/jpeg_maker.h"
#include "tests/support/png_maker.h"

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

// The file with another size in its header; its sum is wrong then, but nobody gets as far.
File Claiming(File png, uint32_t width, uint32_t height) {
  for (int i = 0; i < 4; ++i) {
    png[16 + i] = static_cast<std::byte>(width >> (24 - 8 * i));
    png[20 + i] = static_cast<std::byte>(height >> (24 - 8 * i));
  }
  return png;
}

// Lossless WebP: a signature, then fourteen bits each of width - 1 and height - 1.
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

File WebP(int width, int height) {
  const std::vector<uint8_t> pixels(size_t{4} * width * height, 77);
  uint8_t* data = nullptr;
  const size_t bytes = WebPEncodeLosslessRGBA(pixels.data(), width, height, 4 * width, &data);
  const auto* first = reinterpret_cast<const std::byte*>(data);
  File file(first, first + bytes);
  WebPFree(data);
  return file;
}

TEST(BombTest, AnImageOfTwoAndAHalfBillionPixelsIsRefusedByItsHeader) {
  Decoder decoder{Limits()};
  EXPECT_EQ(Decode(decoder, Claiming(Zeros(9, 9), 50'000, 50'000)), Fault::kTooManyPixels);
  EXPECT_EQ(Decode(decoder, Claiming(Zeros(9, 9), 0x7FFF'FFFF, 0x7FFF'FFFF)),
            Fault::kTooManyPixels);
  EXPECT_EQ(Decode(decoder, ClaimingWebP(16384, 16384)), Fault::kTooManyPixels);
}

TEST(BombTest, AHeaderThatClaimsMoreThanItsDataHoldIsRefusedWithinTheLimit) {
  Decoder decoder{Limits()};
  EXPECT_NE(Decode(decoder, Claiming(Zeros(9, 9), 9'000, 9'000)), Fault::kNone);
  EXPECT_NE(Decode(decoder, ClaimingWebP(9'000, 9'000)), Fault::kNone);
  EXPECT_EQ(Decode(decoder, Zeros(9, 9)), Fault::kNone);
}

TEST(BombTest, AThousandfoldDecompressionWithinTheLimitsIsAnImageAsAnyOther) {
  Decoder decoder{Limits()};
  const File file = Zeros(8'000, 8'000);
  EXPECT_LT(file.size(), 30'000u);
  EXPECT_EQ(Decode(decoder, file), Fault::kNone);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose shadows count, too

uint64_t PrivateBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kib = 0;
    if (word == "VmData:" && status >> kib) return kib << 10;
  }
  return 0;
}

// Ends this process with the faults of the file and of a small one behind it, as one number.
[[noreturn]] void DecodeWithLittleMemory(const File& file, const Spec& spec, uint64_t spare) {
  Decoder decoder{Limits()};
  const File small = testing::MakeJpeg(20, 20);
  if (Decode(decoder, small) != Fault::kNone) ::_exit(98);
  ::malloc_trim(0);  // what the test's own making of files left free
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

TEST_F(MemoryTest, AWebPThatDoesNotFitIsRefused) { ExpectRefusal(WebP(2000, 2000)); }

#endif

}  // namespace
}  // namespace penstock::decode
