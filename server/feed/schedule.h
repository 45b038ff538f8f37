// Who is served next on one road. Between users: deficit round robin by samples (a row costs one,
// so that what a user may still take in its turn is its deficit; a run of more rows than that is
// given whole, and what was too much is a debt that its next turns pay). Within a user one slot
// after the other: among the sessions with the fewest ready batches the one furthest behind. Owned
// by the core.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "server/feed/session.h"

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
    int64_t deficit = 0;  // rows; negative: a debt
    uint64_t asked = 0;   // changes_ when it last had nothing to do
  };

  using Users = std::vector<std::unique_ptr<User>>;

  static bool Before(const Entry& a, const Entry& b);
  Users::iterator Find(UserId id);
  User& UserOf(UserId id);
  const Entry* Pick(const User& user, Core::MayRead may_read) const;
  bool FindSlot(User& user, Core::MayRead may_read, absl::FunctionRef<Slot&(Session&)> begin);
  static void GoOnWithWhatMayBeRead(User& user, Core::MayRead may_read);
  void EndTurn() { turn_ = (turn_ + 1) % users_.size(); }

  Users users_;  // in the order of their turns
  size_t turn_ = 0;
  uint64_t changes_ = 1;
  uint64_t begun_ = 0;
};

}  // namespace penstock::feed
