// Makes each attempt of a hijacked worker or indexer in real processes and prints its result.
#include "common/sandbox/probe/attempts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <set>
#include <string>

#include "common/base/units.h"
#include "common/sandbox/landlock.h"
#include "common/sandbox/probe/sandbox_probe.h"
#include "common/sandbox/sandbox.h"
#include "server/indexer/indexer_process.h"
#include "server/indexer/program/confine_indexer.h"
#include "server/workers/program/confine.h"
#include "server/workers/worker_process.h"
#include "tests/support/programs/daemon_process.h"

namespace penstock::sandbox {
namespace {

constexpr uid_t kUser = 54321;  // so that the processes do not run as root
constexpr int kCouldNot = 255;  // the attempt was never made

void BecomeUser() {
  if (::geteuid() == 0 && (::setgid(kUser) != 0 || ::setuid(kUser) != 0)) ::_exit(kCouldNot);
}

// A process of the same user that stands in for the daemon, with memory at a known address.
class FakeDaemon {
 public:
  FakeDaemon() {
    pid_ = ::fork();
    if (pid_ != 0) return;
    BecomeUser();
    ::prctl(PR_SET_DUMPABLE, 1);  // unlike a real daemon, so that only the sandbox protects it
    for (;;) ::pause();
  }
  ~FakeDaemon() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  AttemptTarget target(const char* folder) {
    return {.daemon = pid_, .address = reinterpret_cast<uint64_t>(&memory_), .folder = folder};
  }

 private:
  uint64_t memory_ = kSecret;
  pid_t pid_;
};

// Forks, runs `prepare`, and makes the attempt. Returns an errno, 0, or a negative signal number.
int Made(size_t which, const AttemptTarget& target, const std::function<bool()>& prepare) {
  const pid_t child = ::fork();
  if (child == 0) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) ::_exit(kCouldNot);
    ::dup2(ends[0], workers::kSocketNumber);
    BecomeUser();
    if (!prepare()) ::_exit(kCouldNot);
    ::_exit(Attempt(which, target));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

bool AsAWorker() { return workers::Confine(base::kGiB, workers::SandboxMode::kOn).ok(); }
bool AsAnIndexer() { return indexer::ConfineIndexer().ok(); }
bool BehindTheFilter() {
  GiveUpPrivileges();
  const rlimit none{};
  ::setrlimit(RLIMIT_NPROC, &none);
  EnterLandlock();
  return true;
}
bool Unconfined() { return true; }

std::string Words(int outcome) {
  if (outcome == 0) return "succeeds";
  if (outcome < 0) return std::string("SIG") + ::sigabbrev_np(-outcome);
  return ::strerrorname_np(outcome);
}

TEST(AttemptsTest, NoneSucceedsInAWorkerOrIndexerAndMostDoWithoutTheSandbox) {
  if (kIsInstrumented) GTEST_SKIP() << "a sanitizer's runtime cannot run in a sandbox";
  testing::TemporaryDirectory folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  FakeDaemon daemon;
  const AttemptTarget target = daemon.target(folder.path().c_str());
  size_t succeed = 0;

  std::printf("%-46s %-10s %-10s %-18s %s\n", "attempt", "worker", "indexer", "without the filter",
              "unconfined");
  for (size_t i = 0; i < kAttempts.size(); ++i) {
    const int in_worker = Made(i, target, AsAWorker);
    const int in_indexer = Made(i, target, AsAnIndexer);
    const int behind = Made(i, target, BehindTheFilter);
    const int unconfined = Made(i, target, Unconfined);
    std::printf("%-46s %-10s %-10s %-18s %s\n", std::string(kAttempts[i]).c_str(),
                Words(in_worker).c_str(), Words(in_indexer).c_str(), Words(behind).c_str(),
                Words(unconfined).c_str());
    EXPECT_EQ(in_worker, -SIGSYS) << kAttempts[i];
    EXPECT_EQ(in_indexer, -SIGSYS) << kAttempts[i];
    succeed += unconfined == 0 ? 1 : 0;
  }
  // Attempts that always fail would prove nothing. Only io_uring, BPF, x32 and what the machine
  // forbids may fail outside the sandbox.
  EXPECT_GE(succeed, kAttempts.size() - 6);
}

// Without the filter, the rest of the sandbox still stops the worst attempts.
TEST(AttemptsTest, WhatTouchesFilesOrTheDaemonFailsWithoutTheFilterToo) {
  const bool has_landlock = Made(0, {}, BehindTheFilter) == EACCES;
  if (!has_landlock) GTEST_SKIP() << "this kernel has no Landlock";
  testing::TemporaryDirectory folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  FakeDaemon daemon;
  const std::set<absl::string_view> refused = {"open a file for reading",
                                               "make a file in the state directory",
                                               "open the daemon's /proc/PID/mem for writing",
                                               "open the daemon's /proc/PID/maps",
                                               "read the daemon's memory (process_vm_readv)",
                                               "write the daemon's memory (process_vm_writev)",
                                               "attach to the daemon (ptrace)",
                                               "fork"};

  for (size_t i = 0; i < kAttempts.size(); ++i) {
    if (!refused.contains(kAttempts[i])) continue;
    EXPECT_GT(Made(i, daemon.target(folder.path().c_str()), BehindTheFilter), 0) << kAttempts[i];
  }
}

// Attempts on files can always be made; a container may refuse the others by itself.
void ExpectRefusedByLandlock(const SandboxReport& report) {
  for (size_t i = 0; i < kLandlockAttempts.size(); ++i) {
    const SandboxReport::Tried& each = report.landlock_outcomes.at(i);
    std::printf("  with Landlock alone: %-40s %s\n", std::string(each.attempt).c_str(),
                each.error == kNotTried ? "not tried" : Words(each.error).c_str());
    if (report.landlock < kLandlockAttempts[i].since)
      EXPECT_EQ(each.error, kNotTried) << each.attempt;
    else
      EXPECT_THAT(each.error, ::testing::AnyOf(EACCES, EPERM, i < 6 ? EACCES : kNotTried))
          << each.attempt;
  }
}

void ExpectProof(const SandboxProbe::Options& options) {
  auto probe = SandboxProbe::Start(options);
  ASSERT_TRUE(probe.ok()) << probe.status();
  const auto report = (*probe)->Finish();

  ASSERT_TRUE(report.ok()) << report.status();
  if (kIsInstrumented) GTEST_SKIP() << report->ToString();
  EXPECT_EQ(report->killed_by, SIGSYS);
  EXPECT_EQ(report->outcomes.size(), kAttempts.size());
  for (const SandboxReport::Tried& each : report->outcomes)
    EXPECT_EQ(each.error, kProbeErrno) << each.attempt;
  std::printf("%s: %s (version %d); the filter kills by signal %d\n", options.whose.c_str(),
              report->ToString().c_str(), report->landlock, report->killed_by);
  ExpectRefusedByLandlock(*report);
}

TEST(AttemptsTest, TheProbeOfARealWorkerSaysSo) {
  ExpectProof({.program = workers::DefaultProgram(), .whose = "workers", .folder = "/tmp"});
}

TEST(AttemptsTest, TheProbeOfARealIndexerSaysSo) {
  ExpectProof({.program = indexer::DefaultProgram(), .whose = "indexers", .folder = "/tmp"});
}

}  // namespace
}  // namespace penstock::sandbox
