#include "tests/bench/harness/forked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/bench/harness/syscall_counter.h"

namespace penstock::bench {
namespace {

using ::testing::HasSubstr;

absl::Status WaitFor(ForkedChild& child) {
  for (;;) {
    const absl::Status status = child.Check();
    if (!status.ok() || child.Ended()) return status;
    std::this_thread::yield();
  }
}

// Makes `made` system calls in a child and returns how many the child counted.
uint64_t Counted(int made) {
  const auto count = Shared<std::atomic<uint64_t>>::Make().value();
  ForkedChild child = ForkedChild::Start([&] {
                        if (!CountSystemCalls().ok()) return 1;
                        for (int i = 0; i < made; ++i) (void)::getppid();
                        *count = CountedSystemCalls();
                        return 0;
                      }).value();
  EXPECT_TRUE(WaitFor(child).ok());
  return *count;
}

TEST(ForkedChildTest, OneThatFailsSaysHow) {
  ForkedChild failing = ForkedChild::Start([] { return 3; }).value();
  ForkedChild killed = ForkedChild::Start([] { return ::raise(SIGKILL); }).value();

  EXPECT_THAT(std::string(WaitFor(failing).message()), HasSubstr("ended with 3"));
  EXPECT_THAT(std::string(WaitFor(killed).message()), HasSubstr("killed by signal 9"));
}

TEST(ForkedChildTest, IsKilledAndReapedByItsOwnersEnd) {
  {
    const ForkedChild child = ForkedChild::Start([] {
                                for (;;) ::pause();
                                return 0;
                              }).value();
  }

  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(ForkedChildTest, SharesWhatIsShared) {
  const auto number = Shared<int>::Make().value();
  ForkedChild child = ForkedChild::Start([&] {
                        *number = 42;
                        return 0;
                      }).value();

  ASSERT_TRUE(WaitFor(child).ok());
  EXPECT_EQ(*number, 42);
}

TEST(SyscallCounterTest, CountsEachSystemCallAndNothingElse) {
  EXPECT_EQ(Counted(0), 0u);
  EXPECT_EQ(Counted(1), 1u);
  EXPECT_EQ(Counted(1000), 1000u);
}

}  // namespace
}  // namespace penstock::bench
