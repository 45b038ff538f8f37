#include "common/telemetry/timestamp.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace penstock::telemetry {
namespace {

// As glibc writes it.
std::string Expected(time_t seconds) {
  tm parts = {};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text = {};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S.041Z", &parts);
  return text.data();
}

TEST(TimestampTest, EveryDayUntil2200IsWrittenAsTheLibraryWritesIt) {
  constexpr time_t kDay = 86'400;
  for (time_t day = 0; day < 84'000; ++day) {
    const time_t seconds = day * kDay + day * 7 % kDay;
    ASSERT_EQ(Timestamp({.tv_sec = seconds, .tv_nsec = 41'999'999}).text(), Expected(seconds));
  }
}

}  // namespace
}  // namespace penstock::telemetry
