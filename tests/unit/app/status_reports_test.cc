#include "server/app/operator/status_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fakes/fake_dataset.h"

namespace penstock::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using workers::WorkerState;
using workers::WorkerView;

std::shared_ptr<feed::DatasetState> Dataset(const std::string& name, uint64_t samples = 100) {
  auto state = std::make_shared<feed::DatasetState>(
      feed::DatasetState{.name = name,
                         .dataset = std::make_shared<testing::FakeDataset>(samples),
                         .quarantine = {},
                         .policy = feed::FaultPolicy(samples)});
  state->quarantine.Add({.sample = 7, .path = "seven", .fault = base::Fault::kTimeout});
  state->quarantine.Add({.sample = 5, .path = "five", .fault = base::Fault::kTruncated});
  return state;
}

const Opener kOperator = {.is_operator = true};

class StatusReportsTest : public ::testing::Test {
 protected:
  StatusReportsTest() { EXPECT_TRUE(engine_.Start().ok()); }

  static feed::Engine::Options Options() {
    feed::Engine::Options options;
    options.pool.max_bytes = 16 << 20;
    options.workers.count = 0;
    return options;
  }

  absl::StatusOr<v1::ListQuarantineResponse> List(const std::string& dataset) const {
    return ReportQuarantine(datasets_, {.dataset = dataset, .page_size = 1000});
  }

  const std::vector<DatasetView> datasets_ = {
      {"flowers", "/data/flowers", Dataset("flowers")},
      {"trees", "/data/trees", nullptr},
      {"/data/birds", "/data/birds", Dataset("/data/birds")}};
  feed::Engine engine_{Options(), [](uint64_t, const void*, size_t, const std::vector<int>&) {
                         return absl::OkStatus();
                       }};
};

// ---- Quarantines. ----

TEST_F(StatusReportsTest, AQuarantineOfNobodyIsNotFound) {
  EXPECT_EQ(List("fish").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ClearQuarantine(datasets_, "fish", engine_).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(StatusReportsTest, ClearingWantsANameOfAnOpenDataset) {
  EXPECT_EQ(ClearQuarantine(datasets_, "", engine_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ClearQuarantine(datasets_, "trees", engine_).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(StatusReportsTest, WithoutANameAllQuarantinesAreListed) {
  EXPECT_EQ(List("")->entries_size(), 4);
  EXPECT_EQ(List("")->total(), 4u);
  EXPECT_EQ(List("")->next_page_token(), "");
}

TEST_F(StatusReportsTest, OfADatasetThatIsNotOpenNothingIsKnownWhichIsSaidOnce) {
  const v1::ListQuarantineResponse all = List("").value(), trees = List("trees").value();
  EXPECT_EQ(all.not_open_total(), 1u);
  EXPECT_THAT(all.not_open(), ::testing::ElementsAre("trees"));
  EXPECT_THAT(trees.not_open(), ::testing::ElementsAre("trees"));
  EXPECT_EQ(List("flowers")->not_open_total(), 0u);

  const rpc::QuarantineQuery second_page = {
      .dataset = "", .page_size = 3, .at_dataset = 2, .at_sample = 7};
  EXPECT_EQ(ReportQuarantine(datasets_, second_page)->not_open_total(), 0u);
}

// Two entries in each of two datasets, the first and the third.
TEST_F(StatusReportsTest, AListIsCutIntoPagesThatTogetherAreTheList) {
  std::vector<std::string> samples, tokens;
  rpc::QuarantineQuery query = {.dataset = "", .page_size = 3};
  for (int page = 0; page < 2; ++page) {
    const v1::ListQuarantineResponse list = ReportQuarantine(datasets_, query).value();
    for (const v1::QuarantineEntry& entry : list.entries())
      samples.push_back(absl::StrCat(entry.dataset(), " ", entry.sample()));
    tokens.push_back(list.next_page_token());
    EXPECT_EQ(list.total(), 4u);
    query.at_dataset = 2;
    query.at_sample = 7;
  }

  EXPECT_THAT(samples,
              ::testing::ElementsAre("flowers 5", "flowers 7", "/data/birds 5", "/data/birds 7"));
  EXPECT_THAT(tokens, ::testing::ElementsAre("2:7", ""));
}

TEST_F(StatusReportsTest, APageThatEndsWithADatasetGoesOnInTheNext) {
  const v1::ListQuarantineResponse list =
      ReportQuarantine(datasets_, {.dataset = "", .page_size = 2}).value();

  EXPECT_EQ(list.entries_size(), 2);
  EXPECT_EQ(list.next_page_token(), "2:5");
}

TEST_F(StatusReportsTest, APageIsNeverLargerThanAnAnswerMayBe) {
  const std::vector<DatasetView> datasets = {{"many", "/data/many", Dataset("many", 2000)}};
  for (uint64_t sample = 0; sample < 2000; ++sample)
    datasets[0].state->quarantine.Add(
        {.sample = sample, .path = std::string(4000, 'x'), .fault = base::Fault::kEmpty});

  const v1::ListQuarantineResponse list =
      ReportQuarantine(datasets, {.dataset = "many", .page_size = 5000}).value();

  EXPECT_LT(list.ByteSizeLong(), 2u << 20);
  EXPECT_GT(list.entries_size(), 100);
  EXPECT_FALSE(list.next_page_token().empty());
}

TEST_F(StatusReportsTest, AQuarantineIsListedByNameOrPathWithItsReasons) {
  const v1::ListQuarantineResponse list = List("/data/flowers").value();

  ASSERT_EQ(list.entries_size(), 2);
  EXPECT_EQ(list.entries(0).dataset(), "flowers");
  EXPECT_EQ(list.entries(0).sample(), 5u);
  EXPECT_EQ(list.entries(0).reason(), "truncated");
  EXPECT_FALSE(list.entries(0).quarantined());
  EXPECT_EQ(list.entries(1).path(), "seven");
  EXPECT_TRUE(list.entries(1).quarantined());
  EXPECT_EQ(List("trees")->entries_size(), 0);
}

// Bad are samples 5 and 7 of the files, and 9 for a GPU.
TEST_F(StatusReportsTest, ANameOfARangeHasTheBadSamplesOfTheRangeAlone) {
  const std::shared_ptr<feed::DatasetState> files = Dataset("flowers");
  files->quarantine.Add(
      {.sample = 9, .path = "nine", .fault = base::Fault::kNotByGpu, .users = {1}});
  const std::vector<DatasetView> names = {
      {"first", "/data/flowers", files, RangeText{.begin = 0, .end = 6}},
      {"rest", "/data/flowers", files, RangeText{.begin = 6, .end = 100}},
      {"too_long", "/data/flowers", files, RangeText{.begin = 0, .end = 101}}};
  const auto list_of = [&](const std::string& name) {
    return ReportQuarantine(names, {.dataset = name, .page_size = 1}).value();
  };

  const v1::ListQuarantineResponse first = list_of("first"), rest = list_of("rest");

  ASSERT_EQ(first.entries_size(), 1);
  EXPECT_EQ(first.entries(0).path(), "five");
  EXPECT_EQ(first.total(), 1u);
  EXPECT_EQ(first.next_page_token(), "") << "what follows is of another name";
  ASSERT_EQ(rest.entries_size(), 1);
  EXPECT_EQ(rest.entries(0).path(), "seven");
  EXPECT_EQ(rest.total(), 2u);
  EXPECT_EQ(rest.next_page_token(), "1:9");
  EXPECT_EQ(list_of("too_long").entries_size(), 0);
  EXPECT_EQ(ReportDatasets(names).datasets(0).quarantined(), 1u);
  EXPECT_EQ(ReportDatasets(names).datasets(1).quarantined(), 2u);
  EXPECT_EQ(ReportDatasets(names).datasets(2).quarantined(), 0u);
}

TEST_F(StatusReportsTest, ClearingGivesEverySampleANewChanceUnderANewVersion) {
  feed::DatasetState& flowers = *datasets_[0].state;
  flowers.policy.OnRefused(5);
  flowers.PolicyOf(1001).OnRefused(6);

  const v1::ClearQuarantineResponse cleared =
      ClearQuarantine(datasets_, "flowers", engine_).value();

  EXPECT_EQ(cleared.cleared(), 2u);
  EXPECT_EQ(cleared.version(), 2u);
  EXPECT_EQ(BadSamples(datasets_[0]), 0u);
  EXPECT_EQ(flowers.policy.bad_samples(), 0u);
  EXPECT_EQ(flowers.PolicyOf(1001).bad_samples(), 0u);
  EXPECT_EQ(BadSamples(datasets_[2]), 2u);
}

// ---- Datasets and workers. ----

TEST_F(StatusReportsTest, DatasetsThatWereNotOpenedAreListedWithoutFigures) {
  const v1::ListDatasetsResponse list = ReportDatasets(datasets_);

  ASSERT_EQ(list.datasets_size(), 3);
  EXPECT_TRUE(list.datasets(0).indexed());
  EXPECT_EQ(list.datasets(0).samples(), 100u);
  EXPECT_EQ(list.datasets(0).classes(), 2u);
  EXPECT_EQ(list.datasets(0).quarantined(), 2u);
  EXPECT_FALSE(list.datasets(1).indexed());
  EXPECT_EQ(list.datasets(1).samples(), 0u);
}

TEST_F(StatusReportsTest, AWorkersStateIsSaidInWords) {
  const base::TimePoint now = base::TimePoint() + seconds(100);
  const auto state_of = [&](const WorkerView& view) { return ReportWorker(view, now).state(); };
  const WorkerView::InHand in_hand{.sample = 3, .since = now - milliseconds(1500)};
  const workers::StalledRead stall{.since = now - seconds(12), .reason = "/data/x: I/O error"};

  EXPECT_EQ(state_of({.state = WorkerState::kStarting}), "starting");
  EXPECT_EQ(state_of({.state = WorkerState::kRunning}), "idle");
  EXPECT_EQ(state_of({.state = WorkerState::kRunning, .in_hand = in_hand}), "decoding");
  EXPECT_EQ(state_of({.state = WorkerState::kRetiring}), "retiring");
  EXPECT_EQ(state_of({.state = WorkerState::kRestarting, .last_death = "killed"}),
            "restarting: killed");
  EXPECT_EQ(state_of({.state = WorkerState::kStopped, .last_death = "killed"}), "stopped: killed");
  EXPECT_EQ(state_of({.state = WorkerState::kRunning, .stalled = stall}),
            "source stalled for 12 s");
  EXPECT_EQ(ReportWorker({.in_hand = in_hand}, now).in_hand_ms(), 1500u);
  EXPECT_EQ(ReportWorker({.stalled = stall}, now).reading(), "/data/x: I/O error");
}

TEST_F(StatusReportsTest, StatusOfADaemonThatNobodyUses) {
  const v1::GetStatusResponse status = ReportStatus(engine_, kOperator, {});

  EXPECT_TRUE(status.serving());
  EXPECT_EQ(status.reason(), "");
  EXPECT_EQ(status.pid(), ::getpid());
  EXPECT_EQ(status.pool().max_bytes(), uint64_t{16} << 20);
  EXPECT_EQ(status.sessions(), 0u);
  EXPECT_EQ(status.workers(), 0u);
}

TEST_F(StatusReportsTest, StatusAndSessionsOfADaemonInUse) {
  feed::OpenRequest request;
  request.peer = 1;
  request.user = 1000;
  request.dataset_name = "flowers";
  request.name = "resnet";
  request.dataset = datasets_[0].state;
  request.feed.decoding.height = request.feed.decoding.width = 16;
  request.share = {.world = 2, .rank = 1, .batch_size = 8};
  request.window = 3;
  absl::Status opened;
  engine_.Open(request, {},
               [&](const absl::StatusOr<session::Grant>& grant) { opened = grant.status(); });
  ASSERT_TRUE(opened.ok()) << opened;

  const v1::GetStatusResponse status = ReportStatus(engine_, kOperator, {});
  const v1::ListSessionsResponse sessions = ReportSessions(engine_, kOperator);

  EXPECT_EQ(status.sessions(), 1u);
  ASSERT_EQ(status.feeds_size(), 1);
  EXPECT_EQ(status.feeds(0).dataset(), "flowers");
  EXPECT_EQ(status.feeds(0).user_id(), 1000u);
  EXPECT_GT(status.pool().reserved_bytes(), 3u * 8 * 3 * 16 * 16);
  ASSERT_EQ(sessions.sessions_size(), 1);
  EXPECT_EQ(sessions.sessions(0).name(), "resnet");
  EXPECT_EQ(sessions.sessions(0).rank(), 1u);
  EXPECT_EQ(sessions.sessions(0).world_size(), 2u);
  EXPECT_EQ(sessions.sessions(0).window(), 3u);
  EXPECT_EQ(sessions.sessions(0).state(), "decoding");
  const Opener same_user = {.uid = 1000}, other = {.uid = 1001}, root = {.uid = 0};
  EXPECT_EQ(ReportStatus(engine_, same_user, {}).feeds_size(), 1);
  EXPECT_EQ(ReportSessions(engine_, same_user).sessions_size(), 1);
  for (const Opener& viewer : {other, root}) {
    EXPECT_EQ(ReportStatus(engine_, viewer, {}).feeds_size(), 0);
    EXPECT_EQ(ReportStatus(engine_, viewer, {}).sessions(), 1u);
    EXPECT_EQ(ReportSessions(engine_, viewer).sessions_size(), 0);
  }
}

}  // namespace
}  // namespace penstock::app
