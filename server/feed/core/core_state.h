// The implementation of core.h; include it only in its files.
#pragma once

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/feed/core/arena.h"
#include "server/feed/core/core.h"
#include "server/feed/core/schedule.h"
#include "server/feed/core/session.h"
#include "server/feed/core/slot.h"

namespace penstock::feed {

// Finds an entry by its number; null if absent.
template <typename Map, typename Id>
auto* Get(const Map& map, Id id) {
  const auto found = map.find(id);
  return found == map.end() ? nullptr : found->second.get();
}

// The parts, and how events pass through them. Slots refer to arenas and sessions, sessions to
// arenas and slots, so all of them stay at their address while referred to.
struct Core::State {
  struct FeedEntry {
    uint64_t samples = 0;
    FillPath fill_path = FillPath::kWorkers;
    uint32_t run = 1;
    FeedView counts;
  };

  absl::flat_hash_map<ArenaId, std::unique_ptr<Arena>> arenas;
  absl::flat_hash_map<SlotId, std::unique_ptr<Slot>> slots;
  absl::flat_hash_map<FeedId, std::unique_ptr<FeedEntry>> feeds;
  absl::flat_hash_map<SessionId, std::unique_ptr<Session>> sessions;
  Schedule schedules[kFillPaths];
  std::vector<Announcement> announcements;
  std::vector<Ahead> ahead;  // at most two

  absl::Status CanOpen(SessionId id, const SessionSpec& spec) const;
  uint64_t Reserved(const Arena* arena) const;
  FeedEntry& FeedOf(const SessionSpec& spec);
  Schedule& ScheduleOf(FillPath fill_path) { return schedules[static_cast<size_t>(fill_path)]; }
  void Changed();

  RanksHere FindRanksHere(const Session& session) const;
  Slot& Begin(Session& session);
  void Join(Session& session);
  void Give(Session& session, Slot& slot);
  void Announce(Session& session);
  void LetGo(Session& session, const std::vector<Slot*>& held);
  void ForgetAnnouncements(SessionId session);

  Slot& SlotOf(const RowTask& task) const;
  bool IsFilling(const RowTask& task) const;
  void CameBack(const RowTask& task, uint32_t attempt, Cost cost);
  void Filled(Slot& slot);
};

}  // namespace penstock::feed
