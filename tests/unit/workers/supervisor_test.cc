#include "server/workers/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "tests/unit/workers/fake_worker.h"

namespace penstock::workers {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class SupervisorTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kAnn = 1, kBob = 2;

  void Start(uint32_t count) {
    SupervisorOptions options{.count = count, .user = kAnn, .arena_bytes = kFakeArena};
    options.limits.max_bytes = kFakeArena;
    options.budget.restarts = 2;
    supervisor_ = std::make_unique<Supervisor>(options, fakes_.Starter());
    ASSERT_TRUE(supervisor_->Start().ok());
    for (const uint32_t user : {kAnn, kBob})
      ASSERT_TRUE(supervisor_->AddSegment(user, user, memory_, 4096).ok());
    Tick({});
  }
  void Submit(uint64_t id, uint32_t user, uint32_t most_worker_slots = UINT32_MAX) {
    supervisor_->Submit({.id = id,
                         .user = user,
                         .account = 10 * user,
                         .dataset = &dataset_,
                         .sample = 1,
                         .segment = user},
                        most_worker_slots);
  }
  void Collect() {
    for (Outcome& outcome : supervisor_->Collect(now_)) outcomes_.push_back(std::move(outcome));
  }
  void Tick(base::Duration later) {
    now_ += later;
    Collect();
    supervisor_->Tick(now_);
  }
  // The worker answers one request.
  void Decode(size_t worker) {
    const size_t before = outcomes_.size();
    fakes_[worker].Answer(fakes_[worker].Take().sequence);
    Collect();
    ASSERT_EQ(outcomes_.size(), before + 1);
  }

  base::TimePoint now_ = base::Now();
  FakeDataset dataset_;
  posix::Fd memory_ = posix::MakeEvent().value();
  FakeWorkers fakes_;
  std::unique_ptr<Supervisor> supervisor_;
  std::vector<Outcome> outcomes_;
};

TEST_F(SupervisorTest, AnItemIsDecodedByAWorkerOfItsUser) {
  Start(1);

  Submit(5, kAnn);
  Decode(0);

  EXPECT_EQ(outcomes_[0].id, 5u);
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kDone);
  EXPECT_EQ(fakes_[0].options.user, kAnn);
}

TEST_F(SupervisorTest, AnotherUsersWorkerSleepsMeanwhileAndIsWokenWithoutAStart) {
  Start(1);
  Submit(1, kAnn);
  Decode(0);

  Submit(2, kBob);
  EXPECT_EQ(fakes_.size(), 2u);
  EXPECT_EQ(fakes_[1].options.user, kBob);
  EXPECT_EQ(supervisor_->asleep(), 1u);
  Decode(1);
  Submit(3, kAnn);
  Decode(0);

  EXPECT_EQ(fakes_.size(), 2u);
  EXPECT_THAT(supervisor_->WhoIsServed(), SizeIs(2));
}

TEST_F(SupervisorTest, NobodyWaitsUntilAnUnusedWorkerHasGivenItsMemoryBack) {
  Start(1);
  Submit(1, kAnn);
  Decode(0);
  fakes_[0].dies_slowly = true;
  Tick(seconds(31));

  EXPECT_TRUE(fakes_[0].is_killed);
  EXPECT_FALSE(fakes_[0].is_gone);
  Submit(2, kAnn);
  Decode(1);  // by another one, meanwhile
  fakes_[0].End({.signalled = true, .code = SIGKILL});
  Collect();
  EXPECT_TRUE(fakes_[0].is_gone);
}

// Nor are more of them waited for than there are worker slots and sleepers.
TEST_F(SupervisorTest, FewWorkersDieAtOnce) {
  Start(1);
  for (size_t i = 0; i < 4; ++i) {
    Submit(i, kAnn);
    Decode(i);
    fakes_[i].dies_slowly = true;
    Tick(seconds(31));
  }

  EXPECT_TRUE(fakes_[0].is_gone && fakes_[1].is_gone);
  EXPECT_FALSE(fakes_[2].is_gone || fakes_[3].is_gone);
}

TEST_F(SupervisorTest, AWorkerThatNobodyWokeIsEnded) {
  Start(1);
  Submit(1, kAnn);
  Decode(0);
  Submit(2, kBob);
  Decode(1);

  Tick(seconds(6));

  EXPECT_TRUE(fakes_[0].is_gone);
  EXPECT_FALSE(fakes_[1].is_gone);
  Tick(seconds(31));
  EXPECT_TRUE(fakes_[1].is_gone);
  EXPECT_EQ(supervisor_->View(now_)[0].state, WorkerState::kUnused);
  EXPECT_EQ(supervisor_->running(), 1u);  // counts a worker that could start at once
}

TEST_F(SupervisorTest, OneUserHasNoRoomAtAnothersSlotUntilItIsFree) {
  Start(1);
  Submit(1, kAnn);

  EXPECT_EQ(supervisor_->HeadroomFor(kBob), 0u);
  EXPECT_EQ(supervisor_->HeadroomFor(kAnn), 2u);
  supervisor_->GiveWay(kAnn);
  EXPECT_EQ(supervisor_->HeadroomFor(kAnn), 0u);
  EXPECT_EQ(supervisor_->Holdings()[0].giving_way, 1u);
  Decode(0);

  EXPECT_EQ(supervisor_->HeadroomFor(kBob), 3u);
  EXPECT_THAT(supervisor_->Holdings(), IsEmpty());
}

TEST_F(SupervisorTest, AUserWhoMayHaveOneSlotHasItemsAtOneSlot) {
  Start(2);

  for (uint64_t id = 1; supervisor_->HeadroomFor(kBob, /*most_worker_slots=*/1) > 0; ++id)
    Submit(id, kBob, 1);

  ASSERT_THAT(supervisor_->Holdings(), SizeIs(1));
  EXPECT_EQ(supervisor_->Holdings()[0].worker_slots, 1u);
  EXPECT_EQ(supervisor_->HeadroomFor(kAnn), 3u);
}

// ---- Workers that were set aside ----

TEST_F(SupervisorTest, AWorkerThatDoesNotGiveWayInTimeIsSetAsideAndFinishesItsItems) {
  Start(1);
  Submit(1, kAnn);
  const uint64_t request = fakes_[0].Take().sequence;
  supervisor_->GiveWay(kAnn);
  Tick(milliseconds(900));
  EXPECT_EQ(supervisor_->HeadroomFor(kBob), 0u);

  Tick(milliseconds(200));
  EXPECT_EQ(supervisor_->HeadroomFor(kBob), 3u);
  Submit(2, kBob);
  Decode(1);
  fakes_[0].Answer(request);
  Collect();

  ASSERT_THAT(outcomes_, SizeIs(2));
  EXPECT_EQ(outcomes_[1].id, 1u);
  EXPECT_EQ(outcomes_[1].kind, OutcomeKind::kDone);
  EXPECT_GT(outcomes_[1].times.taken, base::Duration::zero());
  EXPECT_THAT(supervisor_->TakeDeaths(), IsEmpty());
  Submit(3, kAnn);  // its worker sleeps now, like any other
  EXPECT_EQ(fakes_.size(), 2u);
}

TEST_F(SupervisorTest, AWorkerThatWasSetAsideAndNeverFinishesIsKilledAndItsUserPays) {
  Start(1);
  Submit(1, kAnn);
  fakes_[0].Take();
  supervisor_->GiveWay(kAnn);
  Tick(seconds(2));
  Submit(2, kBob);

  for (int second = 0; second < 31; ++second) Tick(seconds(1));

  ASSERT_FALSE(outcomes_.empty());
  EXPECT_EQ(outcomes_[0].id, 1u);
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kStrike);
  EXPECT_EQ(outcomes_[0].fault, base::Fault::kTimeout);
  const auto deaths = supervisor_->TakeDeaths();
  ASSERT_FALSE(deaths.empty());
  EXPECT_EQ(deaths[0].account, 10u * kAnn);
  EXPECT_THAT(supervisor_->Holdings(), Not(Contains(Field(&SlotHolding::set_aside, 1u))));
}

TEST_F(SupervisorTest, WorkersSetAsideAreAmongTheSlotsThatAUserMayHave) {
  Start(2);
  Submit(1, kAnn);
  Submit(2, kAnn);
  supervisor_->GiveWay(kAnn);
  Tick({});
  Tick(seconds(2));
  EXPECT_EQ(supervisor_->Holdings()[0].worker_slots, 1u);
  EXPECT_EQ(supervisor_->Holdings()[0].set_aside, 1u);
  EXPECT_GE(supervisor_->Holdings()[0].uncharged, seconds(2));
  EXPECT_EQ(supervisor_->HeadroomFor(kAnn), 2u);  // at its own slot only

  supervisor_->GiveWay(kAnn);
  Tick(seconds(2));

  EXPECT_EQ(supervisor_->Holdings()[0].set_aside, 2u);
  EXPECT_EQ(supervisor_->HeadroomFor(kAnn), 0u);
  EXPECT_EQ(supervisor_->HeadroomFor(kBob), 6u);
}

TEST_F(SupervisorTest, NoMoreWorkersAreSetAsideThanThereAreSlots) {
  Start(1);
  Submit(1, kAnn);
  supervisor_->GiveWay(kAnn);
  Tick(seconds(2));
  Submit(2, kBob);

  supervisor_->GiveWay(kBob);
  Tick(seconds(2));

  EXPECT_EQ(supervisor_->View(now_)[0].user, kBob);
  EXPECT_EQ(supervisor_->HeadroomFor(3), 0u);
  EXPECT_EQ(supervisor_->asleep(), 1u);
}

TEST_F(SupervisorTest, WhileNobodyWaitsNoWorkerIsSetAside) {
  Start(1);
  Submit(1, kAnn);
  supervisor_->GiveWay(kAnn);
  supervisor_->NobodyWaits();

  Tick(seconds(20));

  EXPECT_EQ(supervisor_->View(now_)[0].user, kAnn);
  EXPECT_EQ(supervisor_->asleep(), 0u);
}

TEST_F(SupervisorTest, AnItemThatNobodyTakesIsLostAndSaysSo) {
  Start(1);
  Submit(1, kAnn);

  Submit(2, kBob);
  Collect();

  ASSERT_THAT(outcomes_, SizeIs(1));
  EXPECT_EQ(outcomes_[0].id, 2u);
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kLost);
}

TEST_F(SupervisorTest, AWorkerThatDiedOverASampleIsReplacedAtOnce) {
  Start(1);
  Submit(5, kAnn);
  fakes_[0].Take();
  fakes_[0].End({.signalled = true, .code = SIGSEGV});

  Tick({});

  ASSERT_THAT(outcomes_, SizeIs(1));
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kStrike);
  const auto deaths = supervisor_->TakeDeaths();
  ASSERT_THAT(deaths, SizeIs(1));
  EXPECT_EQ(deaths[0].account, 10u * kAnn);
  EXPECT_EQ(fakes_.size(), 2u);
  EXPECT_EQ(supervisor_->restarts(), 1u);
  EXPECT_TRUE(supervisor_->status().ok());
}

TEST_F(SupervisorTest, WorkersThatDieForNobodySpendTheRestarts) {
  Start(1);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(fakes_.size(), i + 1);
    fakes_[i].End({.signalled = false, .code = 1});
    Tick({});
    Tick(milliseconds(500));
  }

  EXPECT_EQ(fakes_.size(), 3u);
  EXPECT_THAT(std::string(supervisor_->status().message()), HasSubstr("died too often"));
  EXPECT_EQ(supervisor_->View(now_)[0].state, WorkerState::kStopped);
}

TEST_F(SupervisorTest, FewerWorkersFinishWhatTheyHaveFirst) {
  Start(2);
  Submit(1, kAnn);
  Submit(2, kAnn);

  ASSERT_TRUE(supervisor_->SetCount(1).ok());
  EXPECT_EQ(supervisor_->count(), 2u);
  EXPECT_EQ(supervisor_->View(now_)[1].state, WorkerState::kRetiring);
  Decode(1);

  EXPECT_EQ(supervisor_->count(), 1u);
  EXPECT_TRUE(fakes_[1].is_gone);
  EXPECT_FALSE(fakes_[0].is_gone);
}

TEST_F(SupervisorTest, AWorkerIsSentSegmentsOfItsOwnUserAlone) {
  Start(1);
  Submit(1, kAnn);
  Decode(0);
  Submit(2, kBob);
  Decode(1);

  EXPECT_EQ(fakes_[0].segments, std::vector<uint32_t>{kAnn});
  EXPECT_EQ(fakes_[1].segments, std::vector<uint32_t>{kBob});
  supervisor_->RemoveSegment(kAnn);
  EXPECT_THAT(fakes_[0].segments, IsEmpty());
}

TEST_F(SupervisorTest, WhileOthersWaitAUserThatIsNotKnownIsGivenOneItem) {
  Start(1);

  supervisor_->SetContended(true);

  EXPECT_EQ(supervisor_->HeadroomFor(kBob), 1u);
}

TEST_F(SupervisorTest, AStartThatFailsIsToldAndTriedAgainAfterAPause) {
  Start(1);
  fakes_.start = absl::NotFoundError("no such program");

  Submit(2, kBob);
  Tick({});
  EXPECT_EQ(supervisor_->HeadroomFor(kBob), 0u);
  EXPECT_THAT(supervisor_->View(now_)[0].last_death, HasSubstr("no such program"));
  fakes_.start = absl::OkStatus();
  Tick(milliseconds(100));

  EXPECT_GT(supervisor_->HeadroomFor(kBob), 0u);
}

TEST_F(SupervisorTest, ImpossibleNumbersAreRefused) {
  SupervisorOptions options;
  options.count = kMaxWorkers + 1;
  EXPECT_EQ(Validate(options).code(), absl::StatusCode::kInvalidArgument);
  options = {.read_ahead = kRingCapacity};
  EXPECT_EQ(Validate(options).code(), absl::StatusCode::kInvalidArgument);
  options = {.arena_bytes = 4097};
  EXPECT_EQ(Validate(options).code(), absl::StatusCode::kInvalidArgument);
  options = {.sample_timeout = base::Duration::zero()};
  EXPECT_EQ(Validate(options).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace penstock::workers
