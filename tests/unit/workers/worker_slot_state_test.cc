#include "server/workers/slots/worker_slot_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace penstock::workers {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr base::TimePoint kNow{seconds(1000)};

class WorkerSlotStateTest : public ::testing::Test {
 protected:
  static DeadWorker NobodysFault() { return {.reason = "r", .how = "h", .was_ready = true}; }
  static DeadWorker Charged() {
    return {.reason = "with sample 7", .how = "h", .was_ready = true, .account = 9};
  }
  WorkerState View(base::TimePoint now = kNow) const { return slot_.View(now, false, false); }

  Restarts restarts_{{.restarts = 2, .window = seconds(60)}};
  WorkerSlotState slot_{{.first = milliseconds(100), .longest = seconds(10)}};
};

TEST_F(WorkerSlotStateTest, ANewOneIsOpenAndUnused) {
  EXPECT_TRUE(slot_.IsOpen(kNow));
  EXPECT_FALSE(slot_.awaits_restart());
  EXPECT_EQ(View(), WorkerState::kUnused);
  EXPECT_EQ(slot_.View(kNow, true, false), WorkerState::kStarting);
  EXPECT_EQ(slot_.View(kNow, true, true), WorkerState::kRunning);
}

TEST_F(WorkerSlotStateTest, AfterADeathThatIsNobodysItPausesThenRestarts) {
  slot_.OnDeath(NobodysFault(), kNow, restarts_);

  EXPECT_FALSE(slot_.IsOpen(kNow));
  EXPECT_FALSE(slot_.IsRestartDue(kNow + milliseconds(99)));
  EXPECT_TRUE(slot_.IsRestartDue(kNow + milliseconds(100)));
  EXPECT_EQ(View(), WorkerState::kRestarting);
  EXPECT_EQ(slot_.last_death(), "r");
}

TEST_F(WorkerSlotStateTest, WhoeverPaysForADeathWaitsItselfAndTheSlotDoesNot) {
  for (int i = 0; i < 10; ++i) slot_.OnDeath(Charged(), kNow, restarts_);

  EXPECT_TRUE(slot_.IsRestartDue(kNow));
  EXPECT_TRUE(restarts_.status().ok());
}

TEST_F(WorkerSlotStateTest, AWorkerThatWasReplacedWithoutBlameCostsNoRestart) {
  DeadWorker dead = NobodysFault();
  dead.blameless = true;
  for (int i = 0; i < 10; ++i) slot_.OnDeath(dead, kNow, restarts_);

  EXPECT_TRUE(slot_.IsRestartDue(kNow));
}

TEST_F(WorkerSlotStateTest, PausesDoubleUntilRowsAreDecoded) {
  slot_.OnDeath(NobodysFault(), kNow, restarts_);
  slot_.OnDeath(NobodysFault(), kNow, restarts_);
  EXPECT_FALSE(slot_.IsOpen(kNow + milliseconds(199)));
  EXPECT_TRUE(slot_.IsOpen(kNow + milliseconds(200)));

  slot_.OnDecoded();
  slot_.OnDeath(NobodysFault(), kNow + seconds(60), restarts_);

  EXPECT_TRUE(slot_.IsOpen(kNow + seconds(60) + milliseconds(100)));
}

TEST_F(WorkerSlotStateTest, OnceTheRestartsAreSpentItStaysDownForGood) {
  for (int i = 0; i < 3; ++i) slot_.OnDeath(NobodysFault(), kNow, restarts_);

  EXPECT_FALSE(slot_.IsOpen(kNow + seconds(1'000'000)));
  EXPECT_EQ(View(kNow + seconds(1'000'000)), WorkerState::kStopped);
  EXPECT_THAT(std::string(restarts_.status().message()), HasSubstr("the last one was h;"));
}

TEST_F(WorkerSlotStateTest, StartsThatFailInARowAreBoundedHoweverSeldom) {
  for (int i = 0; i < 2; ++i) slot_.OnStartFailed("no program", kNow + i * seconds(60), restarts_);
  EXPECT_TRUE(restarts_.status().ok());

  slot_.OnStartFailed("no program", kNow + seconds(180), restarts_);

  EXPECT_THAT(std::string(restarts_.status().message()), HasSubstr("no program"));
}

TEST_F(WorkerSlotStateTest, AWorkerThatWasReadyEndsARowOfFailedStarts) {
  for (int i = 0; i < 2; ++i) slot_.OnStartFailed("no program", kNow + i * seconds(60), restarts_);
  slot_.OnDeath(NobodysFault(), kNow + seconds(180), restarts_);

  slot_.OnStartFailed("no program", kNow + seconds(300), restarts_);

  EXPECT_TRUE(restarts_.status().ok());
}

TEST_F(WorkerSlotStateTest, AStartAfterADeathIsARestartAndTheFirstIsNone) {
  slot_.OnStarted();
  EXPECT_EQ(slot_.restarts(), 0u);

  slot_.OnDeath(Charged(), kNow, restarts_);
  slot_.OnStarted();

  EXPECT_EQ(slot_.restarts(), 1u);
  EXPECT_FALSE(slot_.awaits_restart());
}

TEST_F(WorkerSlotStateTest, ARetiringOneTakesNothingAndStartsNothing) {
  slot_.OnDeath(Charged(), kNow, restarts_);
  slot_.SetRetiring(true);

  EXPECT_FALSE(slot_.IsOpen(kNow));
  EXPECT_FALSE(slot_.IsRestartDue(kNow));
  EXPECT_EQ(slot_.View(kNow, true, true), WorkerState::kRetiring);

  slot_.SetRetiring(false);
  EXPECT_TRUE(slot_.IsRestartDue(kNow));
}

}  // namespace
}  // namespace penstock::workers
