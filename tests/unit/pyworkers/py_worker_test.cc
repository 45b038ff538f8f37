#include "server/pyworkers/py_worker.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "tests/unit/pyworkers/fake_process.h"
#include "tests/unit/pyworkers/fake_worker.h"

namespace penstock::pyworkers {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kRoomAtFirst = 4096;

MakeItem ItemOf(uint64_t id) {
  MakeItem item{.id = id, .timeout = 60s};
  item.request.rows = 10;
  item.request.granted = kRoomAtFirst;
  return item;
}

// A worker process that has entered, and the test on its side of the channel.
class WorkerRig {
 public:
  WorkerRig() {
    EXPECT_TRUE(place_.Enter(place_.Ask(now_)));
    worker_ = *PyWorker::Make({.place = 0, .start = 1}, process_.pidfd(), place_);
    fake_.emplace(worker_->channel().memory());
  }

  void BecomeReady() {
    fake_->page().ready = 1;
    EXPECT_TRUE(Collect().results.empty());
  }
  PyWorker::News Collect() {
    PyWorker::News news;
    worker_->Collect(now_, news);
    return news;
  }
  // The worker takes one batch after the other, each for 1 ms, so that it may have two.
  void MakeShortBatches() {
    for (uint64_t id = 1000; worker_->Headroom() < kMaxInHand; ++id) {
      worker_->Submit(ItemOf(id), now_);
      now_ += 1ms;
      fake_->Done(fake_->Take()->sequence, 1);
      ASSERT_EQ(Collect().results.size(), 1u);
    }
  }

  FakeProcess process_;
  PlaceLife place_{/*start_timeout=*/10s};
  base::TimePoint now_{1h};
  std::unique_ptr<PyWorker> worker_;
  std::optional<FakeWorker> fake_;
};

class PyWorkerTest : public testing::Test, protected WorkerRig {
 protected:
  void SetUp() override { BecomeReady(); }
};

TEST_F(PyWorkerTest, NothingIsGivenBeforeTheWorkerIsReady) {
  WorkerRig rig;
  EXPECT_EQ(rig.worker_->Headroom(), 0u);

  rig.BecomeReady();

  EXPECT_EQ(rig.worker_->Headroom(), 1u);
}

TEST_F(PyWorkerTest, AMadeBatchAndAnExceptionAreResults) {
  worker_->Submit(ItemOf(7), now_);
  now_ += 30ms;
  fake_->Done(fake_->Take()->sequence, 99);
  const std::vector<MakeResult> made = Collect().results;
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].id, 7u);
  EXPECT_EQ(made[0].end, MakeEnd::kMade);
  EXPECT_EQ(made[0].bytes, 99u);
  EXPECT_EQ(made[0].taken, 30ms);

  worker_->Submit(ItemOf(8), now_);
  fake_->Answer(
      {.sequence = fake_->Take()->sequence, .outcome = shm::MakeOutcome::kRaised, .row = 3});
  const std::vector<MakeResult> raised = Collect().results;
  ASSERT_EQ(raised.size(), 1u);
  EXPECT_EQ(raised[0].end, MakeEnd::kRaised);
  EXPECT_EQ(raised[0].row, 3u);
}

TEST_F(PyWorkerTest, AnExceptionOfNoRowNamesNone) {
  worker_->Submit(ItemOf(7), now_);
  fake_->Answer(
      {.sequence = fake_->Take()->sequence, .outcome = shm::MakeOutcome::kRaised, .row = 10});
  EXPECT_EQ(Collect().results.at(0).row, std::nullopt);
}

TEST_F(PyWorkerTest, OnlyAWorkerWithShortBatchesHasTwo) {
  MakeShortBatches();
  EXPECT_EQ(worker_->Headroom(), 2u);

  worker_->Submit(ItemOf(1), now_);
  now_ += 100ms;
  fake_->Done(fake_->Take()->sequence, 1);
  Collect();

  EXPECT_EQ(worker_->Headroom(), 1u);
}

TEST_F(PyWorkerTest, ABatchThatNeedsRoomIsNotOverUntilItIsAnsweredAgain) {
  worker_->Submit(ItemOf(7), now_);
  fake_->NeedsRoom(fake_->Take()->sequence, 10000);
  const PyWorker::News news = Collect();
  ASSERT_EQ(news.needs.size(), 1u);
  EXPECT_EQ(news.needs[0].id, 7u);
  EXPECT_EQ(news.needs[0].bytes, 10000u);
  EXPECT_EQ(news.needs[0].granted, kRoomAtFirst);
  EXPECT_TRUE(news.results.empty());

  worker_->GiveRoom(7, 12288, now_);
  const shm::MakeRequest room = *fake_->Take();
  EXPECT_EQ(room.granted, 12288u);
  fake_->Done(room.sequence, 10000);

  EXPECT_EQ(Collect().results.at(0).bytes, 10000u);
}

TEST_F(PyWorkerTest, RoomForABatchThatHasEndedIsIgnored) {
  worker_->Submit(ItemOf(7), now_);
  fake_->NeedsRoom(fake_->Take()->sequence, 10000);
  Collect();
  process_.Die();
  EXPECT_EQ(Collect().results.size(), 1u);

  worker_->GiveRoom(7, 12288, now_);

  EXPECT_FALSE(fake_->Take().has_value());
}

TEST_F(PyWorkerTest, ADeathStrikesTheBatchInHandAloneAndNamesItsRow) {
  MakeShortBatches();
  worker_->Submit(ItemOf(1), now_);
  worker_->Submit(ItemOf(2), now_);
  fake_->ReachRow(fake_->Take()->sequence, 6);

  process_.Die();
  const std::vector<MakeResult> results = Collect().results;

  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].end, MakeEnd::kStrike);
  EXPECT_EQ(results[0].row, 6u);
  EXPECT_EQ(results[1].end, MakeEnd::kLost);
  EXPECT_TRUE(worker_->is_gone());
  EXPECT_EQ(place_.state(), PlaceState::kDead);
  EXPECT_EQ(worker_->Headroom(), 0u);
}

TEST_F(PyWorkerTest, ADeathWithNothingStartedStrikesNothing) {
  worker_->Submit(ItemOf(1), now_);
  process_.Die();
  EXPECT_EQ(Collect().results.at(0).end, MakeEnd::kLost);
}

TEST_F(PyWorkerTest, ABatchThatWasAnsweredBeforeTheDeathIsMade) {
  worker_->Submit(ItemOf(1), now_);
  fake_->Done(fake_->Take()->sequence, 5);
  process_.Die();

  const std::vector<MakeResult> results = Collect().results;

  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].end, MakeEnd::kMade);
  EXPECT_TRUE(worker_->is_gone());
}

TEST_F(PyWorkerTest, AWorkerThatLiesIsKilledAndItsBatchEndsOnlyWhenItIsGone) {
  worker_->Submit(ItemOf(1), now_);
  fake_->Done(fake_->Take()->sequence, kRoomAtFirst + 1);

  EXPECT_TRUE(Collect().results.empty());
  EXPECT_EQ(worker_->Headroom(), 0u);
  EXPECT_EQ(worker_->channel().status().message(), "a batch of 4097 bytes, expected 1 to 4096");

  EXPECT_EQ(process_.AwaitDeath(), SIGKILL);
  const std::vector<MakeResult> results = Collect().results;
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].end, MakeEnd::kStrike);
  EXPECT_EQ(results[0].cause, KillCause::kBroken);
}

TEST_F(PyWorkerTest, AWorkerThatSaysItStartedNothingIsStillStruckForItsLie) {
  worker_->Submit(ItemOf(1), now_);
  fake_->Answer({.sequence = 1, .outcome = static_cast<shm::MakeOutcome>(9)});
  Collect();
  process_.AwaitDeath();
  EXPECT_EQ(Collect().results.at(0).end, MakeEnd::kStrike);
}

TEST_F(PyWorkerTest, EachRowHasTheWholeTimeOut) {
  worker_->Submit(ItemOf(1), now_);
  const uint64_t sequence = fake_->Take()->sequence;
  for (uint32_t row = 1; row <= 5; ++row) {
    now_ += 59s;
    fake_->ReachRow(sequence, row);
    worker_->CheckTimeOuts(now_);
  }
  now_ += 60s;
  worker_->CheckTimeOuts(now_);
  EXPECT_EQ(place_.kill_cause(), KillCause::kNone);

  now_ += 1ns;
  worker_->CheckTimeOuts(now_);

  EXPECT_EQ(process_.AwaitDeath(), SIGKILL);
  const MakeResult result = Collect().results.at(0);
  EXPECT_EQ(result.end, MakeEnd::kStrike);
  EXPECT_EQ(result.cause, KillCause::kNoProgress);
  EXPECT_EQ(result.row, 5u);
}

TEST_F(PyWorkerTest, AnIdleWorkerAndOneThatAwaitsRoomMayTakeForever) {
  now_ += 24h;
  worker_->CheckTimeOuts(now_);
  worker_->Submit(ItemOf(1), now_);
  worker_->CheckTimeOuts(now_);
  fake_->NeedsRoom(fake_->Take()->sequence, 10000);
  Collect();
  now_ += 24h;
  worker_->CheckTimeOuts(now_);
  EXPECT_EQ(place_.kill_cause(), KillCause::kNone);

  worker_->GiveRoom(1, 12288, now_);
  worker_->CheckTimeOuts(now_ + 60s);
  EXPECT_EQ(place_.kill_cause(), KillCause::kNone);
  worker_->CheckTimeOuts(now_ + 60s + 1ns);
  EXPECT_EQ(place_.kill_cause(), KillCause::kNoProgress);
}

TEST_F(PyWorkerTest, AStoppedWorkerThatStartsNothingIsStruckByTheTimeOut) {
  worker_->Submit(ItemOf(1), now_);
  now_ += 61s;
  worker_->CheckTimeOuts(now_);
  process_.AwaitDeath();
  EXPECT_EQ(Collect().results.at(0).end, MakeEnd::kStrike);
}

TEST_F(PyWorkerTest, AWorkerThatIsNeverReadyIsKilled) {
  WorkerRig rig;
  rig.worker_->CheckTimeOuts(rig.now_ + 10s);
  EXPECT_EQ(rig.place_.kill_cause(), KillCause::kNone);

  rig.worker_->CheckTimeOuts(rig.now_ + 10s + 1ns);

  EXPECT_EQ(rig.place_.kill_cause(), KillCause::kNotReady);
  EXPECT_EQ(rig.process_.AwaitDeath(), SIGKILL);
}

TEST_F(PyWorkerTest, TheWorkerIsAskedToNotifyOfEachAnswer) {
  worker_->Submit(ItemOf(1), now_);
  fake_->Done(fake_->Take()->sequence, 1);
  EXPECT_TRUE(shm::EndSleep(fake_->page().daemon_asleep));
  posix::NotifyEvent(worker_->event());
  ASSERT_TRUE(posix::IsGone(worker_->event()));  // readable

  Collect();

  EXPECT_FALSE(posix::IsGone(worker_->event()));
  EXPECT_TRUE(shm::EndSleep(fake_->page().daemon_asleep));
}

// What must hold of each item, whatever the worker and its process do.
class RandomWorker : public WorkerRig {
 public:
  explicit RandomWorker(uint32_t seed) : random_(seed) {
    BecomeReady();
    while (!worker_->is_gone()) Step();
    EXPECT_TRUE(open_.empty());
  }

 private:
  void Step() {
    now_ += std::chrono::microseconds(random_() % 8000);
    switch (random_() % 16) {
      case 0:
        if (++deaths_ > 3) Die();
        break;
      case 1:
        if (random_() % 8 == 0) Lie();
        break;
      case 2:
      case 3:
      case 4:
        if (worker_->Headroom() == 0) break;
        open_.push_back(++last_);
        worker_->Submit(ItemOf(last_), now_);
        break;
      case 5:
        if (random_() % 8 == 0) now_ += 61s;
        worker_->CheckTimeOuts(now_);
        break;
      case 6:
      case 7:
      case 8:
        if (!taken_) taken_ = Take();
        break;
      case 9:
      case 10:
        if (taken_) Answer();
        break;
      default:
        Check(Collect());
    }
    if (place_.kill_cause() != KillCause::kNone) Die();
  }
  std::optional<uint64_t> Take() {
    const std::optional<shm::MakeRequest> request = fake_->Take();
    return request ? std::optional(request->sequence) : std::nullopt;
  }
  void Answer() {
    if (process_is_dead_) return;
    if (fake_->Done(*taken_, 1)) answered_.insert(*taken_);
    taken_.reset();
  }
  void Lie() {
    if (!process_is_dead_) fake_->Done(last_ + 5, 1);
  }
  void Die() {
    process_.Die();
    process_is_dead_ = true;
  }
  // Items are submitted with ids that equal their sequences.
  void Check(const PyWorker::News& news) {
    EXPECT_TRUE(news.needs.empty());
    for (const MakeResult& result : news.results) {
      ASSERT_FALSE(open_.empty());
      EXPECT_EQ(result.id, open_.front());
      open_.pop_front();
      if (result.end == MakeEnd::kMade) {
        EXPECT_TRUE(answered_.contains(result.id));
      } else {
        EXPECT_TRUE(process_is_dead_);
        EXPECT_TRUE(worker_->is_gone());
        EXPECT_TRUE(!answered_.contains(result.id) || place_.kill_cause() == KillCause::kBroken);
      }
    }
  }

  std::mt19937 random_;
  int deaths_ = 0;  // blows so far; the first ones miss
  bool process_is_dead_ = false;
  uint64_t last_ = 0;
  std::deque<uint64_t> open_;
  std::optional<uint64_t> taken_;
  std::set<uint64_t> answered_;
};

TEST(RandomPyWorkerTest, EachItemEndsOnceInOrderAndUnansweredOnesOnlyAfterTheDeath) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomWorker world(seed);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace penstock::pyworkers
