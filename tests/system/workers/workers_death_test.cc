// Tests workers that die, hang, or lose their daemon.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "common/posix/process.h"
#include "common/sandbox/sandbox.h"
#include "server/workers/worker_process.h"
#include "tests/support/files/temp_folder.h"
#include "tests/system/workers/rig.h"

namespace penstock::workers {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr uint64_t kLarge = 0, kSmall = 1;

// Simulates a crash as the kernel reports it. Not SIGSEGV, which AddressSanitizer turns into an
// exit.
constexpr int kCrash = SIGABRT;

// A photograph large enough to catch a worker while it decodes it, and a small one.
MemoryDataset& Dataset() {
  static auto* dataset = new MemoryDataset({MakeJpeg(5000, 4000, 1), MakeJpeg(200, 150, 2)});
  return *dataset;
}

// Needs the whole image, whatever random numbers are drawn.
decode::Spec Whole() {
  return {.geometry = decode::Geometry::kResizeCenterCrop, .height = 224, .width = 224};
}

SupervisorOptions Options() {
  return {.count = 1, .back_off = {.first = milliseconds(10), .longest = milliseconds(100)}};
}

TEST(WorkerDeathTest, AKillFromOutsideLosesTheSampleWithoutAStrike) {
  Rig rig(Dataset(), Options(), 3, Whole());
  ASSERT_TRUE(rig.SubmitInHand(0, kLarge));
  rig.Submit(1, kSmall);
  const pid_t pid = rig.Worker().pid;

  ::kill(pid, SIGKILL);
  ASSERT_TRUE(rig.RunUntilOutcomes(2));

  EXPECT_EQ(rig.OutcomeOf(0).kind, OutcomeKind::kLost);
  EXPECT_EQ(rig.OutcomeOf(1).kind, OutcomeKind::kLost);
  EXPECT_NE(::kill(pid, 0), 0);  // reaped before it was reported
}

TEST(WorkerDeathTest, ACrashIsAStrikeAgainstTheSampleInHandAlone) {
  Rig rig(Dataset(), Options(), 3, Whole());
  ASSERT_TRUE(rig.SubmitInHand(0, kLarge));
  rig.Submit(1, kSmall);

  ::kill(rig.Worker().pid, kCrash);
  ASSERT_TRUE(rig.RunUntilOutcomes(2));

  EXPECT_EQ(rig.OutcomeOf(0).kind, OutcomeKind::kStrike);
  EXPECT_EQ(rig.OutcomeOf(0).fault, base::Fault::kWorkerCrashed);
  EXPECT_EQ(rig.OutcomeOf(1).kind, OutcomeKind::kLost);
  EXPECT_THAT(rig.Worker().last_death, HasSubstr("signal 6"));
  EXPECT_THAT(rig.Worker().last_death, HasSubstr("with sample 0 (memory:0) in hand"));
}

TEST(WorkerDeathTest, AWorkerThatHangsOnASampleIsKilledAndThatIsAStrike) {
  SupervisorOptions options = Options();
  options.sample_timeout = milliseconds(300);
  Rig rig(Dataset(), options, 1, Whole());
  ASSERT_TRUE(rig.SubmitInHand(0, kLarge));
  const pid_t pid = rig.Worker().pid;

  ::kill(pid, SIGSTOP);
  ASSERT_TRUE(rig.RunUntilOutcomes(1));

  EXPECT_EQ(rig.OutcomeOf(0).kind, OutcomeKind::kStrike);
  EXPECT_EQ(rig.OutcomeOf(0).fault, base::Fault::kTimeout);
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(WorkerDeathTest, AStoppedWorkerThatStartsNothingIsReplacedWithoutAStrike) {
  SupervisorOptions options = Options();
  options.sample_timeout = milliseconds(200);
  Rig rig(Dataset(), options, 1, Whole());
  ASSERT_TRUE(rig.RunUntil([&] { return rig.Worker().state == WorkerState::kRunning; }));
  const pid_t pid = rig.Worker().pid;
  ::kill(pid, SIGSTOP);

  rig.Submit(0, kSmall);
  ASSERT_TRUE(rig.RunUntilOutcomes(1));

  EXPECT_EQ(rig.OutcomeOf(0).kind, OutcomeKind::kLost);
  EXPECT_TRUE(rig.RunUntil([&] { return rig.Worker().pid != 0 && rig.Worker().pid != pid; }));
}

TEST(WorkerDeathTest, AFreshWorkerGoesOnWithTheRightBytes) {
  Rig rig(Dataset(), Options(), 3, Whole());
  ASSERT_TRUE(rig.SubmitInHand(0, kLarge));
  ::kill(rig.Worker().pid, kCrash);
  ASSERT_TRUE(rig.RunUntilOutcomes(1));
  ASSERT_TRUE(rig.RunUntil([&] { return rig.Headroom() > 0; }));

  rig.Submit(1, kLarge);
  rig.Submit(2, kSmall);
  ASSERT_TRUE(rig.RunUntilOutcomes(3));

  EXPECT_EQ(rig.OutcomeOf(1).kind, OutcomeKind::kDone);
  EXPECT_TRUE(std::ranges::equal(rig.Row(1), rig.Expected(rig.Item(1, kLarge))));
  EXPECT_TRUE(std::ranges::equal(rig.Row(2), rig.Expected(rig.Item(2, kSmall))));
  EXPECT_EQ(rig.Worker().restarts, 1u);
}

TEST(WorkerDeathTest, KillsInTheMiddleOfABatchLeaveNoRowWrongOrMissing) {
  constexpr uint64_t kRows = 400;
  std::vector<std::vector<std::byte>> files;
  for (int i = 0; i < 8; ++i) files.push_back(MakeJpeg(300, 250, i));
  MemoryDataset dataset(std::move(files));
  SupervisorOptions options = Options();
  options.count = 2;
  Rig rig(dataset, options, kRows);
  size_t next_kill = 50;
  rig.before_each_step = [&] {
    const pid_t pid = rig.Worker(next_kill / 50 % 2).pid;
    if (rig.outcomes().size() < next_kill || pid == 0) return;
    ::kill(pid, SIGKILL);
    next_kill += 50;
  };

  ASSERT_TRUE(rig.DecodeAll(kRows));

  for (const Outcome& each : rig.outcomes()) {
    EXPECT_TRUE(each.kind == OutcomeKind::kDone || each.kind == OutcomeKind::kLost);
  }
  for (uint64_t row = 0; row < kRows; ++row) {
    ASSERT_TRUE(std::ranges::equal(rig.Row(row), rig.Expected(rig.Item(row, row % 8))));
  }
  EXPECT_GE(rig.Worker(0).restarts, 2u);
  EXPECT_GE(rig.Worker(1).restarts, 2u);
}

TEST(WorkerDeathTest, WorkersThatKeepDyingSpendTheirBudgetAndThatIsSaid) {
  SupervisorOptions options = Options();
  options.budget = {.restarts = 3, .window = seconds(60)};
  Rig rig(Dataset(), options, 1, Whole());

  ASSERT_TRUE(rig.RunUntil([&] {
    if (const pid_t pid = rig.Worker().pid; pid != 0) ::kill(pid, kCrash);
    return !rig.supervisor().status().ok();
  }));

  EXPECT_EQ(rig.supervisor().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(rig.supervisor().status().message()), HasSubstr("signal 6"));
  EXPECT_EQ(rig.Worker().state, WorkerState::kStopped);
  EXPECT_EQ(rig.Worker().restarts, 3u);
  EXPECT_EQ(rig.Headroom(), 0u);
}

// Makes a worker program that runs `line` in a shell.
std::string ProgramThat(const testing::TempFolder& folder, const std::string& line) {
  folder.Write("worker", absl::StrCat("#!/bin/sh\n", line, "\n"));
  std::filesystem::permissions(folder.At("worker"), std::filesystem::perms::owner_all);
  return folder.At("worker");
}

TEST(WorkerDeathTest, AWorkerThatIsNeverReadyIsKilledAndAnotherOneTried) {
  const testing::TempFolder folder;
  SupervisorOptions options = Options();
  options.program = ProgramThat(folder, "exec sleep 600");
  options.start_timeout = milliseconds(100);
  options.sample_timeout = milliseconds(10);  // applies only to ready workers
  Rig rig(Dataset(), options, 1, Whole());
  const pid_t first = rig.Worker().pid;
  EXPECT_EQ(rig.Worker().state, WorkerState::kStarting);

  rig.Submit(0, kSmall);
  ASSERT_TRUE(rig.RunUntilOutcomes(1));
  ASSERT_TRUE(rig.RunUntil([&] { return rig.Worker().restarts > 0; }));

  EXPECT_EQ(rig.OutcomeOf(0).kind, OutcomeKind::kLost);
  EXPECT_EQ(rig.Worker().last_death, "killed because it was not ready in time");
  EXPECT_NE(::kill(first, 0), 0);
}

TEST(WorkerDeathTest, WhatItWroteBeforeItDiedIsKeptWithoutControlCharacters) {
  if (sandbox::kIsInstrumented) GTEST_SKIP() << "sanitizers report on standard error";
  const testing::TempFolder folder;
  SupervisorOptions options = Options();
  options.program = ProgramThat(
      folder, "printf 'no cat\\nlevel=info\\033[1m\\n' >&2; yes >&2 & sleep 0.2; kill $!; exit 1");
  Rig rig(Dataset(), options, 1, Whole());

  std::vector<WorkerDeath> deaths;
  ASSERT_TRUE(rig.RunUntil([&] {
    deaths = rig.supervisor().TakeDeaths();
    return !deaths.empty();
  }));

  EXPECT_THAT(deaths[0].words, StartsWith("no cat|level=info?[1m|"));
  EXPECT_LE(deaths[0].words.size(), 1024u);
}

TEST(WorkerDeathTest, WorkersThatAreNeverReadySpendTheBudgetHoweverLongThePauses) {
  const testing::TempFolder folder;
  SupervisorOptions options = Options();
  options.program = ProgramThat(folder, "exit 127");
  options.budget = {.restarts = 3, .window = milliseconds(1)};
  Rig rig(Dataset(), options, 1, Whole());

  ASSERT_TRUE(rig.RunUntil([&] { return !rig.supervisor().status().ok(); }));

  // A worker that ends before it received its setup counts as a failed start, not as a restart.
  EXPECT_LE(rig.Worker().restarts, 3u);
  EXPECT_EQ(rig.Worker().state, WorkerState::kStopped);
  EXPECT_THAT(std::string(rig.supervisor().status().message()), HasSubstr("ready"));
}

TEST(WorkerDeathTest, AWorkerThatWasReadyForgivesTheStartsThatFailedBefore) {
  const testing::TempFolder folder;
  SupervisorOptions options = Options();
  options.program = ProgramThat(folder, absl::StrCat("test -e ", folder.At("open"), " && exec ",
                                                     DefaultProgram(), "; exit 1"));
  options.back_off.longest = milliseconds(10);
  options.budget = {.restarts = 30, .window = milliseconds(1)};
  Rig rig(Dataset(), options, 1, Whole());
  ASSERT_TRUE(rig.RunUntil([&] { return rig.Worker().restarts > 20; }));
  folder.Write("open", "");
  ASSERT_TRUE(rig.RunUntil([&] { return rig.Worker().state == WorkerState::kRunning; }));
  std::filesystem::remove(folder.At("open"));
  const uint64_t before = rig.Worker().restarts;

  ::kill(rig.Worker().pid, SIGKILL);
  ASSERT_TRUE(rig.RunUntil([&] { return rig.Worker().restarts > before + 20; }));

  EXPECT_TRUE(rig.supervisor().status().ok());
}

TEST(WorkerDeathTest, AWorkerThatDiedIsRestartedOnlyAfterThePause) {
  SupervisorOptions options = Options();
  options.back_off.first = milliseconds(400);
  options.back_off.longest = seconds(1);
  Rig rig(Dataset(), options, 1, Whole());
  const base::TimePoint killed = base::Now();

  ::kill(rig.Worker().pid, SIGKILL);
  ASSERT_TRUE(rig.RunUntil([&] { return rig.Worker().state == WorkerState::kRestarting; }));
  ASSERT_TRUE(rig.RunUntil([&] { return rig.Worker().state == WorkerState::kRunning; }));

  EXPECT_GE(base::Now() - killed, milliseconds(400));
}

TEST(WorkerDeathTest, WorkersDieWithTheirDaemon) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const posix::Fd reading(ends[0]);
  posix::Fd writing(ends[1]);
  const pid_t daemon = ::fork();
  if (daemon == 0) {
    Rig rig(Dataset(), Options(), 1, Whole());
    rig.SubmitInHand(0, kLarge);
    const pid_t pid = rig.Worker().pid;
    ::kill(pid, SIGSTOP);  // so that it cannot end by itself
    if (::write(writing.get(), &pid, sizeof(pid)) != sizeof(pid)) ::_exit(1);
    ::pause();
  }
  writing.Close();
  pid_t worker = 0;
  ASSERT_EQ(::read(reading.get(), &worker, sizeof(worker)), ssize_t{sizeof(worker)});
  const auto pidfd = posix::OpenPidfd(worker);
  ASSERT_TRUE(pidfd.ok()) << pidfd.status();

  ::kill(daemon, SIGKILL);

  pollfd entry{.fd = pidfd->get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&entry, 1, 10'000), 1);
  ::waitpid(daemon, nullptr, 0);
}

TEST(WorkerDeathTest, TheEndDoesNotWaitForAWorkerThatHangs) {
  Rig rig(Dataset(), Options(), 1, Whole());
  ASSERT_TRUE(rig.SubmitInHand(0, kLarge));
  const pid_t pid = rig.Worker().pid;
  ::kill(pid, SIGSTOP);
  const base::TimePoint before = base::Now();

  rig.Destroy();

  EXPECT_LT(base::Now() - before, seconds(10));
  EXPECT_NE(::kill(pid, 0), 0);
}

}  // namespace
}  // namespace penstock::workers
