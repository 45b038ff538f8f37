// Runs the daemon's canary through an engine with real workers.
#include "server/app/canary.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace penstock::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CanaryTest : public ::testing::Test {
 protected:
  // `max_pixels` limits the images that workers decode.
  void Start(uint64_t max_pixels = decode::SampleLimits().max_pixels) {
    feed::Engine::Options options;
    options.pool.max_bytes = 8 << 20;
    options.workers.count = 1;
    options.workers.limits.max_pixels = max_pixels;
    options.retry_for = milliseconds(50);
    engine_ = std::make_unique<feed::Engine>(
        options,
        [this](uint64_t peer, const void* message, size_t bytes, const std::vector<int>& fds) {
          EXPECT_EQ(peer, Canary::kPeer);
          return canary_.Receive(message, bytes, fds);
        });
    ASSERT_TRUE(engine_->Start().ok());
  }
  bool ComesThroughWithin(base::Duration time) {
    const base::TimePoint until = clock_.Now() + time;
    while (!canary_.came_through() && clock_.Now() < until) {
      engine_->Pump(clock_.Now());
      engine_->Tick(clock_.Now());
      canary_.Step(*engine_, clock_.Now());
      std::this_thread::sleep_for(milliseconds(1));
    }
    return canary_.came_through();
  }

  base::SteadyClock clock_;
  Canary canary_;
  std::unique_ptr<feed::Engine> engine_;
};

TEST_F(CanaryTest, APictureThatTheWorkersRefuseDoesNotComeThroughAndLeavesNothing) {
  Start(100);

  EXPECT_FALSE(ComesThroughWithin(milliseconds(2500)));  // longer than two attempts

  EXPECT_LE(engine_->views().View().slots.held, 1u);
  EXPECT_EQ(engine_->views().View().samples_replaced, 0u);
}

TEST_F(CanaryTest, ABatchComesThroughAndIsCountedNowhere) {
  Start();
  ASSERT_TRUE(ComesThroughWithin(seconds(20)));

  const feed::EngineView view = engine_->views().View();
  EXPECT_EQ(view.pool.reserved_bytes, 0u);
  EXPECT_EQ(view.slots.held, 0u);
  EXPECT_EQ(view.samples_decoded, 0u);
  EXPECT_TRUE(view.feeds.empty());
  EXPECT_EQ(engine_->sessions(), 0u);
  EXPECT_TRUE(engine_->Totals(clock_.Now()).by_dataset.empty());
}

TEST_F(CanaryTest, WhileUsersTakeTurnsThereMayBeNoWorkerForAMoment) {
  Start();
  ASSERT_TRUE(ComesThroughWithin(seconds(20)));
  const base::TimePoint ran = clock_.Now();
  feed::Engine without_workers({}, [](auto&&...) { return absl::OkStatus(); });

  canary_.Step(without_workers, ran + milliseconds(1500));
  EXPECT_TRUE(canary_.came_through());
  canary_.Step(without_workers, ran + milliseconds(2500));
  EXPECT_FALSE(canary_.came_through());
}

TEST_F(CanaryTest, EachTimeItIsAskedForAWorkerDecodesABatchAnew) {
  Start();
  for (int time = 0; time < 20; ++time) {
    ASSERT_TRUE(ComesThroughWithin(seconds(20))) << time;
    canary_.Again();
  }
  EXPECT_EQ(engine_->views().Workers(clock_.Now()).at(0).decoded, 20u);
  EXPECT_EQ(engine_->views().View().pool.reserved_bytes, 0u);
}

}  // namespace
}  // namespace penstock::app
