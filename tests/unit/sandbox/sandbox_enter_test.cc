#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/sandbox/sandbox.h"
#include "tests/unit/sandbox/in_child.h"

namespace penstock::sandbox {
namespace {

class EnterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kIsInstrumented) GTEST_SKIP() << "a sanitizer's runtime cannot run in a sandbox";
  }
};

// Uses what C++ itself needs: allocations of all sizes, exceptions, and sorting.
bool UseTheLibrary() {
  std::vector<std::string> large;
  for (size_t size = 1; size < (64u << 20); size *= 3) large.emplace_back(size, 'x');
  large.clear();
  try {
    throw std::string("thrown");
  } catch (const std::string&) {
  }
  std::vector<int> numbers(4096);
  std::qsort(numbers.data(), numbers.size(), sizeof(int),
             [](const void* a, const void* b) { return *(const int*)a - *(const int*)b; });
  return true;
}

TEST_F(EnterTest, WhatEveryProcessDoesStillWorks) {
  EXPECT_EQ(InChild([] {
              if (!Enter({}).ok()) return 100;
              return UseTheLibrary() ? 0 : 1;
            }),
            0);
}

// malloc then tries other heaps, and finds none.
TEST_F(EnterTest, RunningOutOfMemoryIsNoForbiddenCall) {
  EXPECT_EQ(InChild([] {
              const rlimit little{.rlim_cur = 32u << 20, .rlim_max = 32u << 20};
              ::setrlimit(RLIMIT_DATA, &little);
              if (!Enter({}).ok()) return 100;
              size_t refused = 0;
              for (size_t size = 1000; size < (256u << 20); size += size / 2) {
                if (std::malloc(size) == nullptr) ++refused;
                if (std::calloc(1, size) == nullptr) ++refused;
                if (std::aligned_alloc(64, size / 64 * 64) == nullptr) ++refused;
              }
              return refused > 0 ? 0 : 1;
            }),
            0);
}

TEST_F(EnterTest, AProcessCanBeStoppedAndGoesOn) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    if (!Enter({.calls = {{SYS_poll}}}).ok()) ::_exit(100);
    pollfd entry{.fd = ends[0], .events = POLLIN, .revents = 0};
    ::_exit(::poll(&entry, 1, -1) == 1 ? 0 : 1);
  }
  for (int i = 0; i < 3; ++i) {
    ::kill(child, SIGSTOP);
    int status;
    ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status)) << "it was ended by " << WTERMSIG(status);
    ::kill(child, SIGCONT);
    ASSERT_EQ(::waitpid(child, &status, WCONTINUED), child);
    while (true) {  // until it is blocked again
      std::ifstream file("/proc/" + std::to_string(child) + "/stat");
      std::string text((std::istreambuf_iterator<char>(file)), {});
      if (text[text.rfind(')') + 2] == 'S') break;
    }
  }
  ::close(ends[1]);  // which ends the wait
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(EnterTest, TheRestOfItIsInForceToo) {
  EXPECT_EQ(InChild([] {
              const auto entered = Enter({.calls = {{SYS_prctl}, {SYS_prlimit64}}});
              rlimit processes{.rlim_cur = 1, .rlim_max = 1}, core = processes;
              ::getrlimit(RLIMIT_NPROC, &processes);
              ::getrlimit(RLIMIT_CORE, &core);
              const bool in_force =
                  entered.ok() && entered->filters_calls && ::prctl(PR_GET_DUMPABLE) == 0 &&
                  ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && ::prctl(PR_GET_SECCOMP) == 2 &&
                  processes.rlim_max == 0 && core.rlim_max == 0;
              return in_force ? 0 : 1;
            }),
            0);
}

TEST_F(EnterTest, AProbeIsToldInsteadOfKilled) {
  EXPECT_EQ(InChild([] {
              if (!Enter({.hooks = {.fail_with = EXFULL}}).ok()) return 100;
              const bool refused = ::syscall(SYS_getuid) == -1 && errno == EXFULL;
              return refused ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace penstock::sandbox
