// CRC-32C against the vectors of RFC 3720, appendix B.4, and against a bit-by-bit one.
#include "common/base/crc32c.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/files/record_maker.h"

namespace penstock::base {
namespace {

using penstock::testing::SlowCrc32c;

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(Crc32cTest, IsThatOfThePublishedVectors) {
  std::string up, down;
  for (int i = 0; i < 32; ++i) up += static_cast<char>(i), down += static_cast<char>(31 - i);
  const std::vector<std::pair<std::string, uint32_t>> vectors = {
      {std::string(32, '\0'), 0x8A9136AA},
      {std::string(32, '\xFF'), 0x62A8AB43},
      {up, 0x46DD794E},
      {down, 0x113FDB5C},
      {"123456789", 0xE3069283},
      {"", 0}};
  for (const auto& [text, sum] : vectors) {
    EXPECT_EQ(Crc32c(Bytes(text)), sum);
    EXPECT_EQ(PortableCrc32c(Bytes(text)), sum);
  }
}

TEST(Crc32cTest, TheInstructionAndTheTableAgreeAtEveryLengthAndPlace) {
  std::string text(200, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i + 7);
  for (size_t begin = 0; begin < 9; ++begin)
    for (size_t bytes = 0; bytes <= 150; ++bytes) {
      const std::string part = text.substr(begin, bytes);
      ASSERT_EQ(Crc32c(Bytes(text).subspan(begin, bytes)), SlowCrc32c(part));
      ASSERT_EQ(PortableCrc32c(Bytes(text).subspan(begin, bytes)), SlowCrc32c(part));
    }
}

TEST(Crc32cOfThirdsTest, IsTheSumOfSumsAtEveryLength) {
  std::string text(300, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i + 7);
  for (size_t bytes = 0; bytes <= text.size(); ++bytes) {
    const size_t third = bytes / 24 * 8;
    std::string sums;
    for (const std::string& part :
         {text.substr(0, third), text.substr(third, third), text.substr(2 * third, third),
          text.substr(3 * third, bytes - 3 * third)}) {
      const uint32_t sum = SlowCrc32c(part);
      for (int shift = 0; shift < 32; shift += 8) sums += static_cast<char>(sum >> shift);
    }
    EXPECT_EQ(Crc32cOfThirds(Bytes(text.substr(0, bytes))), SlowCrc32c(sums)) << bytes;
  }
}

}  // namespace
}  // namespace penstock::base
