#include "server/status/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock::status {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

std::string TextOf(const Snapshot& snapshot) { return Format(Metrics({}, &snapshot, {})); }

size_t SeriesOf(const std::string& family, const Snapshot& snapshot) {
  for (const Family& each : Metrics({}, &snapshot, {}))
    if (each.name == family) return each.samples.size();
  return 0;
}

TimesFacts SomeTimes() {
  return {.limits = {0.25, 1},
          .buckets = {{.count = 7}, {.count = 2, .example = {{7, "4bf9", 0.5}}}, {.count = 1}},
          .sum_seconds = 4.5};
}

// A snapshot with one of everything.
Snapshot Everything() {
  Snapshot snapshot;
  snapshot.counts["flowers"] = {.batches_decoded = 7, .batches_announced = 14};
  snapshot.counts["flowers"].times.fill(SomeTimes());
  snapshot.datasets = {{"flowers", 1000, {{"truncated", 2}}}};
  snapshot.gpus = {{.uuid = "GPU-1", .name = "a GPU"}};
  snapshot.users = {{.user = 1000, .sessions = 2}};
  return snapshot;
}

Facts SomeFacts() {
  Facts facts;
  facts.refused[{"AdminService.Drain", "not_operator"}] = 3;
  facts.acted["AdminService.Drain"] = 1;
  facts.cut_off["not_http2"] = 5;
  return facts;
}

TEST(MetricsTest, ManyDatasetsShareTheLastSeries) {
  Snapshot snapshot;
  for (size_t i = 0; i < kMaxDatasets + 100; ++i)
    snapshot.datasets.push_back({absl::StrCat("d", i), 10, {{"truncated", 1}}});

  EXPECT_EQ(SeriesOf("penstock_dataset_samples", snapshot), kMaxDatasets + 1);
  EXPECT_EQ(SeriesOf("penstock_bad_samples", snapshot), kMaxDatasets + 1);
  EXPECT_THAT(TextOf(snapshot), HasSubstr("penstock_dataset_samples{dataset=\"(other)\"} 1000\n"));
}

TEST(MetricsTest, DatasetsOfOneNameAreSummedUp) {
  Snapshot snapshot;
  snapshot.datasets = {{"(other)", 10, {{"truncated", 1}}}, {"(other)", 20, {{"truncated", 2}}}};

  EXPECT_THAT(TextOf(snapshot), HasSubstr("penstock_dataset_samples{dataset=\"(other)\"} 30\n"));
  EXPECT_THAT(TextOf(snapshot),
              HasSubstr("penstock_bad_samples{dataset=\"(other)\",reason=\"truncated\"} 3\n"));
}

TEST(MetricsTest, TheFirstUsersHaveSeriesOfTheirOwnAndAllOthersShareOne) {
  Snapshot snapshot;
  for (uint32_t i = 0; i < kMaxUsers + 100; ++i)
    snapshot.users.push_back(
        {.user = 1000 + i, .sessions = 1, .workers = 2, .samples_decoded = 10});
  snapshot.users.push_back({.others = true, .sessions = 7});

  EXPECT_EQ(SeriesOf("penstock_user_sessions", snapshot), kMaxUsers + 1);
  const std::string text = TextOf(snapshot);
  EXPECT_THAT(text, HasSubstr("penstock_user_sessions{user=\"1000\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("penstock_user_sessions{user=\"1031\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("penstock_user_sessions{user=\"(other)\"} 107\n"));
  EXPECT_THAT(text, HasSubstr("penstock_user_samples_decoded_total{user=\"(other)\"} 1000\n"));
  EXPECT_THAT(text, HasSubstr("penstock_user_workers{user=\"1000\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("penstock_user_workers{user=\"(other)\"} 200\n"));
}

TEST(MetricsTest, RefusalsAndOperatorsActionsAndConnectionsThatWereCutOffAreCounted) {
  const std::string text = Format(Metrics(SomeFacts(), nullptr, {}));

  EXPECT_THAT(text, HasSubstr("penstock_connections_cut_off_total{reason=\"not_http2\"} 5\n"));

  EXPECT_THAT(text, HasSubstr("penstock_refusals_total{method=\"AdminService.Drain\",reason=\"not_"
                              "operator\"} 3\n"));
  EXPECT_THAT(text,
              HasSubstr("penstock_operator_actions_total{method=\"AdminService.Drain\"} 1\n"));
}

TEST(MetricsTest, ANameThatNeedsEscapingIsEscaped) {
  Snapshot snapshot;
  snapshot.gpus = {{.uuid = "GPU-1", .name = "a \"fast\" \\ one"}};

  EXPECT_THAT(TextOf(snapshot),
              HasSubstr("penstock_gpu_info{gpu=\"GPU-1\",name=\"a \\\"fast\\\" \\\\ one\"} 1\n"));
}

TEST(MetricsTest, WithoutASnapshotThereIsWhatNeedsNone) {
  const std::string text = Format(Metrics({.version = "1.2.3", .since_last_pass = seconds(90)},
                                          nullptr, {.snapshot_age = seconds(100)}));

  EXPECT_THAT(text, HasSubstr("penstock_runner_last_pass_age_seconds 90\n"));
  EXPECT_THAT(text, HasSubstr("penstock_snapshot_age_seconds 100\n"));
  EXPECT_THAT(text, HasSubstr("penstock_ready 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("penstock_feeds")));
}

// Counters end in _total, gauges don't, and units come last.
TEST(MetricsTest, NamesAreThoseOfTheConventions) {
  std::set<std::string> names;
  const Snapshot snapshot = Everything();
  for (const Family& family : Metrics(SomeFacts(), &snapshot, {})) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name << " is there twice";
    EXPECT_EQ(absl::EndsWith(family.name, "_total"), family.type == MetricType::kCounter)
        << family.name;
    EXPECT_TRUE(absl::StartsWith(family.name, "penstock_") ||
                absl::StartsWith(family.name, "process_"))
        << family.name;
    EXPECT_TRUE(absl::EndsWith(family.help, ".")) << family.name << ": " << family.help;
    EXPECT_FALSE(family.samples.empty()) << family.name;
  }
  EXPECT_GE(names.size(), 50u);
}

// A reader sees one metric at a time, so none may refer to the one before it.
TEST(MetricsTest, EachHelpStandsAlone) {
  const std::regex elsewhere(
      "^(Of|The same|The part|Limit of (that|this|these|those)|Pieces (in|not written to) it)\\b|"
      "\\b(that memory|these bytes|those bytes|this number|that time|did not get them)\\b|"
      "\\b(in|from|to) it\\b|\\bthat it could\\b");
  const Snapshot snapshot = Everything();
  Facts facts = SomeFacts();
  facts.stores.emplace();
  for (const Family& family : Metrics(facts, &snapshot, {})) {
    EXPECT_FALSE(std::regex_search(family.help, elsewhere)) << family.name << ": " << family.help;
    EXPECT_GE(std::string(family.help).size(), 12u) << family.name;
  }
}

TEST(MetricsTest, NoLabelIsOfASampleAPathASessionOrAProcess) {
  const std::set<std::string> allowed = {"le",     "dataset", "delivery", "gpu",
                                         "method", "name",    "reason",   "state",
                                         "stage",  "user",    "version",  "protocol_version"};
  const Snapshot snapshot = Everything();
  for (const Family& family : Metrics(SomeFacts(), &snapshot, {}))
    for (const Sample& sample : family.samples)
      for (const auto& [label, value] : sample.labels)
        EXPECT_TRUE(allowed.contains(label)) << family.name << " has " << label;
}

TEST(MetricsTest, PythonWorkersAndTheirBatchesHaveTheirOwnFamilies) {
  Snapshot snapshot;
  snapshot.python = {.hosts = 1,
                     .workers = {0, 1, 3, 0},
                     .busy = 0.75,
                     .batches = 40,
                     .raised = 5,
                     .lost = 6,
                     .deaths = 7,
                     .making = milliseconds(8500),
                     .granted_bytes = 4096};

  const std::string text = TextOf(snapshot);

  for (const char* line :
       {"penstock_python_hosts 1\n", "penstock_python_workers{state=\"making\"} 3\n",
        "penstock_python_workers_busy_ratio 0.75\n", "penstock_python_batches_total 40\n",
        "penstock_python_raised_total 5\n", "penstock_python_lost_total 6\n",
        "penstock_python_deaths_total 7\n", "penstock_python_making_seconds_total 8.5\n",
        "penstock_python_granted_bytes 4096\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(MetricsTest, StoresAreThereIfTheDaemonReadsAny) {
  EXPECT_THAT(Format(Metrics(SomeFacts(), nullptr, {})), Not(HasSubstr("penstock_store_")));
  Facts facts = SomeFacts();
  facts.stores = StoreFacts{.requests = 7,
                            .under_way = 412,
                            .retries = {1, 2, 3, 4},
                            .hedges = 5,
                            .answers_within = {{0.1, 3}, {1, 6}},
                            .answers = 7,
                            .answer_seconds = 4.5,
                            .indexes_used = 11,
                            .indexes_refused = 12,
                            .indexes_absent = 13};
  std::string text = Format(Metrics(facts, nullptr, {}));
  for (const char* const line :
       {"store_requests_total 7\n", "store_requests_under_way 412\n", "store_hedges_total 5\n",
        "store_retries_total{reason=\"slow_down\"} 1\n",
        "store_retries_total{reason=\"answer\"} 4\n", "store_answer_seconds_bucket{le=\"0.1\"} 3\n",
        "store_answer_seconds_bucket{le=\"+Inf\"} 7\n", "store_answer_seconds_sum 4.5\n",
        "store_answer_seconds_count 7\n", "store_index_files_total{result=\"used\"} 11\n",
        "store_index_files_total{result=\"refused\"} 12\n",
        "store_index_files_total{result=\"absent\"} 13\n"})
    EXPECT_THAT(text, HasSubstr(absl::StrCat("penstock_", line)));
  EXPECT_THAT(text, Not(HasSubstr("penstock_store_cache_")));

  facts.stores->has_cache = true;
  facts.stores->cache_found = 9;
  facts.stores->cache_failed = 2;
  facts.stores->cache_evicted = 3;
  text = Format(Metrics(facts, nullptr, {}));
  EXPECT_THAT(text, HasSubstr("penstock_store_cache_hits_total 9\n"));
  EXPECT_THAT(text, HasSubstr("penstock_store_cache_failed_total 2\n"));
  EXPECT_THAT(text, HasSubstr("penstock_store_cache_evicted_total 3\n"));
}

TEST(MetricsTest, SessionsStandUnderTheirDeliveryAndState) {
  Snapshot snapshot;
  snapshot.sessions[2][1] = 5;
  snapshot.window = 20;
  snapshot.ready = 15;

  const std::string text = TextOf(snapshot);

  EXPECT_THAT(text, HasSubstr("penstock_sessions{delivery=\"device\",state="
                              "\"waiting_for_trainer\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("penstock_sessions{delivery=\"host\",state=\"running\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("penstock_window_batches 20\n"));
  EXPECT_THAT(text, HasSubstr("penstock_ready_batches 15\n"));
}

TEST(MetricsTest, FeedsAreCountedByDataset) {
  const std::string text = TextOf(Everything());

  EXPECT_THAT(text, HasSubstr("# TYPE penstock_batches_announced_total counter\n"
                              "penstock_batches_announced_total{dataset=\"flowers\"} 14\n"));
  EXPECT_THAT(text, HasSubstr("penstock_bad_samples{dataset=\"flowers\",reason=\"truncated\"} 2"));
}

TEST(MetricsTest, EachStageHasItsSecondsAndWhatPassedIt) {
  Snapshot snapshot;
  DatasetFigures& flowers = snapshot.counts["flowers"];
  for (size_t i = 0; i < kStages.size(); ++i)
    flowers.stages[i] = {.items = 10 * (i + 1), .time = milliseconds(500 * (i + 1))};

  const std::string text = TextOf(snapshot);

  size_t stage = 0;
  for (const char* name : {"read", "queue", "decode", "assemble", "copy", "consumer"}) {
    const std::string labels = absl::StrCat("{dataset=\"flowers\",stage=\"", name, "\"} ");
    ++stage;
    EXPECT_THAT(text, HasSubstr(absl::StrCat("penstock_stage_seconds_total", labels,
                                             0.5 * static_cast<double>(stage), "\n")));
    EXPECT_THAT(text, HasSubstr(absl::StrCat("penstock_stage_items_total", labels, 10 * stage)));
  }
}

TEST(MetricsTest, HowLongSessionsWereOpenFilledAndStarvedIsInSeconds) {
  Snapshot snapshot;
  snapshot.counts["flowers"] = {.sessions_open = seconds(20),
                                .sessions_filled = milliseconds(2500),
                                .sessions_starved = seconds(15)};

  const std::string text = TextOf(snapshot);

  EXPECT_THAT(text, HasSubstr("penstock_session_open_seconds_total{dataset=\"flowers\"} 20\n"));
  EXPECT_THAT(text, HasSubstr("penstock_session_filled_seconds_total{dataset=\"flowers\"} 2.5\n"));
  EXPECT_THAT(text, HasSubstr("penstock_session_starved_seconds_total{dataset=\"flowers\"} 15\n"));
}

TEST(MetricsTest, PoolWorkersAndGpusAreInBaseUnits) {
  Snapshot snapshot;
  snapshot.segment_bytes = uint64_t{3} << 30;
  snapshot.slots = {1, 2, 3, 4};
  snapshot.workers[2] = 6;
  snapshot.longest_stall = milliseconds(1500);
  snapshot.gpus = {{.uuid = "GPU-1", .serving = true, .copied_bytes = uint64_t{5} << 40}};

  const std::string text = TextOf(snapshot);

  EXPECT_THAT(text, HasSubstr("penstock_pool_segment_bytes 3221225472\n"));
  EXPECT_THAT(text, HasSubstr("penstock_slots{state=\"free\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("penstock_workers{state=\"decoding\"} 6\n"));
  EXPECT_THAT(text, HasSubstr("penstock_longest_stall_seconds 1.5\n"));
  EXPECT_THAT(text, HasSubstr("penstock_gpu_copied_bytes_total{gpu=\"GPU-1\"} 5497558138880\n"));
  EXPECT_THAT(text, HasSubstr("penstock_gpu_serving{gpu=\"GPU-1\"} 1\n"));
}

TEST(MetricsTest, HowScrapingGoesIsSaid) {
  const std::string text =
      Format(Metrics({}, nullptr, {.answered = 1, .refused = 2, .dropped = 3}));

  EXPECT_THAT(text, HasSubstr("penstock_scrapes_total 1\n"));
  EXPECT_THAT(text, HasSubstr("penstock_scrapes_failed_total{reason=\"refused\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("penstock_scrapes_failed_total{reason=\"dropped\"} 3\n"));
}

// ---- Distributions of times ----

TEST(TimesTest, BucketsAddUpAndTheirLimitsAreFloatingPointNumbers) {
  const Snapshot snapshot = Everything();

  const std::string text = TextOf(snapshot);

  for (const char* line : {"_bucket{dataset=\"flowers\",le=\"0.25\"} 7\n",
                           "_bucket{dataset=\"flowers\",le=\"1.0\"} 9\n",
                           "_bucket{dataset=\"flowers\",le=\"+Inf\"} 10\n",
                           "_sum{dataset=\"flowers\"} 4.5\n", "_count{dataset=\"flowers\"} 10\n"})
    EXPECT_THAT(text, HasSubstr(absl::StrCat("penstock_trainer_wait_seconds", line)));
}

TEST(TimesTest, AnExemplarNamesTheSessionAndItsTrace) {
  const Snapshot snapshot = Everything();

  const std::string text = Format(Metrics({}, &snapshot, {}), TextFormat::kOpenMetrics);

  EXPECT_THAT(text, HasSubstr("le=\"1.0\"} 9 # {session=\"7\",trace_id=\"4bf9\"} 0.5\n"));
  EXPECT_THAT(text, HasSubstr("le=\"0.25\"} 7\n"));
}

TEST(TimesTest, WhatWasNeverObservedHasNoSeries) {
  Snapshot snapshot;
  snapshot.counts["flowers"].times[5] = {.limits = {1}, .buckets = {{}, {}}};

  EXPECT_EQ(SeriesOf("penstock_trainer_wait_seconds", snapshot), 0u);
  EXPECT_EQ(SeriesOf("penstock_batch_copy_seconds", snapshot), 0u);
}

TEST(MetricsTest, CountersHaveTheSuffixThatOpenMetricsWants) {
  Snapshot snapshot = Everything();
  for (const Family& family : Metrics(SomeFacts(), &snapshot, {})) {
    if (family.type == MetricType::kCounter) {
      EXPECT_TRUE(absl::EndsWith(family.name, "_total")) << family.name;
    }
  }
}

TEST(MetricsTest, PythonProcessesWithoutATokenAreRefusals) {
  Snapshot snapshot;
  snapshot.python.refused = 3;

  EXPECT_THAT(
      TextOf(snapshot),
      HasSubstr("penstock_refusals_total{method=\"python_host\",reason=\"no_ticket\"} 3\n"));
}

}  // namespace
}  // namespace penstock::status
