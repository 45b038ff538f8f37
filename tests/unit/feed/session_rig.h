// A session table with a real core and pool. The tests play the sessions' consumers. There are no
// workers and no threads.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "server/feed/sessions/session_table.h"
#include "tests/support/fakes/fake_dataset.h"
#include "tests/unit/feed/core_pool.h"

namespace penstock::feed {

// Returns what the test says, and records its calls.
class FakeDelivery final : public exporting::BatchDelivery {
 public:
  const posix::Fd& memory() const override { return nothing_; }
  uint64_t memory_bytes() const override { return 0; }
  const posix::Fd& event() const override { return nothing_; }
  bool reads_pool() const override { return in_pool; }
  void Announce(const shm::ControlEntry& entry, const exporting::FullSlot&) override {
    announced.push_back(entry);
  }
  Heard Listen() override { return heard; }
  Waiting LookAtConsumer() const override { return waiting; }
  void Finish(shm::SessionState its_state, const absl::Status& its_reason) override {
    if (!state) state = its_state, reason = its_reason;
  }
  void SetAsleep(bool asleep) override { runner_asleep = asleep; }
  bool MustBePolled() const override { return polled; }
  bool Leave() override { return may_go; }

  std::vector<shm::ControlEntry> announced;
  Heard heard;
  Waiting waiting;
  std::optional<shm::SessionState> state;
  absl::Status reason;
  bool in_pool = true, runner_asleep = false, polled = false, may_go = true;

 private:
  posix::Fd nothing_;
};

class SessionRig : public ::testing::Test {
 protected:
  static constexpr uint64_t kPeer = 5, kOtherPeer = 6;
  static constexpr uint64_t kSamples = 20;
  static constexpr uint32_t kRows = 2;

  static std::shared_ptr<DatasetState> MakeDataset() {
    return std::make_shared<DatasetState>(
        DatasetState{.name = "flowers",
                     .dataset = std::make_shared<testing::FakeDataset>(kSamples),
                     .quarantine = {},
                     .policy = FaultPolicy(kSamples)});
  }
  std::shared_ptr<Feed> MakeFeed() {
    auto feed = std::make_shared<Feed>();
    feed->id = FeedId(++feeds_made_);
    feed->dataset = dataset_;
    feed->called = "flowers";
    feed->account = feeds_made_;
    feed->spec.samples = kSamples;
    return feed;
  }

  // Opens a session of the peer with a window of two batches.
  uint64_t Open(uint64_t peer, std::shared_ptr<Feed> feed, uint32_t user = 1000) {
    const pool::SlotLayout layout = pool::LayOut({8}, kRows);
    const uint64_t id = sessions_.NextId(), arena = pool_.ArenaOf(user, layout);
    EXPECT_TRUE(pool_.Reserve(arena, 2).ok());
    SessionSpec spec{.user = UserId(user), .feed = feed->id, .arena = ArenaId(arena)};
    spec.share = {.samples = kSamples, .batch_size = kRows};
    spec.window = 2;
    EXPECT_TRUE(core_.OpenSession(SessionId(id), spec, now_).ok());
    SessionRecord session;
    session.request.peer = peer;
    session.request.user = user;
    session.request.window = 2;
    session.request.dataset = dataset_;
    session.request.dataset_name = "flowers";
    session.slot_bytes = layout.slot_bytes;
    session.arena = arena;
    session.feed = std::move(feed);
    session.epoch_batches = {kSamples / kRows, kSamples / kRows};
    auto delivery = std::make_unique<FakeDelivery>();
    deliveries_[id] = delivery.get();
    session.delivery = std::move(delivery);
    sessions_.Add(id, std::move(session));
    return id;
  }
  FakeDelivery& delivery(uint64_t id) { return *deliveries_.at(id); }
  uint64_t Reserved() const { return pool_.Used().reserved_bytes; }
  // Fills `batches` batches in the core's order.
  void Fill(uint32_t batches) {
    for (uint32_t row = 0; row < batches * kRows; ++row) core_.RowDone(core_.NextRow().value());
  }

  base::TimePoint now_{};
  const std::shared_ptr<DatasetState> dataset_ = MakeDataset();
  Core core_;
  pool::Pool pool_ = MakeCorePool(core_, 16384);
  SessionTable sessions_{core_, pool_};
  std::map<uint64_t, FakeDelivery*> deliveries_;
  uint64_t feeds_made_ = 0;
};

}  // namespace penstock::feed
