#include "common/base/philox.h"

#include <gmock/gmock.h>

namespace penstock::base {
namespace {

using ::testing::ElementsAre;

// Known answers that Random123 publishes for philox4x32-10.
TEST(PhiloxTest, ZerosGiveTheKnownAnswer) {
  EXPECT_THAT(Philox4x32({0, 0, 0, 0}, 0),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
}

TEST(PhiloxTest, OnesGiveTheKnownAnswer) {
  EXPECT_THAT(Philox4x32({~0u, ~0u, ~0u, ~0u}, ~uint64_t{0}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
}

TEST(PhiloxTest, DigitsOfPiGiveTheKnownAnswer) {
  EXPECT_THAT(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0'a4093822),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

}  // namespace
}  // namespace penstock::base
