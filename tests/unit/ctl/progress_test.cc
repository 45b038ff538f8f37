#include "client/ctl/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::ctl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

const base::TimePoint kStart{};

TEST(ProgressTest, OutsideATerminalALineComesEveryFiveSeconds) {
  Progress progress(Progress::Style::kLines, 0, kStart);

  EXPECT_EQ(progress.Update(1000, kStart + seconds(1)), "1,000 files, 1,000 files/s, 1 s\n");
  EXPECT_EQ(progress.Update(2000, kStart + seconds(2)), "");
  EXPECT_EQ(progress.Update(6000, kStart + seconds(6)), "6,000 files, 1,000 files/s, 6 s\n");
  EXPECT_EQ(progress.End(), "");
}

TEST(ProgressTest, OnATerminalTheBarIsRedrawnInPlaceTenTimesASecond) {
  Progress progress(Progress::Style::kBar, 200, kStart);

  const std::string half = progress.Update(100, kStart + seconds(1));

  EXPECT_EQ(half, "\r\x1b[K[===============               ]  50 % 100 files, 100 files/s, 1 s");
  EXPECT_EQ(progress.Update(101, kStart + milliseconds(1050)), "");
  EXPECT_NE(progress.Update(102, kStart + milliseconds(1100)), "");
  EXPECT_EQ(progress.End(), "\r\x1b[K");
}

TEST(ProgressTest, MoreFilesThanExpectedFillTheBarAndNoMore) {
  Progress progress(Progress::Style::kBar, 10, kStart);

  EXPECT_THAT(progress.Update(1000, kStart + seconds(1)),
              HasSubstr("[==============================] 100 %"));
}

TEST(ProgressTest, WithoutAnEndInSightTheBarOnlyMoves) {
  Progress progress(Progress::Style::kBar, 0, kStart);

  const std::string first = progress.Update(1, kStart);
  const std::string later = progress.Update(1, kStart + seconds(1));

  EXPECT_THAT(first, HasSubstr("[=====                         ]"));
  EXPECT_THAT(later, HasSubstr("[          =====               ]"));
  EXPECT_THAT(later, Not(HasSubstr("%")));
  for (int i = 11; i < 100; ++i) {  // back and forth, and always within its frame
    EXPECT_THAT(progress.Update(1, kStart + milliseconds(100 * i)), HasSubstr("====="));
  }
}

}  // namespace
}  // namespace penstock::ctl
