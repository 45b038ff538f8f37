#include "common/base/back_off.h"

#include <gtest/gtest.h>

namespace penstock::base {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(BackOffTest, PausesDoubleUpToTheLongest) {
  BackOff back_off({.first = milliseconds(100), .longest = milliseconds(500)});

  for (const int ms : {100, 200, 400, 500, 500}) EXPECT_EQ(back_off.Next(), milliseconds(ms));
}

TEST(BackOffTest, ASuccessBeginsAnew) {
  BackOff back_off({.first = milliseconds(100), .longest = seconds(10)});
  for (int i = 0; i < 20; ++i) back_off.Next();

  back_off.Reset();

  EXPECT_EQ(back_off.Next(), milliseconds(100));
}

TEST(BackOffTest, TheFirstIsNeverLongerThanTheLongest) {
  BackOff back_off({.first = seconds(2), .longest = seconds(1)});

  EXPECT_EQ(back_off.Next(), seconds(1));
  back_off.Reset();
  EXPECT_EQ(back_off.Next(), seconds(1));
}

TEST(BackOffTest, AfterAPauseThatIsShorterThanTheFirstComesTheFirst) {
  constexpr BackOff::Options kOptions = {.first = milliseconds(100), .longest = milliseconds(500)};

  EXPECT_EQ(BackOff::After({}, kOptions), milliseconds(100));
  EXPECT_EQ(BackOff::After(milliseconds(10), kOptions), milliseconds(100));
  EXPECT_EQ(BackOff::After(milliseconds(100), kOptions), milliseconds(200));
  EXPECT_EQ(BackOff::After(std::chrono::seconds(30), kOptions), milliseconds(500));
}

TEST(BackOffTest, TheLongestDurationDoesNotOverflow) {
  BackOff back_off({.first = seconds(1), .longest = Duration::max()});

  Duration last{};
  for (int i = 0; i < 100; ++i) last = back_off.Next();

  EXPECT_EQ(last, Duration::max());
}

}  // namespace
}  // namespace penstock::base
