#include "server/pyworkers/place_state.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <random>
#include <utility>

namespace penstock::pyworkers {
namespace {

using namespace std::chrono_literals;

constexpr base::TimePoint kAskedAt{std::chrono::hours(1)};
constexpr base::Duration kStartTimeout = 10s;
constexpr base::Duration kTimeout = 60s;

PlaceLife ReadyPlace() {
  PlaceLife place(kStartTimeout);
  EXPECT_TRUE(place.Enter(place.Ask(kAskedAt)));
  place.NoteReady();
  return place;
}

TEST(PlaceStateTest, TheTableHasTheseTransitionsAndNoOthers) {
  using S = PlaceState;
  using E = PlaceEvent;
  const std::map<std::pair<S, E>, S> table = {
      {{S::kEmpty, E::kAsk}, S::kAsked},  {{S::kAsked, E::kEnter}, S::kEntered},
      {{S::kAsked, E::kEnd}, S::kDead},   {{S::kEntered, E::kReady}, S::kReady},
      {{S::kEntered, E::kEnd}, S::kDead}, {{S::kReady, E::kEnd}, S::kDead},
      {{S::kDead, E::kTold}, S::kEmpty},
  };

  for (const S state : {S::kEmpty, S::kAsked, S::kEntered, S::kReady, S::kDead}) {
    for (const E event : {E::kAsk, E::kEnter, E::kReady, E::kEnd, E::kTold}) {
      const auto found = table.find({state, event});
      const std::optional<S> next =
          found == table.end() ? std::nullopt : std::optional<S>(found->second);
      EXPECT_EQ(Next(state, event), next)
          << "state " << static_cast<int>(state) << ", event " << static_cast<int>(event);
    }
  }
}

TEST(PlaceLifeTest, OnlyTheStartThatWasAskedForEntersAndOnlyOnce) {
  PlaceLife place(kStartTimeout);
  EXPECT_FALSE(place.Enter(0));
  EXPECT_FALSE(place.Enter(1));
  ASSERT_EQ(place.Ask(kAskedAt), 1u);

  EXPECT_FALSE(place.Enter(2));
  EXPECT_TRUE(place.Enter(1));
  EXPECT_FALSE(place.Enter(1));
}

TEST(PlaceLifeTest, AProcessThatIsToBeKilledDoesNotEnterAnymore) {
  PlaceLife place(kStartTimeout);
  const uint32_t start = place.Ask(kAskedAt);
  ASSERT_TRUE(place.CheckTimeOuts(kAskedAt + kStartTimeout + 1ns, std::nullopt, kTimeout));

  EXPECT_FALSE(place.Enter(start));
}

TEST(PlaceLifeTest, ThePlaceOfADeadWorkerIsEmptyOnceItsHostSaidHowItEnded) {
  PlaceLife place = ReadyPlace();
  place.NoteEnd(kAskedAt);
  EXPECT_FALSE(place.Clear(/*host_told=*/false, kAskedAt));

  EXPECT_TRUE(place.Clear(/*host_told=*/true, kAskedAt));

  EXPECT_EQ(place.state(), PlaceState::kEmpty);
  EXPECT_FALSE(place.Clear(true, kAskedAt));
}

TEST(PlaceLifeTest, ASilentHostIsWaitedForOnlyBriefly) {
  PlaceLife place = ReadyPlace();
  place.NoteEnd(kAskedAt);

  EXPECT_FALSE(place.Clear(false, kAskedAt + kAwaitWords - 1ns));
  EXPECT_TRUE(place.Clear(false, kAskedAt + kAwaitWords));
}

TEST(PlaceLifeTest, EachDeathDoublesThePauseAndABatchResetsIt) {
  PlaceLife place(kStartTimeout);
  base::TimePoint now = kAskedAt;
  const auto die = [&] {
    place.Ask(now);
    place.NoteEnd(now);
    ASSERT_TRUE(place.Clear(true, now));
  };
  die();
  EXPECT_FALSE(place.MayAsk(now + 100ms - 1ns));
  EXPECT_TRUE(place.MayAsk(now + 100ms));
  now += 100ms;
  die();
  EXPECT_FALSE(place.MayAsk(now + 200ms - 1ns));
  now += 200ms;

  EXPECT_EQ(place.Ask(now), 3u);
  place.Worked();
  place.NoteEnd(now);
  ASSERT_TRUE(place.Clear(true, now));

  EXPECT_TRUE(place.MayAsk(now + 100ms));
}

TEST(PlaceLifeTest, AWorkerThatIsNotReadyInTimeIsKilledOnce) {
  PlaceLife place(kStartTimeout);
  ASSERT_TRUE(place.Enter(place.Ask(kAskedAt)));

  EXPECT_FALSE(place.CheckTimeOuts(kAskedAt + kStartTimeout, std::nullopt, kTimeout));
  EXPECT_TRUE(place.CheckTimeOuts(kAskedAt + kStartTimeout + 1ns, std::nullopt, kTimeout));
  EXPECT_FALSE(place.CheckTimeOuts(kAskedAt + kStartTimeout + 2ns, std::nullopt, kTimeout));

  EXPECT_EQ(place.kill_cause(), KillCause::kNotReady);
}

TEST(PlaceLifeTest, OnlyAWorkerWithABatchMustMakeProgress) {
  PlaceLife place = ReadyPlace();
  EXPECT_FALSE(place.CheckTimeOuts(kAskedAt + 24h, std::nullopt, kTimeout));
  const base::TimePoint moved = kAskedAt + 1h;

  EXPECT_FALSE(place.CheckTimeOuts(moved + kTimeout, moved, kTimeout));
  EXPECT_TRUE(place.CheckTimeOuts(moved + kTimeout + 1ns, moved, kTimeout));

  EXPECT_EQ(place.kill_cause(), KillCause::kNoProgress);
}

TEST(PlaceLifeTest, TheFirstCauseOfAKillCountsAndTheNextStartHasNone) {
  PlaceLife place = ReadyPlace();
  EXPECT_TRUE(place.Condemn(KillCause::kBroken));
  EXPECT_FALSE(place.Condemn(KillCause::kNoProgress));
  EXPECT_EQ(place.kill_cause(), KillCause::kBroken);
  place.NoteEnd(kAskedAt);
  EXPECT_FALSE(place.Condemn(KillCause::kNoProgress));  // nothing to kill
  ASSERT_TRUE(place.Clear(true, kAskedAt));

  place.Ask(kAskedAt + 1s);

  EXPECT_EQ(place.kill_cause(), KillCause::kNone);
}

TEST(PlaceLifeTest, TheWordsNameOurOwnReasonOrElseTheExit) {
  const posix::Exit killed{.signalled = true, .code = 9};

  EXPECT_EQ(Describe(KillCause::kNoProgress, killed), "killed because a sample took too long");
  EXPECT_EQ(Describe(KillCause::kNone, killed), "killed by signal 9 (Killed)");
  EXPECT_EQ(Describe(KillCause::kNone, std::nullopt), "ended; its host did not say how");
}

TEST(PlaceLifeTest, UnderRandomEventsStartsAreNewAndNoProcessFollowsOneThatLives) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    PlaceLife place(kStartTimeout);
    base::TimePoint now = kAskedAt;
    bool is_alive = false;  // a process may exist at the place
    uint32_t last = 0;
    for (int step = 0; step < 500; ++step) {
      now += std::chrono::milliseconds(random() % 500);
      switch (random() % 7) {
        case 0:
          if (!place.MayAsk(now)) break;
          EXPECT_FALSE(is_alive);
          EXPECT_EQ(place.Ask(now), ++last);
          is_alive = true;
          break;
        case 1:
          if (const uint32_t start = last + random() % 3 - 1; place.Enter(start)) {
            EXPECT_TRUE(is_alive);
            EXPECT_EQ(start, last);
          }
          break;
        case 2:
          place.NoteReady();
          break;
        case 3:
          if (place.CheckTimeOuts(now, now - std::chrono::seconds(random() % 90), kTimeout)) {
            EXPECT_TRUE(is_alive);
          }
          break;
        case 4:
          if (is_alive) place.NoteEnd(now);
          is_alive = false;
          break;
        case 5:
          if (place.Clear(random() % 2 == 0, now)) {
            EXPECT_FALSE(is_alive);
          }
          break;
        default:
          if (place.Condemn(KillCause::kBroken)) {
            EXPECT_TRUE(is_alive);
          }
      }
      const bool has_process =
          place.state() != PlaceState::kEmpty && place.state() != PlaceState::kDead;
      ASSERT_EQ(has_process, is_alive);
    }
  }
}

}  // namespace
}  // namespace penstock::pyworkers
