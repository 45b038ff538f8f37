#include "common/posix/limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <thread>

namespace penstock::posix {
namespace {

int Niceness() { return ::getpriority(PRIO_PROCESS, 0); }

TEST(LimitsTest, AThreadThatGivesWayDoesSoAloneWithThoseThatItStarts) {
  const int ours = Niceness();
  int its = 0, of_its_thread = 0;

  std::thread([&] {
    EXPECT_TRUE(GiveWay().ok());
    its = Niceness();
    std::thread([&] { of_its_thread = Niceness(); }).join();
  }).join();

  EXPECT_EQ(its, 19);
  EXPECT_EQ(of_its_thread, its);
  EXPECT_EQ(Niceness(), ours);
}

TEST(LimitsTest, AThreadMayGiveWayALittleFirst) {
  int little = 0, all = 0;

  std::thread([&] {
    EXPECT_TRUE(GiveWay(Priority::kLow).ok());
    little = Niceness();
    EXPECT_TRUE(GiveWay(Priority::kLowest).ok());
    all = Niceness();
  }).join();

  EXPECT_EQ(little, 10);
  EXPECT_EQ(all, 19);
}

TEST(LimitsTest, AllFilesMayBeOpenedThatTheHardLimitAllows) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit fewer = {.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &fewer), 0);
  EXPECT_EQ(MaxOpenFiles(), 64u);

  EXPECT_EQ(AllowAllOpenFiles(), before.rlim_max);

  EXPECT_EQ(MaxOpenFiles(), before.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace penstock::posix
