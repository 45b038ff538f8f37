// Hosts with processes that only wait to be killed. The test plays the trainers, the hosts and
// their workers, whose pages and channels it writes.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/pyworkers/hosts.h"
#include "tests/unit/pyworkers/fake_process.h"
#include "tests/unit/pyworkers/fake_worker.h"

namespace penstock::pyworkers {

inline constexpr uint64_t kTrainer = 1, kOtherTrainer = 2, kHostPeer = 100, kWorkerPeer = 200;

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
            .workers = workers,
            .keep_host = true};
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
      now_ += std::chrono::milliseconds(100);
      const MakerNews news = Collect();
      for (const auto& [dataset, why] : news.failed) failed_.push_back(std::string(why.message()));
      hosts_.Tick(now_);
    }
  }

  base::TimePoint now_{std::chrono::hours(1)};
  const std::shared_ptr<int> dataset_ = std::make_shared<int>();
  std::vector<std::pair<uint64_t, uint32_t>> segments_;
  std::set<uint64_t> closed_;
  std::map<uint64_t, uint32_t> wanted_;
  std::map<uint64_t, TrainerLook> looks_;
  std::map<uint64_t, FakeHost*> host_of_peer_;
  std::map<uint64_t, std::unique_ptr<FakeWorker>> channels_;
  std::vector<std::string> failed_;
  bool can_send_ = true;
  Hosts hosts_{MakeSurroundings(), /*start_timeout=*/std::chrono::seconds(10)};
};

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

}  // namespace penstock::pyworkers
