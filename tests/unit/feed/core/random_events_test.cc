// Sends the core a hundred thousand random events, and after each checks every invariant in core.h
// against a model that doesn't know how the core works. The seed reproduces a failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "server/feed/core/core.h"

namespace penstock::feed {
namespace {

constexpr uint32_t kArenas = 3, kSlotsOfArena = 16;
constexpr FillPath kAllFillPaths[] = {FillPath::kWorkers, FillPath::kRowCopiers, FillPath::kNobody};

// The test's model of a session: what it should be told next, and what it holds.
struct Known {
  SessionSpec spec;
  uint64_t epoch = 0, step = 0;
  plan::Share share;
  uint64_t announced = 0, taken = 0, released = 0;
  std::map<uint64_t, std::pair<SlotId, uint64_t>> leases;  // by sequence: slot and generation
  bool detached = false;
};

class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {
    for (uint32_t arena = 0; arena < kArenas; ++arena) {
      for (uint32_t i = 0; i < kSlotsOfArena; ++i) {
        const SlotId slot{arena * kSlotsOfArena + i};
        core_.AddSlots(ArenaId(arena), std::span(&slot, 1));
      }
    }
  }

  void Step() {
    const uint64_t what = Pick(1000);
    if (what < 9) {
      Open();
    } else if (what < 12) {
      Close();
    } else if (what < 13) {
      Detach();
    } else if (what < 14) {
      core_.SetVariant(FeedId(Pick(2)), ++variant_);
    } else if (what < 20) {
      now_ += std::chrono::seconds(Pick(20));
      core_.Tick(now_);
    } else if (what < 24) {
      MoveSlots();
    } else if (what < 40) {
      Lie();
    } else if (what < 44) {
      Forget();
    } else if (what < 400) {
      Give();
    } else if (what < 700) {
      Answer();
    } else if (what < 800) {
      Hear();
    } else if (what < 900) {
      Take();
    } else {
      Release();
    }
  }

  void Check() const {
    std::map<SlotId, uint64_t> held;  // all leases on a slot have the same generation
    for (const auto& [id, known] : known_) {
      const SessionView view = *core_.View(id);
      ASSERT_EQ(view.taken, known.taken);
      ASSERT_EQ(view.released, known.released);
      ASSERT_LE(view.announced - view.released + view.filling, known.spec.window);
      ASSERT_GE(view.announced, known.announced);
      ASSERT_EQ(core_.Outstanding(id).size(), known.leases.size());
      for (const auto& [sequence, lease] : known.leases) {
        const auto [place, fresh] = held.emplace(lease.first, lease.second);
        ASSERT_EQ(place->second, lease.second) << "two generations of one slot are held";
      }
    }
    for (const RowTask& task : with_workers_) {
      const auto lease = held.find(task.slot);
      ASSERT_TRUE(lease == held.end()) << "a slot that is held is being written to";
    }
    uint32_t slots = 0;
    for (uint32_t arena = 0; arena < kArenas; ++arena) {
      const SlotCounts counts = core_.Count(ArenaId(arena));
      ASSERT_LE(counts.held + counts.cached + counts.filling, counts.slots);
      slots += counts.slots;
    }
    ASSERT_EQ(slots, kArenas * kSlotsOfArena - removed_.size());
    for (SlotId slot : Unused()) ASSERT_FALSE(held.contains(slot));
  }

  // Remembers which fillings nobody may see any more. Call it after each event.
  void NoteWhatIsGone() {
    for (SlotId slot : Unused()) {
      const auto found = not_kept_.find(slot);
      if (found != not_kept_.end() && found->second == generations_[slot]) {
        gone_[slot] = found->second;
        not_kept_.erase(found);
      }
    }
  }

  // Closes all sessions and answers all rows that workers have.
  void WindDown() {
    while (!known_.empty()) Close();
    while (!with_workers_.empty()) Answer();
    for (FillPath fill_path : kAllFillPaths) EXPECT_FALSE(core_.NextRow(fill_path).has_value());
    EXPECT_EQ(core_.CountAll().held, 0u);
    EXPECT_EQ(core_.CountAll().filling, 0u);
  }

  uint64_t heard() const { return heard_; }
  uint64_t shared() const { return shared_; }
  uint64_t opened() const { return opened_; }
  uint64_t forgotten() const { return forgotten_; }
  uint64_t not_kept() const { return dropped_; }

 private:
  uint64_t Pick(uint64_t limit) { return random_() % limit; }

  std::vector<SlotId> Unused() const {
    std::vector<SlotId> unused;
    for (uint32_t arena = 0; arena < kArenas; ++arena)
      for (SlotId slot : core_.Unused(ArenaId(arena))) unused.push_back(slot);
    return unused;
  }

  void Forget() {
    const std::vector<SlotId> unused = Unused();
    if (unused.empty()) return;
    const SlotId slot = unused[Pick(unused.size())];
    core_.Forget(slot);
    gone_[slot] = generations_[slot];
    ++forgotten_;
  }

  std::map<SessionId, Known>::iterator Any() {
    return known_.empty() ? known_.end() : std::next(known_.begin(), Pick(known_.size()));
  }

  // Users don't share an arena. Feeds differ in their numbers of samples and in their fill paths.
  void Open() {
    SessionSpec spec;
    spec.user = UserId(static_cast<uint32_t>(Pick(kArenas)));
    spec.arena = ArenaId(spec.user.value());
    spec.feed = FeedId(Pick(2));
    spec.variant = variant_;
    spec.share.samples = spec.feed.value() == 0 ? 37 : 50;
    spec.share.world = static_cast<uint32_t>(1 + Pick(3));
    spec.share.rank = static_cast<uint32_t>(Pick(spec.share.world));
    spec.share.batch_size = static_cast<uint32_t>(1 + Pick(4));
    spec.share.consumed = Pick(3) == 0 ? Pick(spec.share.samples + 1) : 0;
    spec.share.remainder = static_cast<plan::Remainder>(Pick(4));
    spec.first_epoch = Pick(2);
    spec.epochs = Pick(4);
    if (Pick(4) > 0) {  // many equal sessions, so that they can share slots
      spec.feed = FeedId(0);
      spec.share = {.samples = 37, .batch_size = 2};
      spec.first_epoch = spec.epochs = 0;
    }
    if (spec.feed.value() == 1) {
      spec.fill_path = FillPath::kRowCopiers;
      spec.run = 3;
    }
    spec.window = static_cast<uint32_t>(1 + Pick(6));
    const SessionId id(++opened_);
    if (!core_.OpenSession(id, spec, now_).ok()) return;  // not enough slots
    Known known;
    known.spec = spec;
    known.epoch = spec.first_epoch;
    known.share = spec.share;
    known_.emplace(id, known);
  }

  void Close() {
    const auto session = Any();
    if (session == known_.end()) return;
    core_.CloseSession(session->first);
    known_.erase(session);
  }

  void Detach() {
    const auto session = Any();
    if (session == known_.end()) return;
    core_.DetachSession(session->first);
    session->second.detached = true;
  }

  void MoveSlots() {
    if (!removed_.empty()) {
      const SlotId slot = removed_.back();
      removed_.pop_back();
      core_.AddSlots(ArenaId(slot.value() / kSlotsOfArena), std::span(&slot, 1));
      return;
    }
    const SlotId slot{static_cast<uint32_t>(Pick(kArenas * kSlotsOfArena))};
    const bool busy = std::any_of(with_workers_.begin(), with_workers_.end(),
                                  [&](const RowTask& task) { return task.slot == slot; });
    if (core_.RemoveSlots(ArenaId(slot.value() / kSlotsOfArena), std::span(&slot, 1))) {
      EXPECT_FALSE(busy);
      removed_.push_back(slot);
      generations_.erase(slot);
      not_kept_.erase(slot);
      gone_.erase(slot);
    }
  }

  // Impossible numbers are refused and change nothing, which Check verifies.
  void Lie() {
    const auto session = Any();
    if (session == known_.end()) return;
    const auto& [id, known] = *session;
    EXPECT_FALSE(core_.Taken(id, known.announced + 1 + Pick(3), now_).ok());
    EXPECT_FALSE(core_.Released(id, known.taken + 1 + Pick(3), now_).ok());
    EXPECT_FALSE(core_.Released(id, 0, now_).ok());
    if (known.taken > 0) {
      EXPECT_FALSE(core_.Taken(id, known.taken - 1, now_).ok());
      const uint64_t earlier = 1 + Pick(known.taken);
      if (!known.leases.contains(earlier)) {
        EXPECT_FALSE(core_.Released(id, earlier, now_).ok());
      }
    }
  }

  void Give() {
    FillPath fill_path = kAllFillPaths[Pick(2)];
    std::optional<RowTask> task = core_.NextRow(fill_path);
    if (!task) {
      fill_path = fill_path == FillPath::kRowCopiers ? FillPath::kWorkers : FillPath::kRowCopiers;
      task = core_.NextRow(fill_path);
    }
    if (!task) return;
    EXPECT_EQ(task->feed, FeedId(fill_path == FillPath::kRowCopiers ? 1 : 0));
    EXPECT_LE(task->rows, fill_path == FillPath::kRowCopiers ? 3u : 1u);
    uint64_t& generation = generations_[task->slot];
    EXPECT_GE(task->generation, generation);
    generation = task->generation;
    for (const RowTask& other : with_workers_) {
      EXPECT_FALSE(other.slot == task->slot && other.row < task->row + task->rows &&
                   task->row < other.row + other.rows)
          << "a row is given out twice";
      EXPECT_FALSE(other.slot == task->slot && other.generation != task->generation)
          << "a slot is filled while a row of its last filling is with a worker";
    }
    with_workers_.push_back(*task);
  }

  void Answer() {
    if (with_workers_.empty()) return;
    std::swap(with_workers_[Pick(with_workers_.size())], with_workers_.back());
    const RowTask task = with_workers_.back();
    with_workers_.pop_back();
    const uint64_t how = Pick(20);
    if (how == 0) {
      core_.RowReturned(task);
    } else if (how == 1) {
      core_.RowRefused(task);
    } else if (how == 2) {
      core_.RowDone(task, {}, Keep::kNo);
      not_kept_[task.slot] = task.generation;
      ++dropped_;
    } else {
      core_.RowDone(task);
    }
  }

  // Each announcement must be the session's next, and match the plan.
  void Hear() {
    for (const Announcement& a : core_.TakeAnnouncements()) {
      ++heard_;
      const auto gone = gone_.find(a.slot);
      EXPECT_FALSE(gone != gone_.end() && gone->second == a.generation)
          << "a batch was announced that was to be forgotten";
      const auto session = known_.find(a.session);
      ASSERT_NE(session, known_.end());
      Known& known = session->second;
      ASSERT_FALSE(known.detached);
      while (known.step == plan::BatchCount(known.share)) {
        ++known.epoch;
        known.step = known.share.consumed = 0;
      }
      const plan::Batch batch = plan::BatchAt(known.share, known.step);
      EXPECT_EQ(a.sequence, ++known.announced);
      EXPECT_EQ(a.position, (plan::Position{known.epoch, batch.first, batch.rows}));
      EXPECT_EQ(a.valid_rows, batch.valid_rows);
      EXPECT_EQ(a.consumed, batch.consumed);
      EXPECT_EQ(a.step, known.step++);
      EXPECT_EQ(a.last_of_epoch, known.step == plan::BatchCount(known.share));
      for (const auto& [other, theirs] : known_) {
        for (const auto& [sequence, lease] : theirs.leases) {
          shared_ += other != a.session && lease == std::pair(a.slot, a.generation);
        }
      }
      known.leases[a.sequence] = {a.slot, a.generation};
    }
  }

  void Take() {
    const auto session = Any();
    if (session == known_.end()) return;
    Known& known = session->second;
    known.taken += Pick(known.announced - known.taken + 1);
    EXPECT_TRUE(core_.Taken(session->first, known.taken, now_).ok());
  }

  void Release() {
    const auto session = Any();
    if (session == known_.end() || session->second.leases.empty()) return;
    Known& known = session->second;
    const auto lease = std::next(known.leases.begin(), Pick(known.leases.size()));
    if (lease->first > known.taken) return;
    EXPECT_TRUE(core_.Released(session->first, lease->first, now_).ok());
    known.leases.erase(lease);
    ++known.released;
  }

  std::mt19937_64 random_;
  Core core_;
  base::TimePoint now_{};
  std::map<SessionId, Known> known_;
  std::vector<RowTask> with_workers_;
  std::map<SlotId, uint64_t> generations_;
  std::vector<SlotId> removed_;
  std::map<SlotId, uint64_t> not_kept_, gone_;  // generations
  uint64_t variant_ = 0, opened_ = 0, heard_ = 0, shared_ = 0, forgotten_ = 0, dropped_ = 0;
};

class RandomEventsTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomEventsTest, WhatAlwaysHoldsHoldsAfterEveryEvent) {
  World world(GetParam());

  for (int event = 0; event < 25'000 && !HasFailure(); ++event) {
    world.Step();
    world.NoteWhatIsGone();
    ASSERT_NO_FATAL_FAILURE(world.Check()) << "event " << event << " of seed " << GetParam();
  }
  world.WindDown();

  // Enough events had an effect.
  EXPECT_GT(world.heard(), 500u);
  EXPECT_GT(world.shared(), 50u);
  EXPECT_GT(world.opened(), 50u);
  EXPECT_GT(world.forgotten(), 50u);
  EXPECT_GT(world.not_kept(), 50u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomEventsTest, ::testing::Values(1, 2, 3, 20261121));

}  // namespace
}  // namespace penstock::feed
