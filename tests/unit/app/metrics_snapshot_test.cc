#include "server/app/operator/metrics_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fakes/fake_dataset.h"

namespace penstock::app {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Pair;

std::shared_ptr<feed::DatasetState> WithTwoFaults(const std::string& name) {
  auto state = std::make_shared<feed::DatasetState>(
      feed::DatasetState{.name = name,
                         .dataset = std::make_shared<testing::FakeDataset>(100),
                         .quarantine = {},
                         .policy = feed::FaultPolicy(100)});
  state->quarantine.Add({.sample = 5, .path = "five", .fault = base::Fault::kTruncated});
  state->quarantine.Add({.sample = 6, .path = "six", .fault = base::Fault::kTruncated});
  return state;
}

uint64_t SessionsIn(const status::Snapshot& snapshot, absl::string_view delivery,
                    absl::string_view state) {
  for (size_t d = 0; d < status::kDeliveries.size(); ++d)
    for (size_t s = 0; s < status::kSessionStates.size(); ++s)
      if (status::kDeliveries[d] == delivery && status::kSessionStates[s] == state)
        return snapshot.sessions[d][s];
  return 99;
}

TEST(MetricsSnapshotTest, EachPhaseOfASessionHasItsPlace) {
  const std::pair<feed::SessionPhase, const char*> phases[] = {
      {feed::SessionPhase::kRunning, "running"},
      {feed::SessionPhase::kWaitingForTrainer, "waiting_for_trainer"},
      {feed::SessionPhase::kDecoding, "decoding"},
      {feed::SessionPhase::kCopying, "copying"},
      {feed::SessionPhase::kStalled, "stalled"},
      {feed::SessionPhase::kFinished, "finished"},
      {feed::SessionPhase::kEnded, "ended"}};
  for (const auto& [phase, name] : phases) {
    status::Snapshot snapshot;
    AddSession({.phase = phase, .delivery = feed::DeliveryKind::kPinned}, snapshot);
    EXPECT_EQ(SessionsIn(snapshot, "pinned", name), 1u) << name;
  }
}

TEST(MetricsSnapshotTest, PythonWorkersStandUnderTheirStateAndWhatTheyMadeIsCounted) {
  using pyworkers::PlaceState;
  status::Snapshot snapshot;
  AddPython(
      {.hosts = 2,
       .totals =
           {.hosts = 3, .made = 40, .raised = 5, .lost = 6, .deaths = 7, .making = seconds(8)},
       .workers = {{.state = PlaceState::kAsked},
                   {.state = PlaceState::kEntered},
                   {.state = PlaceState::kReady},
                   {.state = PlaceState::kReady, .in_hand = pyworkers::PyWorkInHand{}},
                   {.state = PlaceState::kDead}},
       .busy = 0.5,
       .granted_bytes = 4096},
      snapshot);

  EXPECT_EQ(snapshot.python.hosts, 2u);
  EXPECT_THAT(snapshot.python.workers, ElementsAre(2, 1, 1, 1));
  EXPECT_EQ(snapshot.python.batches, 40u);
  EXPECT_EQ(snapshot.python.raised, 5u);
  EXPECT_EQ(snapshot.python.lost, 6u);
  EXPECT_EQ(snapshot.python.deaths, 7u);
  EXPECT_EQ(snapshot.python.making, seconds(8));
  EXPECT_EQ(snapshot.python.busy, 0.5);
  EXPECT_EQ(snapshot.python.granted_bytes, 4096u);
}

TEST(MetricsSnapshotTest, BatchesAreReadyOrHeldNeverLessThanNone) {
  status::Snapshot snapshot;

  AddSession({.window = 4, .announced = 10, .taken = 7, .released = 5}, snapshot);
  AddSession({.window = 6, .announced = 3, .taken = 4, .released = 5}, snapshot);  // mid-update

  EXPECT_EQ(snapshot.window, 10u);
  EXPECT_EQ(snapshot.ready, 3u);
  EXPECT_EQ(snapshot.held, 2u);
}

TEST(MetricsSnapshotTest, WorkersStandUnderTheirStateAndOneThatDecodesIsNotStalled) {
  const base::TimePoint now{seconds(100)};
  workers::WorkerView idle, decoding, stalled, stopped;
  idle.utilisation = 0.2;
  decoding.in_hand = {.since = now};
  decoding.utilisation = 1.0;
  decoding.stalled = {.since = now - seconds(9)};  // only its read is stalled
  stalled.stalled = {.since = now - seconds(12)};
  stopped.state = workers::WorkerState::kStopped;
  status::Snapshot snapshot;

  AddWorkers({idle, decoding, stalled, stopped}, now, snapshot);

  EXPECT_THAT(snapshot.workers, ElementsAre(0, 1, 1, 1, 0, 1, 0, 0, 0));
  EXPECT_EQ(snapshot.stalls, 2u);
  EXPECT_EQ(snapshot.longest_stall, seconds(12));
  EXPECT_DOUBLE_EQ(snapshot.workers_busy, 0.3);
}

TEST(MetricsSnapshotTest, EachStageOfAFeedHasItsPlaceWithWhatPassedIt) {
  const feed::StageSums stages = {.samples = 10,
                                  .read = seconds(1),
                                  .queue = seconds(2),
                                  .decode = seconds(3),
                                  .batches = 5,
                                  .assemble = seconds(4),
                                  .copies = 6,
                                  .copy = seconds(5),
                                  .waits = 7,
                                  .consumer = seconds(6)};
  feed::FlowTotals flow = {.stages = stages,
                           .times = {},
                           .open = seconds(30),
                           .filled = seconds(20),
                           .starved = seconds(10)};
  flow.times.trainer.ObserveBatch(seconds(2), 7, "4bf9");
  status::Snapshot snapshot;

  AddCounts({{"flowers", {.counts = {.batches_decoded = 4, .rows_decoded = 8}, .flow = flow}}},
            snapshot);

  const status::DatasetFigures& counts = snapshot.counts.at("flowers");
  EXPECT_EQ(counts.batches_decoded, 4u);
  EXPECT_EQ(counts.samples_decoded, 8u);
  const uint64_t items[] = {10, 10, 10, 5, 6, 7};
  for (size_t i = 0; i < status::kStages.size(); ++i) {
    EXPECT_EQ(counts.stages[i].items, items[i]) << status::kStages[i];
    EXPECT_EQ(counts.stages[i].time, seconds(i + 1)) << status::kStages[i];
  }
  EXPECT_EQ(counts.sessions_open, seconds(30));
  EXPECT_EQ(counts.sessions_filled, seconds(20));
  EXPECT_EQ(counts.sessions_starved, seconds(10));
  const status::TimesFacts& waits = counts.times[5];
  ASSERT_EQ(waits.buckets.size(), waits.limits.size() + 1);
  EXPECT_EQ(waits.buckets[12].count, 1u);
  EXPECT_EQ(waits.limits[12], 2.5);
  EXPECT_EQ(waits.sum_seconds, 2);
  EXPECT_EQ(waits.buckets[12].example->session, 7u);
  EXPECT_EQ(waits.buckets[12].example->trace_id, "4bf9");
  EXPECT_FALSE(waits.buckets[0].example);
}

TEST(MetricsSnapshotTest, WithoutWorkersNobodyIsBusy) {
  status::Snapshot snapshot;

  AddWorkers({}, {}, snapshot);

  EXPECT_EQ(snapshot.workers_busy, 0);
}

TEST(MetricsSnapshotTest, AnOpenDatasetIsThereOnceAndAPathIsNotNamed) {
  const auto flowers = WithTwoFaults("flowers"), path = WithTwoFaults("/data/birds");
  status::Snapshot snapshot;

  AddDatasets({{"flowers", "/data/flowers", flowers},
               {"flowers-validation", "/data/flowers", flowers},
               {"trees", "/data/trees", nullptr},
               {"/data/birds", "/data/birds", path}},
              snapshot);

  ASSERT_EQ(snapshot.datasets.size(), 2u);
  EXPECT_EQ(snapshot.datasets[0].name, "flowers");
  EXPECT_EQ(snapshot.datasets[0].samples, 100u);
  EXPECT_THAT(snapshot.datasets[0].bad, ElementsAre(Pair("truncated", 2)));
  EXPECT_EQ(snapshot.datasets[1].name, feed::DatasetCounts::kOther);
}

}  // namespace
}  // namespace penstock::app
