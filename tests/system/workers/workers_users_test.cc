// Tests workers of several users: which segments each maps, who gets which worker slot, and when
// workers end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <set>

#include "tests/system/workers/rig.h"

namespace penstock::workers {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint32_t kAnna = 1001, kBerta = 1002;

// Of an image whose decoding takes long enough to be seen.
#ifdef __SANITIZE_THREAD__
constexpr int kSlowSide = 1500;
#else
constexpr int kSlowSide = 4500;
#endif

// A supervisor whose users each have one segment, with one row for each of many items.
class UsersTest : public ::testing::Test {
 protected:
  ~UsersTest() override { hanging_.LetGo(); }
  static constexpr size_t kRows = 64;

  // `patience` is longer than a busy machine's delays, which must not count as a stalled source.
  void Start(SupervisorOptions options, base::Duration patience = seconds(30)) {
    options.user = kAnna;
    options.patience = patience;
    options.back_off = {.first = milliseconds(10), .longest = milliseconds(100)};
    supervisor_ = std::make_unique<Supervisor>(options);
    ASSERT_TRUE(supervisor_->Start().ok());
    for (const uint32_t user : {kAnna, kBerta}) AddSegmentOf(user);
  }

  void AddSegmentOf(uint32_t user) {
    const std::string name = absl::StrCat("segment-of-", user);
    memory_[user] = posix::MakeMemory(name.c_str(), kRows * decode::RowBytes(kSpec)).value();
    ASSERT_TRUE(
        supervisor_->AddSegment(user, user, memory_[user], kRows * decode::RowBytes(kSpec)).ok());
  }

  void Submit(uint32_t user, uint64_t sample = 0) {
    const uint64_t id = next_++;
    supervisor_->Submit({.id = id,
                         .user = user,
                         .account = user,
                         .dataset = &dataset_,
                         .sample = sample,
                         .spec = kSpec,
                         .key = {},
                         .segment = user,
                         .row_offset = id % kRows * decode::RowBytes(kSpec)});
  }
  bool RunUntil(const std::function<bool()>& condition) {
    const base::TimePoint deadline = base::Now() + seconds(30);
    while (!condition()) {
      if (base::Now() > deadline) return false;
      // Workers have the lowest priority: a loop that only looks would take the core from them.
      pollfd entry{.fd = supervisor_->event_fd(), .events = POLLIN, .revents = 0};
      ::poll(&entry, 1, 1);
      supervisor_->Tick(base::Now());
      for (Outcome& each : supervisor_->Collect(base::Now())) outcomes_.push_back(std::move(each));
    }
    return true;
  }
  bool RunUntilDone(size_t count) {
    return RunUntil([&] {
      return count == static_cast<size_t>(std::ranges::count_if(outcomes_, [](const Outcome& o) {
               return o.kind == OutcomeKind::kDone;
             }));
    });
  }
  // Maps each worker process of this program, by pid, to the users whose segments it maps.
  std::map<pid_t, std::set<uint32_t>> Mapped() {
    std::map<pid_t, std::set<uint32_t>> mapped;
    for (const pid_t pid : Workers()) {
      std::ifstream maps(absl::StrCat("/proc/", pid, "/maps"));
      for (std::string line; std::getline(maps, line);)
        for (const uint32_t user : {kAnna, kBerta})
          if (line.find(absl::StrCat("segment-of-", user)) != std::string::npos)
            mapped[pid].insert(user);
    }
    return mapped;
  }
  static std::set<pid_t> Workers() {
    std::set<pid_t> pids;
    std::ifstream children(absl::StrCat("/proc/self/task/", ::gettid(), "/children"));
    for (pid_t pid; children >> pid;) pids.insert(pid);
    return pids;
  }

  static constexpr decode::Spec kSpec = {.height = 32, .width = 32};
  MemoryDataset dataset_ = MemoryDataset({MakeJpeg(64, 48, 1), MakeJpeg(kSlowSide, kSlowSide, 2)});
  MemoryDataset hanging_ = MemoryDataset({MakeJpeg(64, 48, 1)});
  std::map<uint32_t, posix::Fd> memory_;
  std::unique_ptr<Supervisor> supervisor_;
  std::vector<Outcome> outcomes_;
  uint64_t next_ = 0;
};

TEST_F(UsersTest, AWorkerMapsSegmentsOfItsUserAlone) {
  Start({.count = 2});
  size_t done = 0;
  for (int turn = 0; turn < 10; ++turn) {
    const uint32_t user = turn % 2 == 0 ? kAnna : kBerta;
    while (supervisor_->HeadroomFor(user) > 0) {
      Submit(user);
      ++done;
    }
    ASSERT_TRUE(RunUntilDone(done));
  }

  const auto mapped = Mapped();

  ASSERT_FALSE(mapped.empty());
  std::set<uint32_t> seen;
  for (const auto& [pid, users] : mapped) {
    EXPECT_EQ(users.size(), 1u) << pid;
    seen.insert(users.begin(), users.end());
  }
  EXPECT_EQ(seen, (std::set<uint32_t>{kAnna, kBerta}));
}

TEST_F(UsersTest, AWorkerSlotIsOneUsersUntilItsItemsAreDone) {
  Start({.count = 1});
  Submit(kAnna, 1);

  EXPECT_EQ(supervisor_->HeadroomFor(kBerta), 0u);
  EXPECT_EQ(supervisor_->HeadroomFor(kAnna), 2u);
  ASSERT_TRUE(RunUntilDone(1));
  EXPECT_EQ(supervisor_->HeadroomFor(kBerta), 3u);
  Submit(kBerta);
  EXPECT_EQ(supervisor_->HeadroomFor(kAnna), 0u);
  EXPECT_EQ(supervisor_->View(base::Now())[0].user, kBerta);
  EXPECT_TRUE(RunUntilDone(2));
}

TEST_F(UsersTest, WhoGivesWayTakesNothingMoreUntilItsWorkerSlotIsFree) {
  Start({.count = 1});
  Submit(kAnna, 1);
  supervisor_->GiveWay(kAnna);

  EXPECT_EQ(supervisor_->HeadroomFor(kAnna), 0u);
  EXPECT_EQ(supervisor_->Holdings().at(0).giving_way, 1u);
  supervisor_->NobodyWaits();
  EXPECT_EQ(supervisor_->HeadroomFor(kAnna), 2u);
  supervisor_->GiveWay(kAnna);
  ASSERT_TRUE(RunUntilDone(1));
  EXPECT_GT(supervisor_->HeadroomFor(kAnna), 0u);
  EXPECT_GT(supervisor_->HeadroomFor(kBerta), 0u);
}

TEST_F(UsersTest, AWorkerThatKeepsOthersWaitingFinishesItsSampleBesideThem) {
  Start({.count = 1, .give_way_within = milliseconds(100)});
  Submit(kAnna, 1);
  ASSERT_TRUE(RunUntil([&] { return supervisor_->View(base::Now())[0].in_hand.has_value(); }));
  const pid_t slow = supervisor_->View(base::Now())[0].pid;
  ::kill(slow, SIGSTOP);
  supervisor_->GiveWay(kAnna);

  ASSERT_TRUE(RunUntil([&] { return supervisor_->HeadroomFor(kBerta) > 0; }));
  EXPECT_EQ(supervisor_->HeadroomFor(kAnna), 0u);  // it has one worker, as before
  Submit(kBerta);
  ASSERT_TRUE(RunUntilDone(1));
  EXPECT_EQ(outcomes_[0].id, 1u);
  ::kill(slow, SIGCONT);
  ASSERT_TRUE(RunUntilDone(2));

  EXPECT_EQ(outcomes_.size(), 2u);
  EXPECT_TRUE(supervisor_->TakeDeaths().empty());
  EXPECT_GE(outcomes_[1].times.taken, milliseconds(100));  // charged for all of the time
  EXPECT_TRUE(RunUntil([&] { return Workers().size() <= 2; }));
}

TEST_F(UsersTest, OneUserHasNoMoreWorkerSlotsThanItMay) {
  Start({.count = 3});
  EXPECT_EQ(supervisor_->HeadroomFor(kAnna, 2), 6u);
  Submit(kAnna, 1);
  Submit(kAnna, 1);

  EXPECT_EQ(supervisor_->HeadroomFor(kAnna, 2), 4u);
  EXPECT_EQ(supervisor_->HeadroomFor(kAnna, 1), 4u);  // a user keeps the slots that it already has
  EXPECT_EQ(supervisor_->HeadroomFor(kBerta, 2), 3u);
}

TEST_F(UsersTest, UsersWhoTakeTurnsKeepTheirWorkersAsleepMeanwhile) {
  Start({.count = 1});
  std::set<pid_t> seen;
  for (size_t done = 1; done <= 20; ++done) {
    Submit(done % 2 == 0 ? kAnna : kBerta);
    ASSERT_TRUE(RunUntilDone(done));
    for (const auto& each : supervisor_->WhoIsServed()) seen.insert(each.pid);
  }

  EXPECT_EQ(seen.size(), 2u);
}

TEST_F(UsersTest, AsManyAsThereAreWorkerSlotsSleepAtMost) {
  Start({.count = 2});
  for (uint32_t user = 1; user <= 20; ++user) {
    AddSegmentOf(user);
    Submit(user);
    ASSERT_TRUE(RunUntilDone(user));
    EXPECT_LE(supervisor_->asleep(), 2u);
    EXPECT_LE(Workers().size(), 4u + 4u);  // as many may still give their memory back
  }
  EXPECT_TRUE(RunUntil([&] { return Workers().size() <= 4; }));
}

// The supervisor waits for hung reads, but does not keep a process for each of their users.
TEST_F(UsersTest, HoweverManyUsersReadsHangThereAreNoMoreThanTwiceAsManyWorkersAsWorkerSlots) {
  constexpr uint32_t kUsers = 8;
  hanging_.Hang();
  Start({.count = 1, .keep_asleep = seconds(60)}, milliseconds(50));
  for (uint32_t user = 1; user <= kUsers; ++user) {
    AddSegmentOf(user);
    supervisor_->Submit({.id = next_++,
                         .user = user,
                         .account = user,
                         .dataset = &hanging_,
                         .sample = 0,
                         .spec = kSpec,
                         .key = {},
                         .segment = user,
                         .row_offset = 0});
    ASSERT_TRUE(RunUntil([&] { return supervisor_->HeadroomFor(user + 1) > 0; })) << user;
    EXPECT_TRUE(RunUntil([&] { return Workers().size() <= 2; }));  // others die
    EXPECT_LE(supervisor_->asleep(), 1u);
  }

  hanging_.LetGo();
  // Each item ends once: decoded, or returned to be read again.
  EXPECT_TRUE(RunUntil([&] { return outcomes_.size() == kUsers; })) << outcomes_.size();
}

TEST_F(UsersTest, FewerWorkerSlotsHaveFewerAsleepAtOnce) {
  Start({.count = 3});
  for (uint32_t user = 1; user <= 6; ++user) {
    AddSegmentOf(user);
    Submit(user);
    ASSERT_TRUE(RunUntilDone(user));
  }
  ASSERT_EQ(supervisor_->asleep(), 3u);

  ASSERT_TRUE(supervisor_->SetCount(1).ok());
  ASSERT_TRUE(RunUntil([&] { return supervisor_->count() == 1; }));

  EXPECT_LE(supervisor_->asleep(), 1u);
  EXPECT_TRUE(RunUntil([&] { return Workers().size() <= 2; }));  // they die meanwhile
}

TEST_F(UsersTest, WorkersOfNobodyWhoHasRowsAreEndedAndStartedAgainWhenSomebodyHas) {
  Start({.count = 2, .keep_idle = milliseconds(300), .keep_asleep = milliseconds(100)});
  Submit(kAnna);
  Submit(kBerta);
  Submit(kAnna);
  ASSERT_TRUE(RunUntilDone(3));

  ASSERT_TRUE(RunUntil([] { return Workers().empty(); }));
  EXPECT_EQ(supervisor_->View(base::Now())[0].state, WorkerState::kUnused);
  EXPECT_EQ(supervisor_->running(), 2u);  // the number that would run if there were work
  EXPECT_EQ(supervisor_->restarts(), 0u);
  Submit(kBerta);
  ASSERT_TRUE(RunUntilDone(4));
  EXPECT_TRUE(supervisor_->TakeDeaths().empty());
}

TEST_F(UsersTest, AWorkerThatDiesOverAUsersSampleIsChargedToItAndHoldsUpNobodyElse) {
  Start({.count = 1});
  supervisor_->Tick(base::Now());
  Submit(kBerta, 1);
  ASSERT_TRUE(RunUntil([&] { return supervisor_->View(base::Now())[0].in_hand.has_value(); }));

  ::kill(supervisor_->View(base::Now())[0].pid, SIGKILL);
  ASSERT_TRUE(RunUntil([&] { return !outcomes_.empty(); }));

  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kLost);  // the sample gets no strike
  const std::vector<WorkerDeath> deaths = supervisor_->TakeDeaths();
  ASSERT_EQ(deaths.size(), 1u);
  EXPECT_EQ(deaths[0].user, kBerta);
  EXPECT_EQ(deaths[0].account, kBerta);
  EXPECT_GT(supervisor_->HeadroomFor(kAnna), 0u);  // immediately
}

TEST_F(UsersTest, NoNumberOfDeathsOverUsersSamplesStopsTheWorkerSlots) {
  Start({.count = 1, .budget = {.restarts = 2, .window = seconds(60)}});
  for (size_t death = 1; death <= 8; ++death) {
    Submit(kBerta, 1);
    ASSERT_TRUE(RunUntil([&] { return supervisor_->View(base::Now())[0].in_hand.has_value(); }));
    ::kill(supervisor_->View(base::Now())[0].pid, SIGABRT);
    ASSERT_TRUE(RunUntil([&] { return outcomes_.size() == death; }));
  }

  EXPECT_TRUE(supervisor_->status().ok()) << supervisor_->status();
  EXPECT_EQ(supervisor_->TakeDeaths().size(), 8u);
}

TEST_F(UsersTest, WhatAWorkerSlotIsTakenByIsMeasuredByOurOwnClock) {
  Start({.count = 1});
  ASSERT_TRUE(
      RunUntil([&] { return supervisor_->View(base::Now())[0].state == WorkerState::kRunning; }));
  const base::TimePoint begin = base::Now();
  Submit(kAnna, 1);
  Submit(kAnna, 1);
  ASSERT_TRUE(RunUntilDone(2));

  const base::Duration all = base::Now() - begin;
  base::Duration taken{};
  for (const Outcome& each : outcomes_) {
    EXPECT_GE(each.times.taken, base::Duration::zero());
    taken += each.times.taken;
  }
  EXPECT_LE(taken, all);
  EXPECT_GE(taken, all / 2);
}

TEST_F(UsersTest, WhileUsersWaitAWorkerSlotHasNoMoreThanATurnsWork) {
  Start({.count = 1, .turn = milliseconds(1)});
  Submit(kAnna, 1);
  ASSERT_TRUE(RunUntilDone(1));

  EXPECT_EQ(supervisor_->HeadroomFor(kAnna), 3u);
  supervisor_->SetContended(true);
  EXPECT_EQ(supervisor_->HeadroomFor(kAnna), 1u);  // its items take longer than a turn
}

}  // namespace
}  // namespace penstock::workers
