// The runner's thread and the messages to it, with an engine without workers.
#include "server/feed/engine/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <future>
#include <thread>

namespace penstock::feed {
namespace {

using std::chrono::seconds;

constexpr seconds kLong(20);

std::unique_ptr<Runner> StartRunner(const std::string& program = "") {
  Engine::Options options;
  options.pool.max_bytes = 64 << 20;
  options.workers.count = program.empty() ? 0 : 1;
  options.workers.program = program;
  auto runner = Runner::Start(options, [](uint64_t, const void*, size_t, const std::vector<int>&) {
    return absl::OkStatus();
  });
  EXPECT_EQ(runner.ok(), program.empty()) << runner.status();
  return runner.ok() ? *std::move(runner) : nullptr;
}

TEST(RunnerTest, WhatKeepsTheEngineFromStartingIsSaid) {
  EXPECT_EQ(StartRunner("/nonexistent/penstock-worker"), nullptr);
}

TEST(RunnerTest, JobsRunInTheirOrderOnTheRunnersThread) {
  const auto runner = StartRunner();
  std::vector<int> order;
  std::promise<std::string> name;

  runner->Post([&](Engine&, base::TimePoint) { order.push_back(1); });
  runner->Deliver([&](Engine&, base::TimePoint) { order.push_back(2); });
  runner->Post([&](Engine&, base::TimePoint) {
    char text[16];
    ::pthread_getname_np(::pthread_self(), text, sizeof(text));
    name.set_value(text);
  });

  std::future<std::string> got = name.get_future();
  ASSERT_EQ(got.wait_for(kLong), std::future_status::ready);
  EXPECT_EQ(got.get(), "runner");
  EXPECT_THAT(order, ::testing::ElementsAre(1, 2));
}

TEST(RunnerTest, ARunnerWithTooMuchToDoRefusesJobsAndStillHearsWhoLeft) {
  const auto runner = StartRunner();
  std::promise<void> begun, go_on;
  runner->Post([&](Engine&, base::TimePoint) {
    begun.set_value();
    go_on.get_future().wait();
  });
  begun.get_future().wait();
  int run = 0;
  int taken = 0;
  while (runner->Post([&](Engine&, base::TimePoint) { ++run; })) ++taken;

  std::promise<int> left;
  runner->Deliver([&](Engine&, base::TimePoint) { left.set_value(run); });
  go_on.set_value();

  EXPECT_EQ(left.get_future().get(), taken);
  EXPECT_GE(taken, 1000);
}

TEST(RunnerTest, WhatWasTakenInIsRunBeforeTheEndAndNothingAfterIt) {
  auto runner = StartRunner();
  std::promise<void> go_on;
  int run = 0;
  runner->Post([&](Engine&, base::TimePoint) { go_on.get_future().wait(); });
  for (int i = 0; i < 100; ++i) runner->Post([&](Engine&, base::TimePoint) { ++run; });

  go_on.set_value();
  runner->Close();

  EXPECT_EQ(run, 100);
  EXPECT_FALSE(runner->Post([&](Engine&, base::TimePoint) { ++run; }));
  runner.reset();
  EXPECT_EQ(run, 100);
}

TEST(RunnerTest, ItsPassesGoOnWhileItHasNothingToDoAndStandStillWhileItIsStuck) {
  const auto runner = StartRunner();
  const auto passes_within = [&](std::chrono::milliseconds time) {
    const uint64_t before = runner->vitals().passes;
    std::this_thread::sleep_for(time);
    return runner->vitals().passes - before;
  };
  EXPECT_GE(passes_within(seconds(1)), 2u);

  std::promise<void> begun, go_on;
  runner->Post([&](Engine&, base::TimePoint) {
    begun.set_value();
    go_on.get_future().wait();
  });
  begun.get_future().wait();
  EXPECT_EQ(passes_within(std::chrono::milliseconds(300)), 0u);

  go_on.set_value();
  EXPECT_GE(passes_within(seconds(1)), 2u);
  EXPECT_EQ(runner->vitals().pool_bytes, uint64_t{64} << 20);
}

}  // namespace
}  // namespace penstock::feed
