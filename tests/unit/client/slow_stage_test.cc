// The text that says what a session waits for.
#include "client/src/session/slow_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Four workers that decode two batches.
Progress Decoding() {
  Progress progress;
  progress.phase = SessionPhase::kDecoding;
  progress.decoding = 2;
  progress.workers = progress.workers_running = 4;
  progress.workers_busy = 0.97;
  progress.samples_per_second = 1130;
  progress.sessions = 3;
  return progress;
}

SessionStats Waited(double waited, double busy) {
  SessionStats stats;
  stats.batches = 10;
  stats.waited_seconds = waited;
  stats.busy_seconds = busy;
  return stats;
}

// ---- Stages. ----

TEST(SlowStageTest, ADaemonThatDoesNotAnswerIsNamed) {
  EXPECT_THAT(SlowStage(absl::DeadlineExceededError("nothing within 1000 ms")),
              AllOf(StartsWith("the daemon does not answer"), HasSubstr("within 1000 ms")));
}

TEST(SlowStageTest, AStalledSourceComesFirstWithItsReason) {
  Progress progress = Decoding();
  progress.phase = SessionPhase::kStalled;
  progress.stalled_ms = 12'400;
  progress.stalled_reason = "/data/7.jpg: Input/output error";

  EXPECT_EQ(SlowStage(progress),
            "reading: the source has stalled for 12 s: /data/7.jpg: Input/output error");
}

TEST(SlowStageTest, BusyWorkersAreNamedWithTheirNumberAndWhatTheyDecode) {
  EXPECT_EQ(SlowStage(Decoding()),
            "decoding: the 4 workers are busy (97 %); 1130 samples/s are decoded for 3 sessions; "
            "more cores and workers would help");
}

TEST(SlowStageTest, WithoutAWorkerThatRunsTheOperatorIsAsked) {
  Progress progress = Decoding();
  progress.workers_running = 0;

  EXPECT_THAT(SlowStage(progress),
              AllOf(HasSubstr("none of the 4 workers is running"), HasSubstr("penstockctl")));
}

TEST(SlowStageTest, ASampleThatTakesLongIsNamed) {
  Progress progress = Decoding();
  progress.in_hand_ms = 3'000;
  progress.in_hand = "/data/huge.jpg";

  EXPECT_EQ(SlowStage(progress), "decoding: /data/huge.jpg has been with a worker for 3 s");
}

TEST(SlowStageTest, WorkersThatAreNotBusyWaitForFiles) {
  Progress progress = Decoding();
  progress.workers = 1;
  progress.workers_busy = 0.2;
  progress.sessions = 1;

  EXPECT_THAT(SlowStage(progress), AllOf(StartsWith("reading: the worker is busy for only 20 %"),
                                         HasSubstr("for 1 session")));
  progress.workers_stalled = 1;
  EXPECT_THAT(SlowStage(progress), HasSubstr("1 cannot read another dataset's"));
}

// ---- Python datasets. ----

Progress Making() {
  Progress progress = Decoding();
  progress.python = {.has_host = true,
                     .cores = 8,
                     .has_batch_in_hand = true,
                     .in_sample = true,
                     .sample = 17,
                     .worker = 2,
                     .worker_pid = 4242};
  return progress;
}

TEST(SlowStageTest, BusyPythonWorkersAreNamedWithAdviceThatFitsTheCores) {
  Progress progress = Making();
  EXPECT_EQ(SlowStage(progress),
            "making batches in Python: the 4 workers are busy (97 %); 1130 samples/s are made for "
            "3 sessions; more workers (num_workers) would help");

  progress.python->cores = 4;
  EXPECT_THAT(SlowStage(progress), HasSubstr("more workers than the 4 cores would not help"));
}

TEST(SlowStageTest, ASampleThatTakesLongInPythonIsNamedWithItsWorker) {
  Progress progress = Making();
  progress.in_hand_ms = 12'400;
  EXPECT_EQ(
      SlowStage(progress),
      "making batches in Python: sample 17 has been with Python worker 2 (pid 4242) for 12 s");

  progress.python->in_sample = false;
  EXPECT_THAT(SlowStage(progress),
              HasSubstr("Python worker 2 (pid 4242) has worked for 12 s on the "
                        "batch that begins with sample 17"));
}

TEST(SlowStageTest, APythonDatasetNeverWaitsForFiles) {
  Progress progress = Making();
  progress.workers_busy = 0.1;
  EXPECT_THAT(SlowStage(progress), StartsWith("making batches in Python: the 4 workers are busy "
                                              "for only 10 %"));
  progress.decoding = 0;
  progress.python->has_batch_in_hand = false;
  EXPECT_THAT(SlowStage(progress), HasSubstr("none of this session's is being made"));
}

TEST(SlowStageTest, AHostOrWorkersThatAreNotThereYetAreNamed) {
  Progress progress = Making();
  progress.python->has_host = false;
  EXPECT_EQ(SlowStage(progress), "waiting for the host of the dataset to be forked by its trainer");

  progress.python->has_host = true;
  progress.workers_running = 0;
  EXPECT_THAT(SlowStage(progress), HasSubstr("none of its 4 Python workers is ready"));
}

TEST(SlowStageTest, BatchesOnTheirWayToTheGpuAreNamed) {
  Progress progress = Decoding();
  progress.copying = 2;
  progress.device_depth = 3;
  progress.on_device = 1;
  progress.phase = SessionPhase::kCopying;
  EXPECT_THAT(SlowStage(progress), StartsWith("copying to the GPU: 2 decoded batches"));

  progress.on_device = 3;
  progress.phase = SessionPhase::kWaitingForTrainer;
  EXPECT_THAT(SlowStage(progress), StartsWith("releasing: all 3 places"));
}

TEST(SlowStageTest, WithNothingUnderWayItSaysForWhomItWaits) {
  Progress progress = Decoding();
  progress.decoding = 0;
  progress.workers_stalled = 1;
  progress.workers_busy = 0.2;
  EXPECT_THAT(
      SlowStage(progress),
      AllOf(StartsWith("waiting for other sessions"), HasSubstr("those of others come first"),
            HasSubstr("for 3 sessions"), HasSubstr("1 cannot read another dataset's")));

  progress.sessions = 1;
  EXPECT_THAT(SlowStage(progress), StartsWith("waiting to be read"));
  progress.workers_running = 0;
  EXPECT_THAT(SlowStage(progress), HasSubstr("none of the 4 workers is running"));

  progress.phase = SessionPhase::kRunning;
  EXPECT_THAT(SlowStage(progress), HasSubstr("just become ready"));
}

TEST(SlowStageTest, BatchesThatAreNotGivenBackAreNamed) {
  Progress progress = Decoding();
  progress.decoding = 0;
  progress.window = 2;
  progress.announced = progress.taken = 4;
  progress.released = 2;
  progress.phase = SessionPhase::kWaitingForTrainer;

  EXPECT_THAT(SlowStage(progress),
              StartsWith("releasing: this session holds all 2 batches of its window"));
}

// ---- Verdicts. ----

TEST(VerdictTest, BeforeTheFirstBatchThereIsNone) {
  EXPECT_EQ(Verdict({}, Decoding()), "no batch has been taken yet");
}

TEST(VerdictTest, WhoHardlyWaitsSetsThePace) {
  EXPECT_EQ(Verdict(Waited(0.1, 9.9), Decoding()),
            "the trainer sets the pace: it waited for 1 % of the time for batches");
}

TEST(VerdictTest, WhoWaitsIsHeldUpByAStage) {
  EXPECT_THAT(Verdict(Waited(4, 6), Decoding()),
              AllOf(StartsWith("the loader holds up the trainer: it waited for 40 % of the time"),
                    HasSubstr("decoding: the 4 workers are busy")));
  EXPECT_THAT(Verdict(Waited(4, 6), absl::UnavailableError("gone")),
              HasSubstr("the daemon does not answer: gone"));
}

// Workers are idle while the window is full, which is no reason to blame the source.
TEST(VerdictTest, ReadyBatchesAndIdleWorkersAreNotBlamedOnReading) {
  Progress progress = Decoding();
  progress.phase = SessionPhase::kRunning;
  progress.workers_busy = 0.1;
  EXPECT_THAT(Verdict(Waited(4, 6), progress), HasSubstr("the delay comes and goes"));

  progress.workers_busy = 0.9;
  EXPECT_THAT(Verdict(Waited(4, 6), progress), HasSubstr("decoding"));
}

TEST(VerdictTest, TheDaemonsNumbersAreAddedWhereItAnswers) {
  Progress progress = Decoding();
  progress.announced = 7;
  progress.taken = 4;
  progress.samples_decoded = 900;
  progress.samples_replaced = 2;

  const SessionStats stats = Complete(Waited(4, 6), progress);

  EXPECT_TRUE(stats.daemon_answered);
  EXPECT_EQ(stats.batches_ahead, 3u);
  EXPECT_EQ(stats.samples_decoded, 900u);
  EXPECT_EQ(stats.samples_replaced, 2u);
  EXPECT_EQ(stats.samples_per_second, 1130u);
  EXPECT_DOUBLE_EQ(stats.workers_busy, 0.97);
  EXPECT_EQ(stats.verdict, Verdict(Waited(4, 6), progress));
  EXPECT_FALSE(Complete(Waited(4, 6), absl::UnavailableError("gone")).daemon_answered);
}

}  // namespace
}  // namespace penstock::client
