// Decides who is served next on one fill path. Between users: the one with the least usage
// (spending.h). For one user, rows that came back go first. Then one slot after another: of the
// sessions with the fewest ready batches, the one furthest behind.
// **Ownership**: owned by the core.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "server/feed/core/session.h"
#include "server/feed/core/spending.h"

namespace penstock::feed {

class Schedule {
 public:
  void Add(Session& session);
  void Remove(Session& session);
  // Something changed: reconsider users that wanted nothing or could not be served.
  void Changed() { ++changes_; }
  // Nobody wants this slot any more: give out no rows of it.
  void Abandoned(const Slot& slot);

  // The next rows, for a user who may get them and a feed that may be read. `begin` starts filling
  // a slot for the session that is served next.
  std::optional<RowTask> Next(Core::MayHave may_have, Core::MayRead may_read,
                              absl::FunctionRef<Slot&(Session&)> begin);

  // After Next returned nullopt: the user that wants rows and has the least usage, of those that
  // must wait for others to make room.
  std::optional<UserId> claimant() const { return claimant_; }
  // The same for a user whose rows are kept elsewhere.
  void Claim(UserId user);

  // These rows must be given out once more. **Requires**: a session wants their slot.
  void ComeBack(const RowTask& task, Slot& slot);

  // How rows that were given out ended.
  void Ended(const RowTask& task, std::optional<base::Duration> cost) {
    spending_.Ended(task.user, task.rows, cost);
  }
  base::Duration Spent(UserId user) const { return spending_.Of(user); }
  void Occupied(absl::FunctionRef<base::Duration(UserId)> so_far) { spending_.Occupied(so_far); }

  // Number of slots begun so far; the logical time for serving sessions.
  uint64_t begun() const { return begun_; }
  // Calls `visit` for each session of the user.
  void VisitSessions(UserId user, absl::FunctionRef<void(Session&)> visit);

 private:
  // A feed's place in the rotation of its user's feeds.
  struct FeedTurn {
    uint64_t picks = 0;
    uint64_t last_pick = 0;
    uint32_t sessions = 0;
  };
  struct Entry {
    Session* session;
    FeedTurn* feed;
  };
  // Rows that came back.
  struct Back {
    RowTask task;
    Slot* slot;
  };
  struct User {
    UserId id;
    std::vector<Entry> entries;
    absl::flat_hash_map<FeedId, std::unique_ptr<FeedTurn>> feeds;
    Slot* current = nullptr;  // filling, with rows not yet given out
    // Slots like `current` whose feeds became unreadable; oldest first.
    std::vector<Slot*> put_off;
    std::deque<Back> back;  // oldest first
    uint64_t asked = 0;     // value of changes_ when it last had nothing to do
    uint64_t served = 0;    // value of served_ when it was last served
  };

  using Users = std::vector<std::unique_ptr<User>>;

  static bool Before(const Entry& a, const Entry& b);
  Users::iterator Find(UserId id);
  User& UserOf(UserId id);
  const Entry* Pick(const User& user, Core::MayRead may_read) const;
  bool Wants(User& user, Core::MayRead may_read) const;
  RowTask Give(User& user, Core::MayRead may_read, absl::FunctionRef<Slot&(Session&)> begin);
  static std::deque<Back>::iterator FirstBack(User& user, Core::MayRead may_read);
  void FindSlot(User& user, Core::MayRead may_read, absl::FunctionRef<Slot&(Session&)> begin);
  static void GoOnWithWhatMayBeRead(User& user, Core::MayRead may_read);

  Users users_;
  Spending spending_;
  std::optional<UserId> claimant_;
  uint64_t served_ = 0;
  uint64_t changes_ = 1;
  uint64_t begun_ = 0;
};

}  // namespace penstock::feed
