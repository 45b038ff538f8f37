#include "server/pyworkers/host.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/pyworkers/fake_process.h"
#include "tests/unit/pyworkers/fake_worker.h"

namespace penstock::pyworkers {
namespace {

using namespace std::chrono_literals;

MakeItem SmallItem(uint64_t id) {
  MakeItem item{.id = id};
  item.request.rows = 4;
  item.request.granted = 4096;
  return item;
}

// A worker that the fake host has forked.
struct ForkedWorker {
  FakeProcess process = {};
  std::optional<FakeWorker> fake = {};
};

// The test plays the host: a process that waits to be killed, and whose page the test writes.
class HostRig {
 public:
  explicit HostRig(uint32_t workers) {
    EXPECT_TRUE(events_.Open().ok());
    host_ = *Host::Make(process_.pidfd(), events_, /*start_timeout=*/10s);
    theirs_ =
        *posix::Mapping::Map(host_->page().memory(), HostPage::kBytes, posix::Access::kReadWrite);
    host_->SetWorkers(workers);
    Tick();
  }

  shm::PythonPlace& place(uint32_t number) { return page().places[number]; }
  shm::PythonHostPage& page() { return *reinterpret_cast<shm::PythonHostPage*>(theirs_.data()); }

  // Forks what is wanted at a place, and lets it enter and be ready.
  void Start(uint32_t number) {
    const uint32_t start = ++place(number).starts;
    // It is to be killed, since nobody forked it in time.
    if (place(number).kill == start) return Reap(number, SIGKILL, "");
    workers_[number] = std::make_unique<ForkedWorker>();
    ForkedWorker& worker = *workers_[number];
    const auto channel =
        host_->WorkerEntered({.place = number, .start = start}, worker.process.pidfd());
    ASSERT_TRUE(channel.ok()) << channel.status();
    worker.fake.emplace((*channel)->memory());
    worker.fake->page().ready = 1;
    host_->Collect(now_, unread_);
  }
  // Kills it; then the host reaps it.
  void KillWorker(uint32_t number) { workers_.at(number)->process.Die(); }
  void Reap(uint32_t number, int status, const char* words) {
    std::strcpy(place(number).words, words);
    place(number).exit_status = status;
    place(number).ended = place(number).starts.load();
  }
  // Returns the place that gets it.
  uint32_t Submit(const MakeItem& item) {
    const uint32_t place = host_->Idlest();
    host_->Submit(place, item, now_);
    return place;
  }
  // The worker answers its oldest batch.
  void Finish(uint32_t number) {
    FakeWorker& fake = *workers_.at(number)->fake;
    fake.Done(fake.Take()->sequence, 1);
  }

  Host::News Collect() {
    host_->Collect(now_, unread_);
    return std::exchange(unread_, {});
  }
  void Tick() { host_->Tick(now_); }
  bool IsCalled() {
    epoll_event event;
    return ::epoll_wait(events_.fd(), &event, 1, 0) > 0;
  }

  workers::EventSet events_;
  FakeProcess process_;
  base::TimePoint now_{1h};
  Host::News unread_;
  std::unique_ptr<Host> host_;
  posix::Mapping theirs_;
  std::map<uint32_t, std::unique_ptr<ForkedWorker>> workers_;
};

class HostTest : public testing::Test, protected HostRig {
 protected:
  HostTest() : HostRig(/*workers=*/2) {}
};

TEST_F(HostTest, AsManyWorkersAreAskedForAsAreWanted) {
  EXPECT_EQ(place(0).wanted_starts, 1u);
  EXPECT_EQ(place(1).wanted_starts, 1u);
  EXPECT_EQ(place(2).wanted_starts, 0u);
  EXPECT_EQ(host_->Headroom(), 0u);

  host_->SetWorkers(3);
  Tick();

  EXPECT_EQ(place(2).wanted_starts, 1u);
}

TEST_F(HostTest, AProcessThatNobodyWaitsForIsRefused) {
  const FakeProcess stranger;
  EXPECT_FALSE(host_->WorkerEntered({.place = 0, .start = 2}, stranger.pidfd()).ok());
  EXPECT_FALSE(host_->WorkerEntered({.place = 2, .start = 1}, stranger.pidfd()).ok());
  EXPECT_FALSE(host_->WorkerEntered({.place = 256, .start = 1}, stranger.pidfd()).ok());
  EXPECT_FALSE(host_->has_worked());
}

TEST_F(HostTest, ItemsGoToTheWorkerWithTheLeastToDo) {
  Start(0);
  Start(1);
  EXPECT_TRUE(host_->has_worked());
  ASSERT_EQ(host_->Headroom(), 2u);

  const uint32_t first = Submit(SmallItem(1));
  const uint32_t second = Submit(SmallItem(2));

  EXPECT_NE(first, second);
  EXPECT_EQ(host_->Headroom(), 0u);
  Finish(first);
  const Host::News news = Collect();
  ASSERT_EQ(news.results.size(), 1u);
  EXPECT_EQ(news.results[0].id, 1u);
  EXPECT_EQ(news.results[0].end, MakeEnd::kMade);
}

TEST_F(HostTest, ANeedForRoomNamesThePlaceThatIsAnswered) {
  Start(1);
  ASSERT_EQ(Submit(SmallItem(5)), 1u);
  FakeWorker& fake = *workers_.at(1)->fake;
  fake.NeedsRoom(fake.Take()->sequence, 9000);
  const Host::News news = Collect();
  ASSERT_EQ(news.needs.size(), 1u);
  EXPECT_EQ(news.needs[0].first, 1u);

  host_->GiveRoom(0, news.needs[0].second.id, 12288, now_);
  EXPECT_FALSE(fake.Take().has_value());
  host_->GiveRoom(1, news.needs[0].second.id, 12288, now_);

  EXPECT_EQ(fake.Take()->granted, 12288u);
}

TEST_F(HostTest, ADeadWorkersBatchEndsAtOnceAndItsWordsFollowWithTheReplacement) {
  Start(0);
  Submit(SmallItem(1));
  workers_.at(0)->fake->Take();
  KillWorker(0);
  ASSERT_TRUE(IsCalled());

  Host::News news = Collect();
  ASSERT_EQ(news.results.size(), 1u);
  EXPECT_EQ(news.results[0].end, MakeEnd::kStrike);
  EXPECT_TRUE(news.deaths.empty());
  EXPECT_FALSE(IsCalled());  // the pidfd stays readable, but nothing is left to do
  Reap(0, SIGSEGV, "Fatal Python error");
  news = Collect();

  ASSERT_EQ(news.deaths.size(), 1u);
  EXPECT_EQ(news.deaths[0].how, "killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(news.deaths[0].words, "Fatal Python error");
  EXPECT_TRUE(news.deaths[0].was_ready);
  Tick();
  EXPECT_EQ(place(0).wanted_starts, 1u);
  now_ += kStartAgain.first;
  Tick();
  EXPECT_EQ(place(0).wanted_starts, 2u);
  Start(0);
  EXPECT_EQ(host_->Headroom(), 1u);
}

TEST_F(HostTest, AWorkerThatDiesBeforeItEntersIsKnownFromTheHostAlone) {
  ++place(0).starts;
  EXPECT_TRUE(Collect().deaths.empty());
  Reap(0, 1 << 8, "No module named 'mine'");

  const Host::News news = Collect();

  ASSERT_EQ(news.deaths.size(), 1u);
  EXPECT_EQ(news.deaths[0].how, "ended with exit code 1");
  EXPECT_FALSE(news.deaths[0].was_ready);
}

TEST_F(HostTest, AWorkerThatNeverEntersIsKilledByTheHost) {
  ++place(0).starts;
  now_ += 10s + 1ns;
  Tick();
  EXPECT_EQ(place(0).kill, 1u);
}

TEST_F(HostTest, AWorkerThatLiesIsKilledByTheDaemonAndByTheHost) {
  Start(0);
  workers_.at(0)->fake->Done(77, 1);

  Collect();
  Tick();

  EXPECT_EQ(workers_.at(0)->process.AwaitDeath(), SIGKILL);
  EXPECT_EQ(place(0).kill, 1u);
}

TEST_F(HostTest, AWorkerThatClosesItsConnectionIsKilledAndItsExitSaysWhy) {
  Start(0);
  host_->WorkerLeft({.place = 0, .start = 9});  // an older one
  EXPECT_EQ(host_->Headroom(), 1u);

  host_->WorkerLeft({.place = 0, .start = 1});

  EXPECT_EQ(host_->Headroom(), 0u);
  EXPECT_EQ(workers_.at(0)->process.AwaitDeath(), SIGKILL);
  Reap(0, 3 << 8, "");
  EXPECT_EQ(Collect().deaths.at(0).how, "ended with exit code 3");
}

TEST_F(HostTest, WhenTheHostDiesItsWorkersAreKilledAndTheirBatchesLostWithoutAStrike) {
  Start(0);
  Start(1);
  Submit(SmallItem(1));
  Submit(SmallItem(2));
  workers_.at(0)->fake->Take();
  workers_.at(1)->fake->Take();
  process_.Die();

  const Host::News first = Collect();  // kills the workers; some may die at once
  EXPECT_TRUE(host_->is_gone());
  EXPECT_EQ(workers_.at(0)->process.AwaitDeath(), SIGKILL);
  EXPECT_EQ(workers_.at(1)->process.AwaitDeath(), SIGKILL);
  const Host::News second = Collect();

  EXPECT_EQ(first.results.size() + second.results.size(), 2u);
  for (const auto& results : {first.results, second.results})
    for (const MakeResult& result : results) EXPECT_EQ(result.end, MakeEnd::kLost);
  EXPECT_TRUE(first.deaths.empty());
  EXPECT_TRUE(second.deaths.empty());
  EXPECT_TRUE(host_->is_over());
  EXPECT_FALSE(IsCalled());
}

TEST_F(HostTest, AWorkerThatIsSeenDeadBeforeItsHostIsNoStrikeEither) {
  Start(0);
  Submit(SmallItem(1));
  workers_.at(0)->fake->Take();
  process_.Die();
  KillWorker(0);

  EXPECT_EQ(Collect().results.at(0).end, MakeEnd::kLost);
}

TEST_F(HostTest, AHostThatLiesIsKilled) {
  Start(0);
  place(0).ended = 5;

  Collect();

  EXPECT_EQ(host_->failure().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(host_->Headroom(), 0u);
  EXPECT_EQ(process_.AwaitDeath(), SIGKILL);
}

TEST_F(HostTest, AHostThatSaysThatALivingWorkerEndedIsNotBelieved) {
  Start(0);
  Submit(SmallItem(1));
  Reap(0, SIGKILL, "a lie");

  const Host::News news = Collect();

  EXPECT_TRUE(news.results.empty());
  EXPECT_TRUE(news.deaths.empty());
}

TEST_F(HostTest, AHostThatCannotGoOnSaysWhyAndStartsNothingMore) {
  std::strcpy(page().error, "fork: no memory");
  page().failed = 1;

  Collect();
  host_->SetWorkers(3);
  Tick();

  EXPECT_EQ(host_->failure().message(), "the host cannot go on: fork: no memory");
  EXPECT_EQ(place(2).wanted_starts, 0u);
}

TEST_F(HostTest, FewerWorkersAreReachedByNotReplacingThem) {
  Start(0);
  Start(1);
  host_->SetWorkers(1);
  Tick();
  EXPECT_EQ(host_->Headroom(), 2u);

  KillWorker(1);
  Collect();
  Reap(1, SIGKILL, "");
  Collect();
  now_ += kStartAgain.longest;
  Tick();

  EXPECT_EQ(place(1).wanted_starts, 1u);
}

// Workers that answer, lie, and die at random, under a host that starts and reaps them.
TEST(RandomHostTest, EachItemEndsOnceWhateverItsWorkersDo) {
  for (uint32_t seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    HostRig rig(/*workers=*/3);
    std::set<uint64_t> open;
    uint64_t last = 0;
    const auto check = [&open, &rig] {
      for (const MakeResult& result : rig.Collect().results) EXPECT_EQ(open.erase(result.id), 1u);
    };
    for (int step = 0; step < 400; ++step) {
      rig.now_ += std::chrono::milliseconds(random() % 300);
      const uint32_t number = random() % 3;
      const bool is_alive = rig.place(number).starts > rig.place(number).ended;
      switch (random() % 6) {
        case 0:
          rig.Tick();
          if (rig.place(number).wanted_starts > rig.place(number).starts && !is_alive)
            rig.Start(number);
          break;
        case 1:
        case 2:
          if (rig.host_->Headroom() == 0) break;
          open.insert(++last);
          rig.Submit(SmallItem(last));
          break;
        case 3:
          if (!is_alive) break;
          if (const auto request = rig.workers_.at(number)->fake->Take())
            rig.workers_.at(number)->fake->Done(request->sequence, random() % 30 == 0 ? 9999 : 1);
          break;
        case 4:
          if (!is_alive || random() % 4 != 0) break;
          rig.KillWorker(number);
          check();
          rig.Reap(number, SIGKILL, "");
          break;
        default:
          check();
      }
    }
    rig.process_.Die();
    check();
    for (auto& [number, worker] : rig.workers_) worker->process.AwaitDeath();
    check();
    EXPECT_TRUE(rig.host_->is_over());
    EXPECT_TRUE(open.empty());
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace penstock::pyworkers
