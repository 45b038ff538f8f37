// Who is served next on one fill path. Between users: whoever has had the least of the time of
// those who fill rows (spending.h). Within a user one slot after the other: among the sessions with
// the fewest ready batches the one furthest behind. Owned by the core.
#pragma once

#include <cstdint>
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
  // Something happened: who wanted nothing, or could not be served, is asked again.
  void Changed() { ++changes_; }
  // Nobody wants this slot any more: no further row of it is given out.
  void Abandoned(const Slot& slot);

  // The next fresh rows, of a user who may have them and a feed that may be read. `begin` makes a
  // slot fill for the session that is served next.
  std::optional<RowTask> Next(Core::MayHave may_have, Core::MayRead may_read,
                              absl::FunctionRef<Slot&(Session&)> begin);

  // The user that wants rows and has had the least, of those that may not have any before others
  // make room: as of the last call of Next, if that gave none.
  std::optional<UserId> claimant() const { return claimant_; }
  // Rows of the user that came back may have none either.
  void Claim(UserId user);

  // How what was given out ended.
  void Ended(const RowTask& task, std::optional<base::Duration> cost) {
    spending_.Ended(task.user, task.rows, cost);
  }
  void GivenAgain(const RowTask& task) { spending_.Given(task.user, task.rows); }
  base::Duration Spent(UserId user) const { return spending_.Of(user); }

  // Slots begun so far: the time by which sessions are served.
  uint64_t begun() const { return begun_; }
  // Calls `visit` with each session of the user.
  void VisitSessions(UserId user, absl::FunctionRef<void(Session&)> visit);

 private:
  // The turn of a feed among those of one user.
  struct FeedTurn {
    uint64_t picks = 0;
    uint64_t last_pick = 0;
    uint32_t sessions = 0;
  };
  struct Entry {
    Session* session;
    FeedTurn* feed;
  };
  struct User {
    UserId id;
    std::vector<Entry> entries;
    absl::flat_hash_map<FeedId, std::unique_ptr<FeedTurn>> feeds;
    Slot* current = nullptr;  // filling, and not all of its rows were given out
    // Begun like that one, when their feeds could not be read any more; oldest first.
    std::vector<Slot*> put_off;
    uint64_t asked = 0;   // changes_ when it last had nothing to do
    uint64_t served = 0;  // when it last was, as served_ counts
  };

  using Users = std::vector<std::unique_ptr<User>>;

  static bool Before(const Entry& a, const Entry& b);
  Users::iterator Find(UserId id);
  User& UserOf(UserId id);
  const Entry* Pick(const User& user, Core::MayRead may_read) const;
  bool Wants(User& user, Core::MayRead may_read) const;
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
