// How long the daemon waits for an indexer that gets no further.
#include "server/indexer/patience.h"

#include <gtest/gtest.h>

#include <functional>

namespace penstock::indexer {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kMiB = 1 << 20;

class PatienceTest : public ::testing::Test {
 protected:
  PatienceTest() { Begin(4 * kMiB); }
  void Begin(uint64_t bytes) {
    look_.ready = true;
    patience_.Begin(bytes, look_);
  }

  // Looks every 100 ms; `step` changes what is seen. Returns the verdict and the time until it.
  std::pair<OutOfPatience, base::Duration> Wait(base::Duration most,
                                                const std::function<void(Patience::Look&)>& step) {
    for (base::Duration waited = {}; waited < most;) {
      waited += milliseconds(100);
      look_.now += milliseconds(100);
      step(look_);
      if (const auto verdict = patience_.Judge(look_); verdict != OutOfPatience::kNo)
        return {verdict, waited};
    }
    return {OutOfPatience::kNo, most};
  }
  using Ends = std::pair<OutOfPatience, base::Duration>;

  Patience patience_{{.start = seconds(10),
                      .stopped = seconds(60),
                      .storage = seconds(30),
                      .computing = seconds(20)}};
  Patience::Look look_{.now = base::TimePoint(hours(1))};
};

TEST_F(PatienceTest, ItEndsWithAProcessThatDoesNothing) {
  EXPECT_EQ(Wait(hours(1), [](auto&) {}), Ends(OutOfPatience::kStopped, seconds(60)));
}

TEST_F(PatienceTest, ItEndsWithAReadThatIsNotAnswered) {
  look_.reading = true;
  EXPECT_EQ(Wait(hours(1), [](auto&) {}), Ends(OutOfPatience::kStorageSilent, seconds(30)));
}

TEST_F(PatienceTest, ItEndsWithAProcessThatOnlyComputes) {
  const auto ends = Wait(hours(1), [](auto& look) { look.cpu += milliseconds(50); });
  EXPECT_EQ(ends.first, OutOfPatience::kComputesInVain);
  EXPECT_GE(ends.second, seconds(40));  // it had half a core
  EXPECT_LT(ends.second, seconds(41));
}

TEST_F(PatienceTest, ALargeFileMayBeComputedOnForLongerButNotForLong) {
  Begin(1024 * kMiB);
  EXPECT_GT(patience_.MostComputing(), seconds(50));
  EXPECT_LT(patience_.MostComputing(), seconds(60));
  Begin(UINT64_MAX);
  EXPECT_EQ(patience_.MostComputing(), std::chrono::minutes(10));
}

TEST_F(PatienceTest, ItDoesNotEndWithOneThatReadsOnHoweverLongThatTakes) {
  Begin(uint64_t{2} << 40);
  const auto ends = Wait(hours(24), [](auto& look) {
    look.cpu += milliseconds(100);
    look.read_bytes += 4096;
  });
  EXPECT_EQ(ends.first, OutOfPatience::kNo);
}

TEST_F(PatienceTest, ItDoesNotEndWithOneThatSendsMessages) {
  const auto ends = Wait(hours(1), [this](auto& look) {
    look.cpu += milliseconds(100);
    patience_.NoteMessage();
  });
  EXPECT_EQ(ends.first, OutOfPatience::kNo);
}

TEST_F(PatienceTest, ReadingTheSameForEverIsNoProgress) {
  const auto ends = Wait(hours(1), [](auto& look) {
    look.cpu += milliseconds(100);
    look.read_bytes += kMiB;
  });
  EXPECT_EQ(ends.first, OutOfPatience::kComputesInVain);
}

TEST_F(PatienceTest, ACountThatGoesBackwardsIsNoProgress) {
  look_.read_bytes = kMiB;
  Begin(4 * kMiB);
  EXPECT_EQ(Wait(hours(1), [](auto& look) { --look.read_bytes; }).first, OutOfPatience::kStopped);
}

TEST_F(PatienceTest, OneThatIsNeverReadyHasItsTimeToStartOnly) {
  look_.ready = false;
  const auto ends = Wait(hours(1), [](auto& look) { look.cpu += milliseconds(10); });
  EXPECT_EQ(ends, Ends(OutOfPatience::kNotReady, seconds(10)));
}

TEST_F(PatienceTest, TimeInWhichTheDaemonDidNotRunDoesNotCount) {
  look_.now += hours(10);
  EXPECT_EQ(patience_.Judge(look_), OutOfPatience::kNo);
  EXPECT_EQ(Wait(hours(1), [](auto&) {}), Ends(OutOfPatience::kStopped, seconds(59)));
}

}  // namespace
}  // namespace penstock::indexer
