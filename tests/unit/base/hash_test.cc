// Tests that a hash does not depend on the processor's instructions.
#include "common/base/hash.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace penstock::base {
namespace {

TEST(HashTest, IsXxh3WhateverComputesIt) {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(70'000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (size_t count = 0; count < bytes.size(); count += 1 + random() % 97) {
    const std::span<const std::byte> some = std::span(bytes).last(count);
    const uint64_t wanted = XXH3_64bits(some.data(), count);
    ASSERT_EQ(Hash(some), wanted) << count;
    ASSERT_EQ(HashLarge(some), wanted) << count;
  }
}

// Files on disk carry such hashes.
TEST(HashTest, KeepsItsValues) {
  const std::vector<std::byte> zeros(100'000);
  EXPECT_EQ(Hash(absl::string_view("penstock")), 0xFB5A0B813E4C7327u);
  EXPECT_EQ(Hash(zeros), 0x315C72A64B7DF4D2u);
}

}  // namespace
}  // namespace penstock::base
