#include "client/ctl/top_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

  const std::string screen = ShowTop(look, look, {.rows = 5, .columns = 30, .keys = true});

  EXPECT_EQ(std::count(screen.begin(), screen.end(), '\n'), 5);
  EXPECT_THAT(ShowTop(look, look, {}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(screen, HasSubstr("keys: q quits"));
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
