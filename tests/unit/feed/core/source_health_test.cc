// How a dataset is read while its storage is in trouble.
#include "server/feed/core/source_health.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace penstock::feed {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Reads = SourceHealth::Reads;

constexpr uint32_t kReader = 1000;

class SourceHealthTest : public ::testing::Test {
 protected:
  void Fail(int times = 1) {
    for (; times > 0; --times) health_.Failed({}, now_, "it is away", kReader);
  }
  // Begins a read on a spare thread. Returns false if that is not allowed.
  bool Probe() {
    if (health_.MayRead(now_) != Reads::kAside) return false;
    health_.BegunAside();
    return true;
  }

  base::TimePoint now_{minutes(1)};
  SourceHealth health_;
};

TEST_F(SourceHealthTest, AFewFailuresAmongReadsThatComeBackAreNoTroubleOfTheSource) {
  for (int i = 0; i < 100; ++i) {
    Fail(SourceHealth::kFailures - 1);
    EXPECT_TRUE(health_.trouble().has_value());
    health_.CameBack({}, now_);
    ASSERT_EQ(health_.MayRead(now_), Reads::kFreely);
    ASSERT_FALSE(health_.trouble().has_value());
  }
}

TEST_F(SourceHealthTest, FailuresInARowMakeItBeReadAsideOneAtATimeAfterAPause) {
  Fail(SourceHealth::kFailures);

  EXPECT_EQ(health_.MayRead(now_), Reads::kNotNow);
  EXPECT_EQ(health_.trouble()->reason, "it is away");
  EXPECT_EQ(health_.trouble()->since, now_);
  now_ += milliseconds(10);
  EXPECT_TRUE(Probe());
  EXPECT_FALSE(Probe());
}

TEST_F(SourceHealthTest, ATroubleLongAfterAnotherOneBeginsAnew) {
  Fail(SourceHealth::kFailures);
  now_ += minutes(10);  // nobody reads

  Fail();

  EXPECT_EQ(health_.trouble()->since, now_);
}

TEST_F(SourceHealthTest, AReadThatTakesLongContinuesTheTroubleInWhichItBegan) {
  const base::TimePoint begin = now_;
  Fail(SourceHealth::kFailures);
  for (int i = 0; i < 5; ++i) {
    now_ += seconds(1);
    ASSERT_TRUE(Probe());
    now_ += minutes(2);
    health_.Failed({.aside = true, .took = minutes(2)}, now_, "it is away", kReader);
  }

  EXPECT_EQ(health_.trouble()->since, begin);
}

TEST_F(SourceHealthTest, PausesDoubleToASecond) {
  Fail(SourceHealth::kFailures);
  const base::TimePoint begin = now_;
  int probes = 0;
  for (; now_ - begin < minutes(1); now_ += milliseconds(1)) {
    if (!Probe()) continue;
    ++probes;
    health_.Failed({.aside = true}, now_, "still", kReader);
  }

  EXPECT_GE(probes, 60);
  EXPECT_LE(probes, 70);
  EXPECT_EQ(health_.trouble()->since, begin);
  EXPECT_EQ(health_.trouble()->reason, "still");
}

TEST_F(SourceHealthTest, OneThatComesBackAtOnceEndsTheTrouble) {
  Fail(SourceHealth::kFailures);
  now_ += milliseconds(10);
  ASSERT_TRUE(Probe());

  health_.CameBack({.aside = true, .took = milliseconds(2)}, now_);

  EXPECT_EQ(health_.MayRead(now_), Reads::kFreely);
  EXPECT_TRUE(health_.is_well());
}

// No other dataset waits for the slow source, which is read as fast as its threads can.
TEST_F(SourceHealthTest, ASlowSourceIsReadAsideByEverMoreThreads) {
  const SourceHealth::Read slow = {.overdue = true, .took = milliseconds(300)};
  health_.Overdue({.took = milliseconds(200)}, now_, "slow", kReader);
  health_.CameBack(slow, now_);
  for (uint32_t most = 2; most <= 2 * SourceHealth::kMostAside; most *= 2) {
    uint32_t at_once = 0;
    while (Probe()) ++at_once;
    EXPECT_EQ(at_once, std::min(most, SourceHealth::kMostAside));
    health_.CameBack({.aside = true, .took = milliseconds(300)}, now_);
    for (; at_once > 1; --at_once) health_.Dropped({.aside = true});
  }
}

TEST_F(SourceHealthTest, WhileAReadIsMissingEvenQuickOnesAreMadeAside) {
  health_.Overdue({.took = milliseconds(200)}, now_, "the read does not come back", kReader);
  EXPECT_EQ(health_.MayRead(now_), Reads::kNotNow);
  EXPECT_EQ(health_.trouble()->since, now_ - milliseconds(200));
  const base::TimePoint since = health_.trouble()->since;
  now_ += seconds(1);
  ASSERT_TRUE(Probe());

  health_.CameBack({.aside = true, .took = milliseconds(1)}, now_);

  EXPECT_EQ(health_.MayRead(now_), Reads::kAside);
  EXPECT_EQ(health_.trouble()->since, since);
  health_.CameBack({.overdue = true, .took = seconds(1)}, now_);
  EXPECT_FALSE(health_.trouble().has_value());
  ASSERT_TRUE(Probe());
  health_.CameBack({.aside = true, .took = milliseconds(1)}, now_);
  EXPECT_TRUE(health_.is_well());
}

TEST_F(SourceHealthTest, OfASourceThatIsAwayFewReadsAreLeftBehindHoweverLongItIs) {
  for (int lane = 0; lane < 4; ++lane)
    health_.Overdue({.took = milliseconds(200)}, now_, "away", kReader);
  const base::TimePoint begin = now_;
  uint32_t left = 4;
  for (; now_ - begin < minutes(60); now_ += milliseconds(100)) {
    if (!Probe()) continue;
    health_.Overdue({.aside = true, .took = milliseconds(200)}, now_, "away", kReader);
    ++left;
    if (now_ - begin < minutes(1)) {
      EXPECT_LE(left, 4u + 6);
    }
  }

  EXPECT_EQ(left, SourceHealth::kMostAside);
}

// Whatever happens, reads that begin and end are counted correctly, and the source recovers.
TEST_F(SourceHealthTest, InAnyOrderOfEventsItIsWellOnceAllReadsCameBackAtOnce) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    SourceHealth health;
    std::vector<SourceHealth::Read> reads;
    for (int i = 0; i < 500; ++i) {
      now_ += milliseconds(random() % 50);
      const Reads may = health.MayRead(now_);
      if (may != Reads::kNotNow && reads.size() < 40 && random() % 2 == 0) {
        reads.push_back({.aside = may == Reads::kAside});
        if (may == Reads::kAside) health.BegunAside();
      }
      if (reads.empty()) continue;
      SourceHealth::Read& read = reads[random() % reads.size()];
      const uint32_t event = random() % 5;
      if (event == 0 && !read.overdue) {
        health.Overdue(read, now_, "overdue", kReader);
        read.overdue = true;
        continue;
      }
      if (event == 1) health.Failed(read, now_, "failed", kReader);
      if (event == 2) health.CameBack(read, now_);
      if (event == 3) health.Dropped(read);
      if (event != 0 && event != 4) std::swap(read, reads.back()), reads.pop_back();
    }
    for (const SourceHealth::Read& read : reads) health.CameBack(read, now_);
    for (int i = 0; i < 2 && health.MayRead(now_) == Reads::kAside; ++i) {
      health.BegunAside();
      health.CameBack({.aside = true}, now_);
    }
    EXPECT_TRUE(reads.empty() || health.is_well()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace penstock::feed
