#include "server/feed/core/schedule.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/base/check.h"

namespace penstock::feed {
namespace {

// Every eighth slot of a feed goes to the starving session that has waited longest. If all went to
// the one furthest behind, a newcomer at the feed's beginning would starve those far ahead until it
// has caught up, which may take days. In simulation this costs those furthest behind 0.2 %.
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
  spending_.Wants(user.id, false);
  users_.erase(found);
}

void Schedule::Abandoned(const Slot& slot) {
  for (const auto& user : users_) {
    if (user->current == &slot) user->current = nullptr;
    std::erase(user->put_off, &slot);
    std::erase_if(user->back, [&](const Back& back) { return back.slot == &slot; });
  }
}

Schedule::Users::iterator Schedule::Find(UserId id) {
  return std::find_if(users_.begin(), users_.end(),
                      [&](const auto& user) { return user->id == id; });
}

Schedule::User& Schedule::UserOf(UserId id) {
  if (const auto found = Find(id); found != users_.end()) return **found;
  users_.push_back(std::make_unique<User>());
  users_.back()->id = id;
  return *users_.back();
}

void Schedule::VisitSessions(UserId user, absl::FunctionRef<void(Session&)> visit) {
  const auto found = Find(user);
  PENSTOCK_CHECK(found != users_.end());
  for (const Entry& entry : (*found)->entries) visit(*entry.session);
}

std::optional<RowTask> Schedule::Next(Core::MayHave may_have, Core::MayRead may_read,
                                      absl::FunctionRef<Slot&(Session&)> begin) {
  claimant_.reset();
  User* next = nullptr;
  const auto rank = [this](const User& user) {
    return std::tuple(spending_.Of(user.id), user.served);
  };
  for (const auto& user : users_) {
    const Turn turn = may_have(user->id);
    const bool wants = turn != Turn::kNot && Wants(*user, may_read);
    spending_.Wants(user->id, wants);
    if (wants && turn == Turn::kLater) Claim(user->id);
    if (wants && turn == Turn::kNow && (next == nullptr || rank(*user) < rank(*next)))
      next = user.get();
  }
  spending_.Advance();
  if (next == nullptr) return std::nullopt;
  next->served = ++served_;
  const RowTask task = Give(*next, may_read, begin);
  spending_.Given(next->id, task.rows);
  return task;
}

RowTask Schedule::Give(User& user, Core::MayRead may_read,
                       absl::FunctionRef<Slot&(Session&)> begin) {
  if (const auto back = FirstBack(user, may_read); back != user.back.end()) {
    const RowTask task = back->task;
    back->slot->rows.GiveAgain(task.row, task.rows);
    user.back.erase(back);
    return task;
  }
  FindSlot(user, may_read, begin);
  const RowTask task = user.current->GiveFresh();
  if (!user.current->rows.HasFresh()) user.current = nullptr;
  return task;
}

std::deque<Schedule::Back>::iterator Schedule::FirstBack(User& user, Core::MayRead may_read) {
  return std::find_if(user.back.begin(), user.back.end(),
                      [&](const Back& back) { return may_read(user.id, back.task.feed); });
}

void Schedule::ComeBack(const RowTask& task, Slot& slot) {
  const auto user = Find(task.user);
  PENSTOCK_CHECK(user != users_.end());
  (*user)->back.push_back({task, &slot});
}

void Schedule::Claim(UserId user) {
  if (!claimant_ || spending_.Of(user) < spending_.Of(*claimant_)) claimant_ = user;
}

// Whether Give would find rows.
bool Schedule::Wants(User& user, Core::MayRead may_read) const {
  if (FirstBack(user, may_read) != user.back.end()) return true;
  GoOnWithWhatMayBeRead(user, may_read);
  if (user.current != nullptr) return true;
  if (user.asked == changes_) return false;
  if (Pick(user, may_read) != nullptr) return true;
  // This is not notified when a feed becomes readable again. The feed of a session that has ended
  // may be gone.
  const auto is_read = [&](const Entry& entry) {
    return !entry.session->Wants() || may_read(user.id, entry.session->spec().feed);
  };
  if (std::all_of(user.entries.begin(), user.entries.end(), is_read)) user.asked = changes_;
  return false;
}

// Makes the user's current slot one with fresh rows.
void Schedule::FindSlot(User& user, Core::MayRead may_read,
                        absl::FunctionRef<Slot&(Session&)> begin) {
  if (user.current != nullptr) return;
  const Entry* next = Pick(user, may_read);
  PENSTOCK_CHECK(next != nullptr);
  ++next->feed->picks;
  next->feed->last_pick = ++begun_;
  user.current = &begin(*next->session);
}

// Skips a slot whose feed cannot be read now.
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

// The fewest ready batches first; then the feed served longest ago, because positions of different
// feeds cannot be compared; then the session furthest behind.
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
