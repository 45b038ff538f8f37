#include "server/pyworkers/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/pyworkers/fake_process.h"
#include "tests/unit/pyworkers/fake_worker.h"

namespace penstock::pyworkers {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kTrainer = 1, kOtherTrainer = 2, kHostPeer = 100, kWorkerPeer = 200;

// A host process, whose page the test writes, and its workers.
struct FakeHost {
  FakeProcess process = {};
  posix::Mapping page = {};  // once it was sent
  std::map<uint32_t, std::unique_ptr<FakeProcess>> processes = {};
  std::map<uint32_t, std::unique_ptr<FakeWorker>> workers = {};

  shm::PythonPlace& place(uint32_t number) {
    return reinterpret_cast<shm::PythonHostPage*>(page.data())->places[number];
  }
};

class HostsTest : public testing::Test {
 protected:
  HostsTest() { EXPECT_TRUE(hosts_.Start().ok()); }

  Surroundings MakeSurroundings() {
    return {.send = [this](uint64_t peer, const void* message, size_t bytes,
                           const std::vector<int>& fds) { return Sent(peer, message, bytes, fds); },
            .send_segment =
                [this](uint64_t peer, uint32_t segment) {
                  segments_.emplace_back(peer, segment);
                  return can_send_ ? absl::OkStatus() : absl::UnavailableError("gone");
                },
            .close = [this](uint64_t peer) { closed_.insert(peer); },
            .want_hosts = [this](uint64_t session, uint32_t hosts) { wanted_[session] = hosts; },
            .look = [this](uint64_t session) { return looks_[session]; }};
  }

  absl::Status Sent(uint64_t peer, const void* message, size_t bytes, const std::vector<int>& fds) {
    shm::DoorwayMemory wire;
    EXPECT_EQ(bytes, sizeof(wire));
    std::memcpy(&wire, message, sizeof(wire));
    EXPECT_EQ(fds.size(), 3u);
    const posix::Fd memory(::dup(fds[0]));
    if (wire.header.kind == shm::DoorwayKind::kHostPage) {
      host_of_peer_.at(peer)->page =
          *posix::Mapping::Map(memory, wire.bytes, posix::Access::kReadWrite);
    } else {
      channels_[peer] = std::make_unique<FakeWorker>(memory);
    }
    return absl::OkStatus();
  }

  PythonSession Session(uint64_t id, uint64_t peer, uint32_t workers = 1) {
    looks_[id].may_ask = true;
    return {.id = id,
            .peer = peer,
            .dataset = dataset_,
            .called = "mine",
            .account = 7,
            .workers = workers};
  }
  HostToken Open(uint64_t id, uint64_t peer, uint32_t workers = 1) {
    return *hosts_.SessionOpened(Session(id, peer, workers), now_);
  }
  // The core wants a row.
  bool MayMake(bool in_stream = false) { return hosts_.MayMake(dataset_.get(), in_stream); }
  void WantRow() {
    MayMake();
    hosts_.GivenOut(now_);
  }

  std::unique_ptr<FakeHost> Enter(const HostToken& token, uint64_t peer = kHostPeer) {
    auto host = std::make_unique<FakeHost>();
    host_of_peer_[peer] = host.get();
    hosts_.Arrived({.peer = peer, .token = token, .process = host->process.pidfd()}, now_);
    return host;
  }
  // The host forks the worker that it was asked for, which enters and is ready.
  void StartWorker(FakeHost& host, const HostToken& token, uint32_t place) {
    const uint32_t start = ++host.place(place).starts;
    ASSERT_EQ(host.place(place).wanted_starts, start);
    const uint64_t peer = kWorkerPeer + 10 * start + place;
    host.processes[place] = std::make_unique<FakeProcess>();
    hosts_.Arrived({.peer = peer,
                    .token = token,
                    .worker = ChannelEndpoint::Worker{.place = place, .start = start},
                    .process = host.processes[place]->pidfd()},
                   now_);
    host.workers[place] = std::move(channels_[peer]);
    ASSERT_NE(host.workers[place], nullptr);
    host.workers[place]->page().ready = 1;
    Collect();
  }
  void Reap(FakeHost& host, uint32_t place, int status, const char* words) {
    std::strcpy(host.place(place).words, words);
    host.place(place).exit_status = status;
    host.place(place).ended = host.place(place).starts.load();
  }
  MakerNews Collect() { return hosts_.Collect(now_); }
  void Submit(uint64_t id, std::optional<StreamPart> part = {}) {
    MakeItem item{.id = id, .part = part};
    item.request.rows = 4;
    item.request.granted = 4096;
    item.request.segment = 3;
    hosts_.Submit(dataset_.get(), item, now_);
    hosts_.GivenOut(now_);
  }
  void Finish(FakeWorker& worker) { worker.Done(worker.Take()->sequence, 1); }
  // Ticks as the runner does, so long.
  void Pass(base::Duration time) {
    for (const base::TimePoint until = now_ + time; now_ < until;) {
      now_ += 100ms;
      const MakerNews news = Collect();
      for (const auto& [dataset, why] : news.failed) failed_.push_back(std::string(why.message()));
      hosts_.Tick(now_);
    }
  }

  base::TimePoint now_{1h};
  const std::shared_ptr<int> dataset_ = std::make_shared<int>();
  std::vector<std::pair<uint64_t, uint32_t>> segments_;
  std::set<uint64_t> closed_;
  std::map<uint64_t, uint32_t> wanted_;
  std::map<uint64_t, TrainerLook> looks_;
  std::map<uint64_t, FakeHost*> host_of_peer_;
  std::map<uint64_t, std::unique_ptr<FakeWorker>> channels_;
  std::vector<std::string> failed_;
  bool can_send_ = true;
  Hosts hosts_{MakeSurroundings(), /*start_timeout=*/10s};
};

// ---- Tokens ----

TEST_F(HostsTest, ATrainersSessionsOfADatasetShareATokenAndOthersDoNot) {
  const HostToken token = Open(1, kTrainer);

  EXPECT_EQ(Open(2, kTrainer), token);
  EXPECT_NE(Open(3, kOtherTrainer), token);
  const auto other = std::make_shared<int>();
  PythonSession session = Session(4, kTrainer);
  session.dataset = other;
  EXPECT_NE(*hosts_.SessionOpened(session, now_), token);
}

TEST_F(HostsTest, WithoutATokenNobodyEnters) {
  Open(1, kTrainer);
  WantRow();

  Enter(HostToken{});

  EXPECT_THAT(closed_, ElementsAre(kHostPeer));
}

TEST_F(HostsTest, ATokenEndsWithItsConnection) {
  const HostToken token = Open(1, kTrainer);
  Open(2, kOtherTrainer);
  WantRow();

  hosts_.PeerLeft(kTrainer);
  Enter(token);

  EXPECT_THAT(closed_, ElementsAre(kHostPeer));
}

// ---- Asking ----

TEST_F(HostsTest, ATrainerIsAskedOnceTheFirstRowIsWanted) {
  Open(1, kTrainer);
  hosts_.GivenOut(now_);
  EXPECT_THAT(wanted_, IsEmpty());

  WantRow();

  EXPECT_EQ(wanted_[1], 1u);
  WantRow();
  EXPECT_EQ(wanted_[1], 1u);
}

TEST_F(HostsTest, OneThatWaitsIsAskedFirstAndOneThatIsFailedNever) {
  Open(1, kTrainer);
  Open(2, kTrainer);
  Open(3, kOtherTrainer);
  looks_[1].may_ask = false;
  looks_[3].is_waiting = true;

  WantRow();

  EXPECT_EQ(wanted_.size(), 1u);
  EXPECT_EQ(wanted_[3], 1u);
}

TEST_F(HostsTest, AnotherIsAskedWhenABusyOneDoesNotAnswerAndTheFirstHostCounts) {
  const HostToken busy = Open(1, kTrainer), other = Open(2, kOtherTrainer);
  WantRow();
  Pass(9s);
  EXPECT_EQ(wanted_.size(), 1u);
  Pass(2s);
  EXPECT_EQ(wanted_.size(), 2u);

  const auto first = Enter(other, kHostPeer);
  const auto second = Enter(busy, kHostPeer + 1);

  EXPECT_THAT(closed_, ElementsAre(kHostPeer + 1));
  EXPECT_EQ(first->place(0).wanted_starts, 1u);
}

TEST_F(HostsTest, AfterThreeFailedHostsTheFeedsFailWithTheLastReason) {
  const HostToken token = Open(1, kTrainer);
  WantRow();
  for (int i = 0; i < 3; ++i) {
    const auto host = Enter(token);
    auto& page = *reinterpret_cast<shm::PythonHostPage*>(host->page.data());
    std::strcpy(page.error, "fork: no memory");
    page.failed = 1;
    Pass(100ms);
    host->process.AwaitDeath();
    WantRow();
    Pass(1s);
  }

  ASSERT_EQ(failed_.size(), 1u);
  EXPECT_THAT(failed_[0], HasSubstr("fork: no memory"));
  EXPECT_FALSE(MayMake());
  EXPECT_EQ(wanted_[1], 3u);
}

TEST_F(HostsTest, AForkedHostThatDoesNotEnterFailed) {
  Open(1, kTrainer);
  WantRow();
  for (uint32_t i = 1; i <= 3; ++i) {
    looks_[1].hosts_forked = i;
    Pass(11s);
  }

  ASSERT_EQ(failed_.size(), 1u);
  EXPECT_THAT(failed_[0], HasSubstr("did not enter"));
}

TEST_F(HostsTest, WhenAnotherSessionOpensItIsTriedAgain) {
  Open(1, kTrainer);
  WantRow();
  for (uint32_t i = 1; i <= 3; ++i) {
    looks_[1].hosts_forked = i;
    Pass(11s);
  }
  ASSERT_EQ(failed_.size(), 1u);

  const HostToken token = Open(2, kOtherTrainer);
  WantRow();
  const auto host = Enter(token);

  EXPECT_THAT(closed_, IsEmpty());
}

// ---- Workers ----

class SupplyingTest : public HostsTest {
 protected:
  explicit SupplyingTest(uint32_t workers = 2) : token_(Open(1, kTrainer, workers)) {
    WantRow();
    host_ = Enter(token_);
    for (uint32_t place = 0; place < workers; ++place) StartWorker(*host_, token_, place);
  }
  FakeWorker& worker(uint32_t place) { return *host_->workers.at(place); }

  const HostToken token_;
  std::unique_ptr<FakeHost> host_;
};

TEST_F(SupplyingTest, ABatchIsMadeAfterItsSegmentWasSent) {
  ASSERT_TRUE(MayMake());
  Submit(5);

  EXPECT_THAT(segments_, ElementsAre(std::pair(kWorkerPeer + 10, 3u)));
  Finish(worker(0));
  const MakerNews news = Collect();
  ASSERT_EQ(news.results.size(), 1u);
  EXPECT_EQ(news.results[0].id, 5u);
  EXPECT_EQ(news.results[0].end, MakeEnd::kMade);
}

TEST_F(SupplyingTest, OnlyFreeWorkersGetBatches) {
  Submit(5);
  Submit(6);
  EXPECT_FALSE(MayMake());

  Finish(worker(1));
  Collect();

  EXPECT_TRUE(MayMake());
}

TEST_F(SupplyingTest, AWorkerThatCannotBeSentItsSegmentIsKilledAndTheBatchLost) {
  can_send_ = false;
  Submit(5);

  EXPECT_EQ(host_->processes.at(0)->AwaitDeath(), SIGKILL);
  const MakerNews news = Collect();
  ASSERT_EQ(news.results.size(), 1u);
  EXPECT_EQ(news.results[0].end, MakeEnd::kLost);
}

TEST_F(SupplyingTest, AWorkersDeathIsTheBatchsStrikeWithItsWords) {
  Submit(5);
  worker(0).Take();
  host_->processes.at(0)->Die();
  EXPECT_THAT(Collect().results, IsEmpty()) << "its host will say how it died";
  Reap(*host_, 0, SIGSEGV, "Fatal Python error");

  const MakerNews news = Collect();

  ASSERT_EQ(news.results.size(), 1u);
  EXPECT_EQ(news.results[0].end, MakeEnd::kStrike);
  EXPECT_EQ(news.results[0].how, "killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(news.results[0].words, "Fatal Python error");
  ASSERT_EQ(news.deaths.size(), 1u);
  EXPECT_EQ(news.deaths[0].account, 7u);
  EXPECT_EQ(news.deaths[0].dataset, dataset_.get());
}

TEST_F(SupplyingTest, AStrikeDoesNotWaitLongForAHostThatSaysNothing) {
  Submit(5);
  worker(0).Take();
  host_->processes.at(0)->Die();
  Collect();
  now_ += kAwaitWords;

  EXPECT_EQ(Collect().results.size(), 1u);
}

TEST_F(SupplyingTest, ANeedForRoomIsAnsweredAtItsWorker) {
  Submit(5);
  worker(0).NeedsRoom(worker(0).Take()->sequence, 9000);
  const MakerNews news = Collect();
  ASSERT_EQ(news.needs.size(), 1u);

  hosts_.GiveRoom(news.needs[0], 12288, now_);

  EXPECT_EQ(worker(0).Take()->granted, 12288u);
}

TEST_F(SupplyingTest, TheMostWorkersThatASessionAsksForCount) {
  Open(2, kOtherTrainer, 3);
  EXPECT_EQ(host_->place(2).wanted_starts, 1u);
  Open(3, kOtherTrainer, 1);
  hosts_.Tick(now_);
  EXPECT_EQ(host_->place(3).wanted_starts, 0u);
}

TEST_F(SupplyingTest, AWorkerOfAnOlderStartOrOfNoHostIsSentAway) {
  const FakeProcess stranger;
  hosts_.Arrived({.peer = 50,
                  .token = token_,
                  .worker = ChannelEndpoint::Worker{.place = 0, .start = 1},
                  .process = stranger.pidfd()},
                 now_);
  const HostToken other = Open(2, kOtherTrainer);
  hosts_.Arrived({.peer = 51,
                  .token = other,
                  .worker = ChannelEndpoint::Worker{.place = 2, .start = 1},
                  .process = stranger.pidfd()},
                 now_);

  EXPECT_THAT(closed_, UnorderedElementsAre(50u, 51u));
}

TEST_F(SupplyingTest, WhenTheHostDiesItsBatchesAreLostAndAnotherTrainerIsAskedAtOnce) {
  const HostToken other = Open(2, kOtherTrainer, 2);
  looks_[2].is_waiting = true;
  Submit(5);
  worker(0).Take();
  hosts_.PeerLeft(kTrainer);  // as when the trainer was killed, which ends its host
  hosts_.SessionClosed(1, now_);
  host_->process.Die();
  host_->processes.at(0)->Die();
  host_->processes.at(1)->Die();

  const MakerNews news = Collect();
  WantRow();

  ASSERT_EQ(news.results.size(), 1u);
  EXPECT_EQ(news.results[0].end, MakeEnd::kLost);
  EXPECT_EQ(wanted_[2], 1u);
  const auto next = Enter(other, kHostPeer + 1);
  StartWorker(*next, other, 0);
  EXPECT_TRUE(MayMake());
}

TEST_F(SupplyingTest, AHostThatClosesItsConnectionIsKilled) {
  hosts_.PeerLeft(kHostPeer);
  EXPECT_EQ(host_->process.AwaitDeath(), SIGKILL);
  EXPECT_FALSE(MayMake());
}

TEST_F(SupplyingTest, AnUnusedHostStaysForAWhileThenIsSentAway) {
  hosts_.SessionClosed(1, now_);
  Pass(29s);
  EXPECT_THAT(closed_, IsEmpty());
  Pass(2s);

  EXPECT_THAT(closed_, ElementsAre(kHostPeer));
  hosts_.PeerLeft(kHostPeer);
  host_->process.AwaitDeath();
  host_->processes.clear();
  Pass(1s);
  EXPECT_THAT(hosts_.supplies(), IsEmpty());
  EXPECT_EQ(dataset_.use_count(), 1);
}

TEST_F(SupplyingTest, TheNextSessionFindsTheHost) {
  hosts_.SessionClosed(1, now_);
  Pass(10s);

  EXPECT_EQ(Open(2, kTrainer), token_);
  EXPECT_TRUE(MayMake());
  Pass(60s);
  EXPECT_THAT(closed_, IsEmpty());
}

TEST_F(HostsTest, ASessionThatNeedsMoreWorkersThanOthersLeaveIsRefused) {
  std::vector<std::shared_ptr<int>> datasets;
  for (uint64_t i = 1; i <= 4; ++i) {
    PythonSession session = Session(i, kTrainer, 255);
    session.dataset = datasets.emplace_back(std::make_shared<int>());
    ASSERT_TRUE(hosts_.SessionOpened(session, now_).ok());
  }
  PythonSession streams = Session(5, kTrainer, 8);
  streams.streams = 8;

  const absl::Status refused = hosts_.SessionOpened(streams, now_).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("got 4"));
  EXPECT_TRUE(hosts_.SessionOpened(Session(6, kTrainer, 8), now_).ok()) << "with fewer workers";
}

// ---- Streams ----

StreamPart Unit(uint64_t unit) {
  return {.feed = 1, .stream = static_cast<uint32_t>(unit % 2), .unit = unit};
}

TEST_F(SupplyingTest, AStreamsUnitsWaitForTheirWorker) {
  for (uint64_t unit : {0, 2, 4}) Submit(unit, Unit(unit));

  EXPECT_FALSE(worker(1).Take().has_value()) << "although it is free";
  EXPECT_TRUE(MayMake(/*in_stream=*/true));
  for (uint64_t unit : {0, 2, 4}) {
    Finish(worker(0));
    const MakerNews news = Collect();
    hosts_.GivenOut(now_);
    ASSERT_EQ(news.results.size(), 1u);
    EXPECT_EQ(news.results[0].id, unit);
  }
}

TEST_F(SupplyingTest, AStreamEndsWithItsWorker) {
  Submit(0, Unit(0));
  Submit(1, Unit(1));
  Finish(worker(0));
  worker(1).Take();
  Collect();
  host_->processes.at(0)->Die();
  host_->processes.at(1)->Die();
  Reap(*host_, 0, SIGKILL, "");
  Reap(*host_, 1, SIGKILL, "");
  const MakerNews news = Collect();
  ASSERT_EQ(news.results.size(), 1u);
  EXPECT_EQ(news.results[0].id, 1u);
  EXPECT_EQ(news.results[0].end, MakeEnd::kStreamLost);
  EXPECT_EQ(news.results[0].how, "killed by signal 9 (Killed)");

  Pass(200ms);
  StartWorker(*host_, token_, 0);
  Submit(2, Unit(2));

  const MakerNews later = Collect();
  ASSERT_EQ(later.results.size(), 1u);
  EXPECT_EQ(later.results[0].id, 2u);
  EXPECT_EQ(later.results[0].end, MakeEnd::kStreamLost);
  EXPECT_EQ(later.results[0].how, "killed by signal 9 (Killed)");
}

TEST_F(HostsTest, StreamsWaitForAHostAndAskForOne) {
  const HostToken token = Open(1, kTrainer, 2);
  ASSERT_TRUE(MayMake(/*in_stream=*/true));
  Submit(0, Unit(0));
  EXPECT_EQ(wanted_[1], 1u);

  const auto host = Enter(token);
  StartWorker(*host, token, 0);
  hosts_.GivenOut(now_);

  EXPECT_TRUE(host->workers.at(0)->Take().has_value());
}

}  // namespace
}  // namespace penstock::pyworkers
