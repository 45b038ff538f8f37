#include "common/posix/futex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <new>

#include "common/posix/memory.h"

namespace penstock::posix {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(FutexTest, AWaitForAWordThatNeverChangesEndsWithItsTimeout) {
  std::atomic<uint32_t> word{7};
  const base::TimePoint before = base::Now();

  FutexWait(word, 7, milliseconds(20));

  EXPECT_GE(base::Now() - before, milliseconds(10));
  EXPECT_LT(base::Now() - before, seconds(10));
}

TEST(FutexTest, AWordThatHasChangedIsNotWaitedFor) {
  std::atomic<uint32_t> word{8};
  const base::TimePoint before = base::Now();

  FutexWait(word, 7, seconds(30));

  EXPECT_LT(base::Now() - before, seconds(10));
}

TEST(FutexTest, AWakeReachesAnotherProcess) {
  const auto memory = MakeMemory("futex", 4096);
  ASSERT_TRUE(memory.ok());
  const auto mapping = Mapping::Map(*memory, 4096, Access::kReadWrite);
  ASSERT_TRUE(mapping.ok());
  auto* words = new (mapping->data()) std::atomic<uint32_t>[2] {};
  const pid_t waiter = ::fork();
  if (waiter == 0) {
    // A separate mapping of the same memory, like another program's.
    const auto other = Mapping::Map(*memory, 4096, Access::kReadWrite);
    auto* theirs = reinterpret_cast<std::atomic<uint32_t>*>(other->data());
    const base::TimePoint before = base::Now();
    theirs[1].store(1);
    while (theirs[0].load() == 0 && base::Now() - before < seconds(20)) {
      FutexWait(theirs[0], 0, seconds(20));
    }
    ::_exit(base::Now() - before < seconds(10) ? 0 : 1);
  }
  while (words[1].load() == 0) ::usleep(1000);
  ::usleep(20'000);  // now it most likely sleeps; the test is valid either way

  words[0].store(1);
  FutexWake(words[0]);

  int status = -1;
  ASSERT_EQ(::waitpid(waiter, &status, 0), waiter);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace penstock::posix
