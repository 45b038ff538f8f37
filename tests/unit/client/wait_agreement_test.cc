// Checks in the same situations that three explanations of a wait agree: the daemon's phase of a
// session, its verdict on the feed, and the client's message to a waiting trainer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/src/session/slow_stage.h"
#include "server/feed/stats/session_phase.h"
#include "server/feed/stats/verdict.h"

namespace penstock {
namespace {

using feed::Bottleneck;
using feed::FillPath;
using std::chrono::milliseconds;
using ::testing::StartsWith;
using Phase = feed::SessionPhase;

struct Situation {
  const char* what;
  feed::SessionFacts session;
  feed::FlowFigures feed;  // over the last seconds, during which nothing changed
  Phase phase;
  Bottleneck bottleneck;
  const char* told;  // how the message to a waiting trainer begins
};

feed::FlowFigures Starving(double workers_busy, double readers_busy,
                           FillPath fill_path = FillPath::kWorkers) {
  return {.has_data = true,
          .fill_path = fill_path,
          .starved = 0.5,
          .workers = 2,
          .workers_busy = workers_busy,
          .readers_busy = readers_busy};
}

feed::FlowFigures Stalled(milliseconds time) {
  feed::FlowFigures figures = Starving(0, 1);
  figures.stalled = time;
  figures.stalled_reason = "gone";
  return figures;
}

feed::FlowFigures NobodyStarves() { return {.has_data = true, .starved = 0, .workers = 2}; }

feed::FlowFigures CopyingToGpu() {
  feed::FlowFigures figures = Starving(0.9, 0.1);
  figures.copying = 0.5;
  return figures;
}

feed::FlowFigures Making(double workers_busy, bool has_host) {
  feed::FlowFigures figures = Starving(workers_busy, 0, FillPath::kPython);
  figures.making = {.has_host = has_host, .ready = 2};
  figures.cores = 2;
  return figures;
}

std::optional<client::PythonProgress> PythonOf(const feed::FlowFigures& figures) {
  if (figures.fill_path != FillPath::kPython) return std::nullopt;
  return client::PythonProgress{
      .has_host = figures.making.has_host, .cores = figures.cores, .has_batch_in_hand = true};
}

const Situation kTable[] = {
    {"batches are ready",
     {.ready = 2, .held = 2, .window = 4},
     NobodyStarves(),
     Phase::kRunning,
     Bottleneck::kTrainer,
     "none: a batch has just become ready"},
    {"batches are ready although the source does not answer: nobody waits for it yet",
     {.ready = 1, .held = 1, .window = 4, .source_stalled = true},
     NobodyStarves(),
     Phase::kRunning,
     Bottleneck::kTrainer,
     "none: a batch has just become ready"},
    {"the trainer holds its whole window",
     {.held = 4, .window = 4},
     NobodyStarves(),
     Phase::kWaitingForTrainer,
     Bottleneck::kTrainer,
     "releasing: this session holds all 4 batches"},
    {"… while its source does not answer",
     {.held = 4, .window = 4, .source_stalled = true},
     NobodyStarves(),
     Phase::kWaitingForTrainer,
     Bottleneck::kTrainer,
     "releasing: this session holds all 4 batches"},
    {"workers are busy",
     {.window = 4},
     Starving(0.9, 0.1),
     Phase::kDecoding,
     Bottleneck::kDecoding,
     "decoding: the 2 workers are busy"},
    {"workers are as busy as makes them the bottleneck, and hardly more",
     {.window = 4},
     Starving(0.65, 0.1),
     Phase::kDecoding,
     Bottleneck::kDecoding,
     "decoding: the 2 workers are busy"},
    {"workers wait for files",
     {.window = 4},
     Starving(0.2, 0.9),
     Phase::kDecoding,
     Bottleneck::kReading,
     "reading: the 2 workers are busy for only 20 %"},
    {"Python workers are busy",
     {.window = 4, .fill_path = FillPath::kPython},
     Making(0.9, true),
     Phase::kDecoding,
     Bottleneck::kMaking,
     "making batches in Python: the 2 workers are busy"},
    {"the host of a Python dataset is not there yet",
     {.window = 4, .fill_path = FillPath::kPython},
     Making(0, false),
     Phase::kDecoding,
     Bottleneck::kMaking,
     "waiting for the host of the dataset"},
    {"Python workers wait for room in the window",
     {.window = 4, .fill_path = FillPath::kPython},
     Making(0.2, true),
     Phase::kDecoding,
     Bottleneck::kWindow,
     "making batches in Python: the 2 workers are busy for only 20 %"},
    {"the source has not answered for a little more than a second",
     {.window = 4, .source_stalled = true},
     Stalled(milliseconds(1100)),
     Phase::kStalled,
     Bottleneck::kSource,
     "reading: the source has stalled for 1 s: gone"},
    {"stored rows are copied",
     {.window = 4, .fill_path = FillPath::kRowCopiers},
     Starving(0, 0.9, FillPath::kRowCopiers),
     Phase::kCopying,
     Bottleneck::kReading,
     "copying: the daemon copies stored rows"},
    {"full batches are on their way to the GPU",
     {.held = 2, .window = 2, .to_copy = 2, .on_device = 1, .device_depth = 3},
     CopyingToGpu(),
     Phase::kCopying,
     Bottleneck::kCopying,
     "copying to the GPU: 2 decoded batches"},
};

client::SessionPhase ToClient(Phase phase) {
  switch (phase) {
    case Phase::kRunning:
      return client::SessionPhase::kRunning;
    case Phase::kWaitingForTrainer:
      return client::SessionPhase::kWaitingForTrainer;
    case Phase::kDecoding:
      return client::SessionPhase::kDecoding;
    case Phase::kCopying:
      return client::SessionPhase::kCopying;
    case Phase::kStalled:
      return client::SessionPhase::kStalled;
    default:
      return client::SessionPhase::kEnded;
  }
}

TEST(WaitAgreementTest, DaemonAndClientSayTheSame) {
  for (const Situation& each : kTable) {
    SCOPED_TRACE(each.what);
    EXPECT_EQ(feed::PhaseOf(each.session), each.phase);
    EXPECT_EQ(feed::Judge(each.feed).bottleneck, each.bottleneck);
    const client::Progress progress = {
        .phase = ToClient(each.phase),
        .window = each.session.window,
        .decoding = 1,
        .copying = static_cast<uint32_t>(each.session.to_copy),
        .device_depth = each.session.device_depth,
        .workers = 2,
        .workers_running = 2,
        .workers_busy = each.feed.workers_busy,
        .sessions = 1,
        .stalled_ms = static_cast<uint64_t>(
            std::chrono::duration_cast<milliseconds>(each.feed.stalled).count()),
        .stalled_reason = each.feed.stalled_reason,
        .python = PythonOf(each.feed)};
    EXPECT_THAT(client::SlowStage(progress), StartsWith(each.told));
  }
}

TEST(WaitAgreementTest, TheyAgreeFromWhenOnATrainerIsHeldUp) {
  for (const double waited : {0.01, 0.03}) {
    feed::FlowFigures figures = Starving(0.9, 0.1);
    figures.starved = waited;
    SessionStats stats;
    stats.batches = 10;
    stats.waited_seconds = waited;
    stats.busy_seconds = 1 - waited;
    const bool sets_the_pace = feed::Judge(figures).bottleneck == Bottleneck::kTrainer;

    EXPECT_EQ(client::Verdict(stats, client::Progress{.phase = client::SessionPhase::kDecoding})
                  .starts_with("the trainer sets the pace"),
              sets_the_pace)
        << waited;
  }
}

TEST(SessionPhaseTest, WhatIsOverComesFirst) {
  const feed::SessionFacts full = {.ready = 1, .held = 2, .window = 2, .source_stalled = true};
  feed::SessionFacts finished = full, ended = full;
  finished.finished = ended.finished = ended.ended = true;

  EXPECT_EQ(feed::PhaseOf(finished), Phase::kFinished);
  EXPECT_EQ(feed::PhaseOf(ended), Phase::kEnded);
}

TEST(SessionPhaseTest, AFullGpuWaitsForTheTrainer) {
  EXPECT_EQ(
      feed::PhaseOf({.held = 1, .window = 2, .to_copy = 1, .on_device = 3, .device_depth = 3}),
      Phase::kWaitingForTrainer);
}

}  // namespace
}  // namespace penstock
