#include "server/feed/schedule.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/base/check.h"

namespace penstock::feed {
namespace {

// Rows that a user may be given in one turn.
constexpr int64_t kQuantum = 32;

// Every eighth slot of a feed goes to the starving session that has waited longest. Were all of
// them to go to the one furthest behind, a newcomer at the feed's beginning would starve those far
// ahead of it until it has caught up, which may be days. Simulated: this costs those furthest
// behind 0.2 %.
constexpr uint64_t kTurnOfTheWaiting = 8;

}  // namespace

void Schedule::Add(Session& session) {
  User& user = UserOf(session.spec().user);
  std::unique_ptr<FeedTurn>& feed = user.feeds[session.spec().feed];
  if (feed == nullptr) feed = std::make_unique<FeedTurn>();
  ++feed->sessions;
  user.entries.push_back({&session, feed.get()});
  Changed();
}

void Schedule::Remove(Session& session) {
  const auto found = Find(session.spec().user);
  PENSTOCK_CHECK(found != users_.end());
  User& user = **found;
  std::erase_if(user.entries, [&](const Entry& entry) { return entry.session == &session; });
  const auto feed = user.feeds.find(session.spec().feed);
  if (--feed->second->sessions == 0) user.feeds.erase(feed);
  Changed();
  if (!user.entries.empty()) return;

  if (static_cast<size_t>(found - users_.begin()) < turn_) --turn_;
  users_.erase(found);
  if (turn_ == users_.size()) turn_ = 0;
}

void Schedule::Abandoned(const Slot& slot) {
  for (const auto& user : users_) {
    if (user->current == &slot) user->current = nullptr;
    std::erase(user->put_off, &slot);
  }
}

Schedule::Users::iterator Schedule::Find(UserId id) {
  return std::find_if(users_.begin(), users_.end(),
                      [&](const auto& user) { return user->id == id; });
}

// Makes the user known where it is not: its first turn is the last of this round.
Schedule::User& Schedule::UserOf(UserId id) {
  if (const auto found = Find(id); found != users_.end()) return **found;
  const auto made = users_.insert(users_.begin() + turn_, std::make_unique<User>());
  turn_ = (turn_ + 1) % users_.size();
  (*made)->id = id;
  return **made;
}

void Schedule::VisitSessions(UserId user, absl::FunctionRef<void(Session&)> visit) {
  const auto found = Find(user);
  PENSTOCK_CHECK(found != users_.end());
  for (const Entry& entry : (*found)->entries) visit(*entry.session);
}

std::optional<RowTask> Schedule::Next(Core::MayHave may_have, Core::MayRead may_read,
                                      absl::FunctionRef<Slot&(Session&)> begin) {
  for (size_t idle = 0; idle < users_.size();) {
    User& user = *users_[turn_];
    if (!may_have(user.id)) {  // its turn waits for it, no longer than this one
      EndTurn();
      ++idle;
      continue;
    }
    if (user.deficit <= 0) user.deficit += kQuantum;  // a turn begins
    if (user.deficit <= 0) {                          // and pays a debt
      EndTurn();
      idle = 0;
      continue;
    }
    if (!FindSlot(user, may_read, begin)) {
      user.deficit = 0;
      EndTurn();
      ++idle;
      continue;
    }
    const RowTask task = user.current->GiveFresh();
    user.deficit -= task.rows;
    if (user.deficit <= 0) EndTurn();
    if (!user.current->rows.HasFresh()) user.current = nullptr;
    return task;
  }
  return std::nullopt;
}

// Lets the user's current slot be one with fresh rows; false when it wants none.
bool Schedule::FindSlot(User& user, Core::MayRead may_read,
                        absl::FunctionRef<Slot&(Session&)> begin) {
  GoOnWithWhatMayBeRead(user, may_read);
  if (user.current != nullptr) return true;
  if (user.asked == changes_) return false;
  const Entry* next = Pick(user, may_read);
  if (next == nullptr) {
    // That a feed may be read again is no change that is heard of here.
    const auto is_read = [&](const Entry& entry) {
      return may_read(user.id, entry.session->spec().feed);
    };
    if (std::all_of(user.entries.begin(), user.entries.end(), is_read)) user.asked = changes_;
    return false;
  }
  ++next->feed->picks;
  next->feed->last_pick = ++begun_;
  user.current = &begin(*next->session);
  return true;
}

// A slot whose feed cannot be read now holds up no other.
void Schedule::GoOnWithWhatMayBeRead(User& user, Core::MayRead may_read) {
  const auto is_read = [&](const Slot* slot) { return may_read(user.id, slot->key.feed); };
  if (user.current != nullptr && !is_read(user.current))
    user.put_off.push_back(std::exchange(user.current, nullptr));
  if (user.current != nullptr || user.put_off.empty()) return;
  const auto next = std::find_if(user.put_off.begin(), user.put_off.end(), is_read);
  if (next == user.put_off.end()) return;
  user.current = *next;
  user.put_off.erase(next);
}

const Schedule::Entry* Schedule::Pick(const User& user, Core::MayRead may_read) const {
  const Entry* best = nullptr;
  for (const Entry& entry : user.entries) {
    if (!entry.session->Wants() || !entry.session->arena().HasSpare()) continue;
    if (!may_read(user.id, entry.session->spec().feed)) continue;
    if (best == nullptr || Before(entry, *best)) best = &entry;
  }
  return best;
}

// The fewest ready batches; then the feed that was served longest ago, since positions of different
// feeds cannot be compared; then the one furthest behind.
bool Schedule::Before(const Entry& a, const Entry& b) {
  const auto rank = [](const Entry& entry) {
    const Session& session = *entry.session;
    const bool waiting = entry.feed->picks % kTurnOfTheWaiting == kTurnOfTheWaiting - 1;
    return std::tuple(session.Supply(), entry.feed->last_pick, waiting ? session.last_given() : 0,
                      session.cursor().epoch(), session.cursor().consumed(), session.id());
  };
  return rank(a) < rank(b);
}

}  // namespace penstock::feed
