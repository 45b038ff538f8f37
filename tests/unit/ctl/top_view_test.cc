#include "client/ctl/top_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/ctl/table.h"

namespace penstock::ctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

v1::WatchStatusResponse Look(int64_t time_ms, uint64_t samples, uint64_t taken) {
  v1::WatchStatusResponse look;
  look.set_time_unix_ms(time_ms);
  v1::GetStatusResponse& status = *look.mutable_status();
  status.set_version("0.1.0");
  status.set_serving(true);
  status.set_workers(1);
  status.set_workers_running(1);
  status.set_samples_decoded(samples);
  v1::FeedStatus& feed = *status.add_feeds();
  feed.set_fingerprint(0xfeedull << 48);
  feed.set_dataset("flowers");
  feed.set_samples_decoded(samples);
  feed.set_occupancy(0.25);
  feed.set_sessions(2);
  feed.set_verdict("decoding is the bottleneck: 3 more workers would hide it");
  for (uint64_t id : {1, 2}) {
    v1::SessionStatus& session = *look.add_sessions();
    session.set_session_id(id);
    session.set_user_id(static_cast<uint32_t>(10 - id));
    session.set_name(id == 1 ? "slow" : "fast\x1b[31m");
    session.set_taken(taken * id);
    session.set_window(4);
  }
  v1::WorkerStatus& worker = *look.add_workers();
  worker.set_state("decoding");
  worker.set_samples_decoded(samples);
  return look;
}

TEST(TopViewTest, WithOneLookThereAreNoRatesYet) {
  const auto look = Look(1000, 500, 10);

  const std::string screen = ShowTop(look, look, {});

  EXPECT_THAT(screen, AllOf(HasSubstr("serving"), HasSubstr("- samples/s"), HasSubstr("flowers"),
                            HasSubstr("3 more workers"), HasSubstr("25 %")));
}

TEST(TopViewTest, RatesAreWhatPassedBetweenTheLooks) {
  const std::string screen = ShowTop(Look(3000, 2500, 50), Look(1000, 500, 10), {});

  EXPECT_THAT(screen, AllOf(HasSubstr("1,000 samples/s"), HasSubstr("20.0"), HasSubstr("40.0")));
}

TEST(TopViewTest, PythonWorkersAreThereWithTheirRatesOnceThereAreSome) {
  auto before = Look(1000, 500, 10), now = Look(3000, 500, 10);
  EXPECT_THAT(ShowTop(now, before, {}), Not(HasSubstr("PYTHON")));
  for (auto* look : {&before, &now}) {
    v1::PythonMakersStatus& python = *look->mutable_status()->mutable_python();
    python.set_hosts(1);
    python.set_workers(3);
    python.set_workers_busy(0.42);
    python.set_batches(look == &now ? 150 : 50);
    v1::PythonWorkerStatus& worker = *look->add_python_workers();
    worker.set_place(2);
    worker.set_pid(4242);
    worker.set_state("making");
    worker.set_dataset("python:id=ab,samples=9");
    worker.set_batches(look == &now ? 64 : 50);
  }

  const std::string screen = ShowTop(now, before, {});

  EXPECT_THAT(screen, AllOf(HasSubstr("python 3 workers of 1 hosts, 42 % busy   50.0 batches/s"),
                            HasSubstr("PYTHON WORKER"), HasSubstr("4242"), HasSubstr("7.0"),
                            HasSubstr("python:id=ab,samples=9")));
}

TEST(TopViewTest, SessionsComeInTheOrderThatIsAskedAndKeysStepThroughThem) {
  const auto now = Look(2000, 0, 50), before = Look(1000, 0, 10);
  const auto first_is_slow = [&](TopOrder order) {
    const std::string screen = ShowTop(now, before, {.order = order});
    return screen.find("slow") < screen.find("fast");
  };

  EXPECT_TRUE(first_is_slow(TopOrder::kById));
  EXPECT_FALSE(first_is_slow(TopOrder::kByRate));
  EXPECT_FALSE(first_is_slow(TopOrder::kByUser));
  EXPECT_EQ(Next(Next(Next(TopOrder::kById))), TopOrder::kById);
}

TEST(TopViewTest, WhatDoesNotFitIsCutAndNothingControlsTheTerminal) {
  const auto look = Look(1000, 500, 10);

  const std::string screen = ShowTop(look, look, {.rows = 6, .columns = 30, .keys = true});

  EXPECT_EQ(std::count(screen.begin(), screen.end(), '\n'), 6);
  EXPECT_THAT(ShowTop(look, look, {}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(screen, HasSubstr("keys: q quits"));
}

// A machine that is full of everything, with the longest words that a daemon says.
v1::WatchStatusResponse Crowded() {
  v1::WatchStatusResponse look = Look(3000, 2'500'000, 50);
  v1::GetStatusResponse& status = *look.mutable_status();
  status.set_uptime_ms(123'456'789);
  status.set_workers_policy("auto, 1 to 128");
  status.mutable_pool()->set_max_bytes(uint64_t{412} << 30);
  status.mutable_python()->set_workers(16);
  status.mutable_feeds(0)->set_dataset("imagenet-21k-größer-und-größer");
  status.mutable_feeds(0)->set_sessions(8);
  status.mutable_feeds(0)->set_starved(0.31);
  v1::GpuStatus& gpu = *status.add_gpus();
  gpu.set_uuid("GPU-8f1c2b3a-0000-1111-2222-333344445555");
  gpu.set_name("NVIDIA H200");
  gpu.set_slab_bytes_max(1 << 30);
  gpu.set_state("serving");
  for (v1::SessionStatus& session : *look.mutable_sessions()) {
    session.set_user_id(0);
    session.set_dataset("imagenet-21k-größer-und-größer");
    session.set_pid(4'100'200);
    session.set_world_size(1024);
    session.set_delivery(v1::DELIVERY_DEVICE);
    session.set_gpu(gpu.uuid());
    session.set_state("waiting for the trainer to release one of its batches");
  }
  look.mutable_workers(0)->set_user_id(0);
  look.mutable_workers(0)->set_reading("/data/imagenet/train/n01440764/n01440764_10026.JPEG");
  v1::PythonWorkerStatus& python = *look.add_python_workers();
  python.set_dataset("python:id=0123456789abcdef,samples=1281167");
  python.set_state("making a batch");
  return look;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.pop_back();
  return lines;
}

TEST(TopViewTest, EveryWidthIsKeptAndEachTableStaysWhole) {
  const auto look = Crowded();
  for (uint32_t columns = 40; columns <= 220; ++columns) {
    const std::string screen = ShowTop(look, look, {.columns = columns, .keys = true});
    for (const std::string& line : Lines(screen))
      ASSERT_LE(Width(line), columns) << columns << ": " << line;
    if (columns < 60) continue;
    for (const char* title : {"SAMPLES/S", "BATCHES/S", "STATE", "USER", "DATASET", "root"})
      ASSERT_THAT(screen, HasSubstr(title)) << columns;
  }
}

TEST(TopViewTest, AtEightyColumnsNothingThatMattersIsCut) {
  const auto look = Crowded();

  const std::string screen = ShowTop(look, look, {.columns = 80});

  const std::vector<std::string> words =
      absl::StrSplit(screen, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  EXPECT_THAT(absl::StrJoin(words, " "),
              AllOf(HasSubstr("feed000000000000"),
                    HasSubstr("größer of root: decoding is the bottleneck: 3 more workers would "
                              "hide it (its trainers wait 31 % of the time)")));
  EXPECT_THAT(screen, AllOf(HasSubstr("device 0/0"), HasSubstr("…"), HasSubstr("NVIDIA H200")));
}

TEST(TopViewTest, ACutTextEndsAtTheEndOfACharacter) {
  EXPECT_EQ(CutTo("größer", 3), "gr…");
  EXPECT_EQ(CutTo("größer", 4), "grö…");
  EXPECT_EQ(CutTo("größer", 6), "größer");
  EXPECT_EQ(CutTo("größer", 1), "…");
  EXPECT_EQ(CutTo("größer", 0), "");
}

TEST(TopViewTest, TwoFeedsOfOneDatasetAndUserAreToldApart) {
  auto look = Look(1000, 500, 10);
  look.mutable_status()->mutable_feeds(0)->set_sessions(1);
  v1::FeedStatus& other = *look.mutable_status()->add_feeds();
  other = look.status().feeds(0);
  other.set_fingerprint(0xbeefull << 48);
  other.set_verdict("the trainer is the bottleneck");

  const std::string screen = ShowTop(look, look, {});

  EXPECT_THAT(screen, HasSubstr("flowers of root, feed feed000000000000: decoding"));
  EXPECT_THAT(screen, HasSubstr("flowers of root, feed beef000000000000: the trainer"));
}

TEST(TopViewTest, ADrainingOrBrokenDaemonIsSeenAtOnce) {
  auto look = Look(1000, 500, 10);
  look.mutable_status()->set_draining(true);
  EXPECT_THAT(ShowTop(look, look, {}), HasSubstr("draining"));

  look.mutable_status()->set_draining(false);
  look.mutable_status()->set_serving(false);
  look.mutable_status()->set_reason("the GPU is lost");
  EXPECT_THAT(ShowTop(look, look, {}), HasSubstr("NOT SERVING (the GPU is lost)"));
}

}  // namespace
}  // namespace penstock::ctl
