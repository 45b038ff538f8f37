#include "common/sandbox/call_filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "absl/strings/match.h"
#include "common/sandbox/sandbox.h"
#include "tests/unit/sandbox/in_child.h"

namespace penstock::sandbox {
namespace {

constexpr int kRefused = EXFULL;

CallFilter Made(const std::vector<AllowedCall>& more = {}) {
  std::vector<AllowedCall> calls = CallsOfEveryProcess();
  calls.insert(calls.end(), more.begin(), more.end());
  return CallFilter::Make(calls).value();
}

// Calls `run` in a child process with this filter.
template <typename Run>
int Filtered(const Run& run, const std::vector<AllowedCall>& more = {}) {
  return InChild([&]() -> int {
    const CallFilter filter = Made(more);  // made here because it contains the child's process id
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!filter.Install().ok()) return 100;
    return run();
  });
}

void* Private(size_t bytes) {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

class CallFilterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kIsInstrumented) GTEST_SKIP() << "a sanitizer's runtime cannot run in a sandbox";
  }
};

TEST_F(CallFilterTest, WhatIsNotOnTheListKills) {
  EXPECT_EQ(Filtered([] { return ::open("/", O_RDONLY); }), -SIGSYS);
  EXPECT_EQ(Filtered([] { return ::socket(AF_UNIX, SOCK_STREAM, 0); }), -SIGSYS);
  EXPECT_EQ(Filtered([] { return ::fork(); }), -SIGSYS);
  EXPECT_EQ(Filtered([] { return ::kill(::getppid(), 0); }), -SIGSYS);
  EXPECT_EQ(Filtered([] { return ::prctl(PR_SET_PDEATHSIG, 0); }), -SIGSYS);
  EXPECT_EQ(Filtered([] { return static_cast<int>(::syscall(100'000)); }), -SIGSYS);
}

TEST_F(CallFilterTest, MemoryIsNeverExecutable) {
  const auto map = [](int protection) {
    return ::mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
  };
  EXPECT_EQ(Filtered([&] { return map(PROT_READ | PROT_WRITE); }), 0);
  EXPECT_EQ(Filtered([&] { return map(PROT_READ | PROT_EXEC); }), -SIGSYS);
  EXPECT_EQ(
      Filtered([] { return ::mprotect(Private(4096), 4096, PROT_READ | PROT_WRITE | PROT_EXEC); }),
      -SIGSYS);
}

// What RLIMIT_DATA counts, and nothing else.
TEST_F(CallFilterTest, MemoryIsPrivateAndCountsForItsLimit) {
  const auto map = [](int protection, int flags) {
    return ::mmap(nullptr, 4096, protection, flags | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
  };
  constexpr int kBoth = PROT_READ | PROT_WRITE;
  EXPECT_EQ(Filtered([&] { return map(kBoth, MAP_PRIVATE | MAP_NORESERVE); }), 0);
  EXPECT_EQ(Filtered([&] { return map(PROT_NONE, MAP_PRIVATE | MAP_NORESERVE); }), 0);
  EXPECT_EQ(Filtered([] { return ::mprotect(Private(4096), 4096, kBoth); }), 0);
  EXPECT_EQ(Filtered([&] { return map(PROT_READ, MAP_PRIVATE); }), -SIGSYS);
  EXPECT_EQ(Filtered([&] { return map(kBoth, MAP_SHARED); }), -SIGSYS);
  EXPECT_EQ(Filtered([&] { return map(kBoth, MAP_SHARED_VALIDATE); }), -SIGSYS);
  EXPECT_EQ(Filtered([&] { return map(kBoth, MAP_PRIVATE | MAP_GROWSDOWN); }), -SIGSYS);
  EXPECT_EQ(Filtered([&] { return map(kBoth, MAP_PRIVATE | MAP_HUGETLB); }), -SIGSYS);
  EXPECT_EQ(Filtered([] { return ::mprotect(Private(4096), 4096, PROT_READ); }), -SIGSYS);
  EXPECT_EQ(Filtered([] {
              return ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, 0, 0) == MAP_FAILED ? 1 : 0;
            }),
            -SIGSYS);
}

TEST_F(CallFilterTest, MappingsCanBeEnlargedButTheStackCannotBeMoved) {
  EXPECT_EQ(Filtered([] {
              return ::mremap(Private(4096), 4096, 1 << 20, MREMAP_MAYMOVE) == MAP_FAILED ? 1 : 0;
            }),
            0);
  EXPECT_EQ(Filtered([] {
              void* const grown = ::realloc(::malloc(1 << 20), 64 << 20);
              return grown == nullptr ? 1 : 0;
            }),
            0);
  EXPECT_EQ(Filtered([] {
              alignas(4096) char stack[2 * 4096];
              void* const moved = ::mremap(stack, 4096, 1 << 20, MREMAP_MAYMOVE);
              return moved == MAP_FAILED ? 1 : 0;
            }),
            -SIGSYS);
}

TEST_F(CallFilterTest, OnlyThoseWhoMustMapTheMemoryOfDescriptors) {
  const auto map = [](int protection, int flags) {
    const int memory = ::memfd_create("segment", MFD_CLOEXEC);
    if (memory < 0 || ::ftruncate(memory, 4096) != 0) return 1;
    return ::mmap(nullptr, 4096, protection, flags, memory, 0) == MAP_FAILED ? 2 : 0;
  };
  const std::vector<AllowedCall> more = {
      {SYS_memfd_create}, {SYS_ftruncate}, MapSharedFile(PROT_READ)};
  EXPECT_EQ(Filtered([&] { return map(PROT_READ, MAP_SHARED); }, more), 0);
  EXPECT_EQ(Filtered([&] { return map(PROT_READ | PROT_WRITE, MAP_SHARED); }, more), -SIGSYS);
  EXPECT_EQ(Filtered([&] { return map(PROT_READ, MAP_PRIVATE); }, more), -SIGSYS);
  EXPECT_EQ(Filtered([&] { return map(PROT_EXEC, MAP_SHARED); }, more), -SIGSYS);
}

TEST_F(CallFilterTest, WritesReachTheNamedDescriptorsOnly) {
  EXPECT_EQ(Filtered([] { return static_cast<int>(::write(2, "", 0)); }), 0);
  EXPECT_EQ(Filtered([] { return static_cast<int>(::write(1, "", 0)); }), -SIGSYS);
  EXPECT_EQ(Filtered([] { return static_cast<int>(::write(1, "", 0)); }, {WithFirst(SYS_write, 1)}),
            0);
  // The kernel would truncate this to descriptor 2.
  constexpr long kAlmostTwo = 0x100000002;
  EXPECT_EQ(Filtered([] { return static_cast<int>(::syscall(SYS_write, kAlmostTwo, "", 0)); }),
            -SIGSYS);
}

TEST_F(CallFilterTest, AnAbortIsAnAbort) {
  EXPECT_EQ(Filtered([]() -> int { std::abort(); }), -SIGABRT);
}

TEST_F(CallFilterTest, OtherThreadsAndProcessesCannotBeSignalled) {
  const pid_t other = ::getpid();
  EXPECT_EQ(Filtered([&] { return static_cast<int>(::syscall(SYS_tgkill, other, other, 0)); }),
            -SIGSYS);
}

#ifdef __x86_64__
TEST_F(CallFilterTest, OtherAbisOfTheMachineAreNoWayRound) {
  constexpr long kX32 = 0x40000000;
  EXPECT_EQ(Filtered([] { return static_cast<int>(::syscall(kX32 + SYS_getpid)); }), -SIGSYS);
}
#endif

TEST_F(CallFilterTest, AProbesFilterDiffersInItsVerdictAlone) {
  const CallFilter kills = Made(), fails = kills.FailingWith(kRefused);

  ASSERT_EQ(kills.program().size(), fails.program().size());
  size_t verdicts = 0;
  for (size_t i = 0; i < kills.program().size(); ++i) {
    const sock_filter &one = kills.program()[i], &other = fails.program()[i];
    EXPECT_EQ(one.code, other.code);
    EXPECT_EQ(one.jt, other.jt);
    EXPECT_EQ(one.jf, other.jf);
    if (one.k == other.k) continue;
    ++verdicts;
    EXPECT_EQ(BPF_CLASS(one.code), BPF_RET);
    EXPECT_EQ(one.k, SECCOMP_RET_KILL_PROCESS);
    EXPECT_EQ(other.k, SECCOMP_RET_ERRNO | static_cast<unsigned>(kRefused));
  }
  EXPECT_GE(verdicts, 1u);
  for (const sock_filter& each : fails.program())
    EXPECT_FALSE(BPF_CLASS(each.code) == BPF_RET && each.k == SECCOMP_RET_KILL_PROCESS);
}

TEST_F(CallFilterTest, WithoutTheRightToInstallItSaysSo) {
  EXPECT_EQ(InChild([] {
              if (::geteuid() == 0 && ::setuid(65534) != 0) return 100;
              const absl::Status status = Made().Install();  // no_new_privs is not set
              const bool says_so = absl::IsFailedPrecondition(status) &&
                                   absl::StrContains(status.message(), "seccomp(2)");
              return says_so ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace penstock::sandbox
