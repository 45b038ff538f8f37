#include "server/pyworkers/host_state.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace penstock::pyworkers {
namespace {

using namespace std::chrono_literals;

constexpr base::TimePoint kStart{std::chrono::hours(1)};
constexpr uint64_t kAnn = 1, kBob = 2;

// A dataset with one session, that of kAnn, whose trainer is asked for a host at kStart.
HostLife AskedOfAnn() {
  HostLife host;
  host.SessionOpened(kAnn);
  host.Need();
  host.Ask(kAnn, kStart);
  return host;
}

HostLife SuppliedByAnn() {
  HostLife host = AskedOfAnn();
  host.Forked(kAnn, kStart);
  EXPECT_TRUE(host.Enter());
  return host;
}

TEST(HostStateTest, TheTableHasTheseTransitionsAndNoOthers) {
  using S = HostState;
  using E = HostEvent;
  const std::map<std::pair<S, E>, S> table = {
      {{S::kNone, E::kNeed}, S::kWanted},         {{S::kNone, E::kGiveUp}, S::kFailed},
      {{S::kWanted, E::kEnter}, S::kSupplying},   {{S::kWanted, E::kNotUsed}, S::kNone},
      {{S::kWanted, E::kGiveUp}, S::kFailed},     {{S::kSupplying, E::kGone}, S::kNone},
      {{S::kSupplying, E::kNotUsed}, S::kEnding}, {{S::kEnding, E::kGone}, S::kNone},
      {{S::kFailed, E::kTryAgain}, S::kNone},
  };

  for (const S state : {S::kNone, S::kWanted, S::kSupplying, S::kEnding, S::kFailed}) {
    for (const E event : {E::kNeed, E::kEnter, E::kNotUsed, E::kGone, E::kGiveUp, E::kTryAgain}) {
      const auto found = table.find({state, event});
      const std::optional<S> next =
          found == table.end() ? std::nullopt : std::optional<S>(found->second);
      EXPECT_EQ(Next(state, event), next)
          << "state " << static_cast<int>(state) << ", event " << static_cast<int>(event);
    }
  }
}

TEST(HostLifeTest, WithoutASessionNobodyIsAsked) {
  HostLife host;

  host.Need();

  EXPECT_EQ(host.state(), HostState::kNone);
  EXPECT_FALSE(host.WantsAsk(kStart));
  EXPECT_FALSE(host.Enter());
}

TEST(HostLifeTest, OneTrainerIsAskedAtATimeUntilItsTimeIsOver) {
  HostLife host;
  host.SessionOpened(kAnn);
  host.Need();
  EXPECT_TRUE(host.WantsAsk(kStart));

  host.Ask(kAnn, kStart);

  EXPECT_FALSE(host.WantsAsk(kStart + kHostEntersWithin - 1ns));
  EXPECT_TRUE(host.WantsAsk(kStart + kHostEntersWithin));
}

TEST(HostLifeTest, ATrainerThatWaitsIsAskedSoonAfterOneThatDoesNotAnswer) {
  HostLife host = AskedOfAnn();
  host.SessionOpened(kBob);

  EXPECT_FALSE(host.WantsAsk(kStart + kBusyTrainerAnswersWithin - 1ns, NextTrainer::kWaits));
  EXPECT_TRUE(host.WantsAsk(kStart + kBusyTrainerAnswersWithin, NextTrainer::kWaits));
  EXPECT_FALSE(host.WantsAsk(kStart + kBusyTrainerAnswersWithin, NextTrainer::kIsBusy));
  host.Forked(kAnn, kStart + 1ms);
  EXPECT_FALSE(host.WantsAsk(kStart + kBusyTrainerAnswersWithin + 1ms, NextTrainer::kWaits))
      << "her host is on its way";
}

TEST(HostLifeTest, TrainersThatComputeForMinutesAreNoFailures) {
  HostLife host = AskedOfAnn();
  host.SessionOpened(kBob);

  host.Tick(kStart + 60s);
  host.Ask(kBob, kStart + 60s);
  host.Tick(kStart + 300s);

  EXPECT_EQ(host.failures(), 0u);
  EXPECT_TRUE(host.IsAsked(kAnn));
  EXPECT_TRUE(host.IsAsked(kBob));
}

TEST(HostLifeTest, AForkRestartsTheTimeToEnter) {
  HostLife host = AskedOfAnn();
  const base::TimePoint forked = kStart + 60s;

  host.Forked(kAnn, forked);
  host.Forked(kAnn, forked + 5s);  // says it again

  host.Tick(forked + kHostEntersWithin - 1ns);
  EXPECT_EQ(host.failures(), 0u);
  EXPECT_FALSE(host.WantsAsk(forked + kHostEntersWithin - 1ns));
  host.Tick(forked + kHostEntersWithin);
  EXPECT_EQ(host.failures(), 1u);
}

TEST(HostLifeTest, TheThirdForkedHostThatDoesNotEnterFailsTheDataset) {
  HostLife host;
  host.SessionOpened(kAnn);
  host.Need();
  base::TimePoint now = kStart;
  for (uint32_t failed = 1; failed <= kMaxFailedHosts; ++failed) {
    ASSERT_TRUE(host.WantsAsk(now)) << failed;
    host.Ask(kAnn, now);
    host.Forked(kAnn, now);
    now += kHostEntersWithin;
    host.Tick(now);
    EXPECT_EQ(host.failures(), failed);
    EXPECT_FALSE(host.WantsAsk(now));  // backs off first
    now += kStartAgain.longest;
  }

  EXPECT_EQ(host.state(), HostState::kFailed);
  EXPECT_FALSE(host.Enter());
}

TEST(HostLifeTest, ANewSessionOfAFailedDatasetTriesAgain) {
  HostLife host;
  host.SessionOpened(kAnn);
  base::TimePoint now = kStart;
  for (uint32_t i = 0; i < kMaxFailedHosts; ++i) {
    host.Need();
    host.Ask(kAnn, now);
    ASSERT_TRUE(host.Enter());
    host.Gone(HostEnd::kByItself, now);
    now += kStartAgain.longest;
  }
  ASSERT_EQ(host.state(), HostState::kFailed);
  host.Need();
  EXPECT_EQ(host.state(), HostState::kFailed);

  host.SessionOpened(kBob);
  host.Need();

  EXPECT_EQ(host.failures(), 0u);
  EXPECT_TRUE(host.WantsAsk(now));
}

TEST(HostLifeTest, TheFirstHostThatEntersSuppliesAndTheNextIsSentAway) {
  HostLife host = AskedOfAnn();
  host.SessionOpened(kBob);
  host.Ask(kBob, kStart + kHostEntersWithin);

  EXPECT_TRUE(host.Enter());
  EXPECT_FALSE(host.Enter());

  EXPECT_EQ(host.state(), HostState::kSupplying);
  EXPECT_FALSE(host.IsAsked(kAnn));
  EXPECT_FALSE(host.IsAsked(kBob));
}

TEST(HostLifeTest, AHostThatEndsWithItsTrainerIsReplacedAtOnce) {
  HostLife host = SuppliedByAnn();
  host.SessionOpened(kBob);

  host.Gone(HostEnd::kWithTrainer, kStart);
  host.SessionGone(kAnn, kStart);
  host.Need();

  EXPECT_EQ(host.failures(), 0u);
  EXPECT_TRUE(host.WantsAsk(kStart));
}

TEST(HostLifeTest, AHostThatDiesBeforeAnyWorkerIsReadyHasFailedAndIsBackedOffFrom) {
  HostLife host = SuppliedByAnn();

  host.Gone(HostEnd::kByItself, kStart);
  host.Need();

  EXPECT_EQ(host.failures(), 1u);
  EXPECT_FALSE(host.WantsAsk(kStart + kStartAgain.first - 1ns));
  EXPECT_TRUE(host.WantsAsk(kStart + kStartAgain.first));
}

TEST(HostLifeTest, AHostThatWorkedHasNotFailedAndForgivesTheOnesBefore) {
  HostLife host = SuppliedByAnn();
  host.Gone(HostEnd::kByItself, kStart);
  host.Need();
  host.Ask(kAnn, kStart + 1s);
  ASSERT_TRUE(host.Enter());

  host.Worked();
  host.Gone(HostEnd::kByItself, kStart + 2s);

  EXPECT_EQ(host.failures(), 0u);
}

TEST(HostLifeTest, ATrainerThatLeavesWhileItsHostStartsIsNoFailureAndAnotherIsAskedAtOnce) {
  HostLife host = AskedOfAnn();
  host.SessionOpened(kBob);
  host.Forked(kAnn, kStart);

  host.SessionGone(kAnn, kStart + 1s);

  EXPECT_EQ(host.failures(), 0u);
  EXPECT_TRUE(host.WantsAsk(kStart + 1s));
  EXPECT_FALSE(host.IsAsked(kAnn));
}

TEST(HostLifeTest, NoHostIsWantedOnceTheLastSessionIsGone) {
  HostLife host = AskedOfAnn();

  host.SessionGone(kAnn, kStart);

  EXPECT_EQ(host.state(), HostState::kNone);
  EXPECT_FALSE(host.Enter());
}

TEST(HostLifeTest, AnUnusedHostEndsOnlyAfterAWhileAndASessionInTimeKeepsIt) {
  HostLife host = SuppliedByAnn();
  host.KeepUnused(kKeepUnusedHost);
  host.SessionGone(kAnn, kStart);
  host.Tick(kStart + kKeepUnusedHost - 1ns);
  EXPECT_EQ(host.state(), HostState::kSupplying);
  host.SessionOpened(kBob);
  host.Tick(kStart + 2 * kKeepUnusedHost);
  EXPECT_EQ(host.state(), HostState::kSupplying);

  host.SessionGone(kBob, kStart + 2 * kKeepUnusedHost);
  host.Tick(kStart + 3 * kKeepUnusedHost);

  EXPECT_EQ(host.state(), HostState::kEnding);
  host.SessionOpened(3);  // too late: it gets another host once this one is gone
  host.Need();
  EXPECT_EQ(host.state(), HostState::kEnding);
  host.Gone(HostEnd::kAsTold, kStart + 4 * kKeepUnusedHost);
  host.Need();
  EXPECT_TRUE(host.WantsAsk(kStart + 4 * kKeepUnusedHost));
}

TEST(HostLifeTest, AHostThatNobodyWantsKeptEndsWithTheLastSession) {
  HostLife host = SuppliedByAnn();
  host.SessionOpened(kBob);
  host.SessionGone(kAnn, kStart);
  host.Tick(kStart);
  EXPECT_EQ(host.state(), HostState::kSupplying);

  host.SessionGone(kBob, kStart);
  EXPECT_EQ(host.state(), HostState::kEnding) << "before another session could find it";
}

// Random events against a record of who is alive.
class HostWorld {
 public:
  explicit HostWorld(uint32_t seed) : random_(seed) {}

  void Step() {
    now_ += std::chrono::milliseconds(random_() % 4000);
    const HostState before = host_.state();
    switch (random_() % 8) {
      case 0:
        Open();
        break;
      case 1:
        if (!sessions_.empty()) Close(*sessions_.begin());
        break;
      case 2:
        host_.Need();
        break;
      case 3:
        AskOne();
        break;
      case 4:
        if (!sessions_.empty()) host_.Forked(*sessions_.rbegin(), now_);
        break;
      case 5:
        EXPECT_EQ(host_.Enter(), before == HostState::kWanted);
        break;
      case 6:
        if (before == HostState::kSupplying || before == HostState::kEnding) {
          if (random_() % 2 == 0) host_.Worked();
          host_.Gone(static_cast<HostEnd>(random_() % 3), now_);
        }
        break;
      default:
        host_.Tick(now_);
    }
    Check();
  }

 private:
  void Open() {
    sessions_.insert(++last_);
    host_.SessionOpened(last_);
    EXPECT_NE(host_.state(), HostState::kFailed);
  }
  void Close(uint64_t session) {
    sessions_.erase(session);
    host_.SessionGone(session, now_);
  }
  void AskOne() {
    if (!host_.WantsAsk(now_)) return;
    for (const uint64_t session : sessions_) {
      if (host_.IsAsked(session)) continue;
      host_.Ask(session, now_);
      EXPECT_FALSE(host_.WantsAsk(now_));
      return;
    }
  }
  void Check() {
    EXPECT_EQ(host_.sessions(), sessions_.size());
    EXPECT_LE(host_.failures(), kMaxFailedHosts);
    EXPECT_EQ(host_.state() == HostState::kFailed, host_.failures() == kMaxFailedHosts);
    EXPECT_FALSE(host_.state() == HostState::kWanted && sessions_.empty());
    for (uint64_t session = 1; session <= last_; ++session) {
      if (!host_.IsAsked(session)) continue;
      EXPECT_TRUE(sessions_.contains(session));
      EXPECT_EQ(host_.state(), HostState::kWanted);
    }
  }

  std::mt19937 random_;
  HostLife host_;
  std::set<uint64_t> sessions_;
  uint64_t last_ = 0;
  base::TimePoint now_ = kStart;
};

TEST(HostLifeTest, UnderRandomEventsOnlyLivingSessionsAreAskedAndOnlyWhileOneIsWanted) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    HostWorld world(seed);
    for (int step = 0; step < 300; ++step) world.Step();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace penstock::pyworkers
