#include "common/sandbox/probe/sandbox_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <cstring>

namespace penstock::sandbox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The page of a probe that found no hole.
class JudgeTest : public ::testing::Test {
 protected:
  JudgeTest() {
    page_.magic = kProbeMagic;
    page_.filters = 1;
    page_.landlock = 6;
    page_.killed_by = SIGSYS;
    page_.finished = 1;
    for (auto& outcome : page_.outcomes) outcome = kProbeErrno;
    for (auto& outcome : page_.landlock_outcomes) outcome = EACCES;
  }
  std::string Why() { return std::string(Judge(page_, "workers", exit_).status().message()); }

  ProbePage page_ = {};
  posix::Exit exit_ = {};
};

TEST_F(JudgeTest, EveryAttemptStoppedByTheFilterIsAProof) {
  const auto report = Judge(page_, "workers", exit_);

  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->ToString(), "seccomp and landlock");
  EXPECT_EQ(report->outcomes.size(), kAttempts.size());
}

TEST_F(JudgeTest, WithoutLandlockItIsAProofThatSaysLess) {
  page_.landlock = 0;

  EXPECT_EQ(Judge(page_, "workers", exit_)->ToString(), "seccomp");
}

TEST_F(JudgeTest, AnAttemptThatLandlockDidNotRefuseIsNamed) {
  page_.landlock_outcomes[3] = 0;
  EXPECT_THAT(Why(), AllOf(HasSubstr("the workers' sandbox: with Landlock alone, the attempt to "
                                     "open a file for reading and writing succeeded"),
                           HasSubstr("workers.sandbox: off")));
  page_.landlock_outcomes[3] = ENOENT;
  EXPECT_THAT(Why(), HasSubstr("was not stopped by the sandbox"));
}

// Such as a TCP port without a network, or what its version of Landlock allows.
TEST_F(JudgeTest, WhatFailsWithoutLandlockTooIsNoHole) {
  page_.landlock_outcomes[8] = kNotTried;
  page_.landlock_outcomes.back() = EPERM;
  EXPECT_EQ(Judge(page_, "workers", exit_)->ToString(), "seccomp and landlock");

  for (auto& outcome : page_.landlock_outcomes) outcome = kNotTried;
  EXPECT_THAT(Why(), HasSubstr("nothing that Landlock forbids could be tried"));
  page_.landlock = 0;
  EXPECT_EQ(Judge(page_, "workers", exit_)->ToString(), "seccomp");
}

TEST_F(JudgeTest, OneAttemptThatSucceedsIsNamedWithTheRemedy) {
  page_.outcomes[3] = 0;

  EXPECT_EQ(Judge(page_, "workers", exit_).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Why(), AllOf(HasSubstr("the workers' sandbox: "),
                           HasSubstr("/proc/PID/mem for writing succeeded"),
                           HasSubstr("workers.sandbox: off")));
}

// A missing file or permission stopped the attempt, but would not stop an attacker elsewhere.
TEST_F(JudgeTest, AnAttemptThatFailedForAnotherReasonProvesNothing) {
  for (const int error : {ENOENT, EPERM, EACCES, ENOSYS}) {
    page_.outcomes[0] = error;
    EXPECT_THAT(Why(), HasSubstr("was not stopped by the sandbox"));
  }
}

TEST_F(JudgeTest, AnAttemptThatDidNotComeBackCountsAsSuccess) {
  page_.outcomes[16] = kUnderWay;
  page_.finished = 0;

  EXPECT_THAT(Why(), AllOf(HasSubstr("start a program"), HasSubstr("did not come back")));
}

// Such as systemd's SystemCallArchitectures=native, which the unit has.
TEST_F(JudgeTest, AFilterAroundTheDaemonMayKillForTheLastAttempt) {
  page_.outcomes.back() = kUnderWay;
  page_.finished = 0;

  exit_ = {.signalled = true, .code = SIGSYS};
  EXPECT_EQ(Why(), "");
  exit_ = {.signalled = true, .code = SIGSEGV};
  EXPECT_THAT(Why(), HasSubstr("did not come back"));
  exit_ = {.signalled = false, .code = SIGSYS};
  EXPECT_THAT(Why(), HasSubstr("did not come back"));
}

TEST_F(JudgeTest, AFilterThatDoesNotKillIsNone) {
  page_.killed_by = 0;
  EXPECT_THAT(Why(), HasSubstr("was not killed"));
  page_.killed_by = SIGSEGV;
  EXPECT_THAT(Why(), HasSubstr("was not killed"));
}

TEST_F(JudgeTest, WhyItCouldNotShutItselfInIsPassedOn) {
  std::strcpy(page_.failure, "installing a seccomp filter: Operation not permitted");

  EXPECT_THAT(Why(), HasSubstr("Operation not permitted; the daemon does not serve"));
}

TEST_F(JudgeTest, AProbeThatDidNothingProvesNothing) {
  for (auto& outcome : page_.outcomes) outcome = kNotTried;
  page_.filters = 0;
  page_.finished = 0;

  EXPECT_FALSE(Judge(page_, "workers", exit_).ok());
}

TEST_F(JudgeTest, ABuildWithASanitizerSaysThatThereIsNone) {
  page_.filters = 0;

  const auto report = Judge(page_, "workers", exit_, true);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->ToString(), "none (built with a sanitizer)");
  EXPECT_FALSE(report->filters_calls);
  EXPECT_FALSE(Judge(page_, "workers", exit_, false).ok());  // programs of two builds
}

}  // namespace
}  // namespace penstock::sandbox
