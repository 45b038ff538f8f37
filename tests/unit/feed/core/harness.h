// A core with what tests need around it: specs with defaults, a clock, a decoder that always
// succeeds, and each session's announcements.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "server/feed/core/core.h"

namespace penstock::feed {

inline constexpr ArenaId kArena{1};
inline constexpr FeedId kFeed{77};
inline constexpr UserId kUser{1000};

class Harness {
 public:
  static SessionSpec Spec(uint64_t samples = 1000, uint32_t batch_size = 2, uint32_t window = 2) {
    SessionSpec spec;
    spec.user = kUser;
    spec.feed = kFeed;
    spec.arena = kArena;
    spec.share.samples = samples;
    spec.share.batch_size = batch_size;
    spec.window = window;
    return spec;
  }

  void AddSlots(uint32_t count, ArenaId arena = kArena) {
    for (uint32_t i = 0; i < count; ++i) {
      const SlotId slot{next_slot_++};
      core.AddSlots(arena, std::span(&slot, 1));
      slots.push_back(slot);
    }
  }

  // Opens a session with this id. **Requires**: the core accepts it.
  SessionId Open(uint64_t id, const SessionSpec& spec) {
    const absl::Status status = core.OpenSession(SessionId(id), spec, now);
    EXPECT_TRUE(status.ok()) << status;
    return SessionId(id);
  }

  RowTask Give() {
    const std::optional<RowTask> task = core.NextRow();
    EXPECT_TRUE(task.has_value()) << "a row to decode was expected";
    return task.value_or(RowTask());
  }

  // Gives out and decodes at most `most` rows. Returns the number of rows.
  uint64_t Decode(uint64_t most = UINT64_MAX) {
    uint64_t decoded = 0;
    for (; decoded < most; ++decoded) {
      const std::optional<RowTask> task = core.NextRow();
      if (!task) break;
      core.RowDone(*task);
    }
    Hear();
    return decoded;
  }

  // Collects the announcements.
  void Hear() {
    for (const Announcement& announcement : core.TakeAnnouncements()) {
      announced[announcement.session].push_back(announcement);
    }
  }

  absl::Status Take(SessionId session, uint64_t count) { return core.Taken(session, count, now); }
  absl::Status Release(SessionId session, uint64_t sequence) {
    return core.Released(session, sequence, now);
  }
  // Takes and releases the next batch.
  void Consume(SessionId session) {
    const uint64_t next = core.View(session)->taken + 1;
    ASSERT_TRUE(Take(session, next).ok());
    ASSERT_TRUE(Release(session, next).ok());
    Hear();
  }

  std::vector<uint64_t> FirstsSent(SessionId session) {
    std::vector<uint64_t> firsts;
    for (const Announcement& a : announced[session]) firsts.push_back(a.position.first);
    return firsts;
  }

  Core core;
  base::TimePoint now{};
  std::vector<SlotId> slots;
  std::map<SessionId, std::vector<Announcement>> announced;

 private:
  uint32_t next_slot_ = 0;
};

inline std::string Message(const absl::Status& status) { return std::string(status.message()); }

}  // namespace penstock::feed
