#include "server/feed/core/core.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "server/feed/core/core_state.h"

namespace penstock::feed {
namespace {

// Limit for the statistics of feeds without sessions.
constexpr size_t kMaxIdleFeeds = 1024;

absl::Status NotOpen(SessionId session) {
  return absl::NotFoundError(absl::StrCat("session ", session.value(), " is not open"));
}

}  // namespace

Core::Core() : state_(std::make_unique<State>()) {}
Core::~Core() = default;

// Fill paths share arenas: a slot released on one may be what another waits for.
void Core::State::Changed() {
  for (Schedule& schedule : schedules) schedule.Changed();
}

// ---- Slots ----

void Core::AddSlots(ArenaId arena, std::span<const SlotId> slots) {
  std::unique_ptr<Arena>& known = state_->arenas[arena];
  if (known == nullptr) known = std::make_unique<Arena>();
  for (SlotId id : slots) {
    auto slot = std::make_unique<Slot>(id, *known);
    known->Add(*slot);
    PENSTOCK_CHECK(state_->slots.emplace(id, std::move(slot)).second);
  }
  state_->Changed();
}

bool Core::RemoveSlots(ArenaId arena, std::span<const SlotId> slots) {
  Arena* known = Get(state_->arenas, arena);
  PENSTOCK_CHECK(known != nullptr);
  if (known->size() < state_->Reserved(known) + slots.size()) return false;
  for (SlotId id : slots) {
    const Slot* slot = Get(state_->slots, id);
    PENSTOCK_CHECK(slot != nullptr && &slot->arena == known);
    if (slot->state != SlotState::kFree && slot->state != SlotState::kCached) return false;
  }
  for (SlotId id : slots) {
    known->Remove(*Get(state_->slots, id));
    state_->slots.erase(id);
  }
  const bool used = std::any_of(state_->sessions.begin(), state_->sessions.end(),
                                [&](const auto& entry) { return &entry.second->arena() == known; });
  if (known->size() == 0 && !used) state_->arenas.erase(arena);
  return true;
}

std::vector<SlotId> Core::Unused(ArenaId arena) const {
  std::vector<SlotId> unused;
  if (const Arena* known = Get(state_->arenas, arena))
    for (const Slot* slot : known->Unused()) unused.push_back(slot->id);
  return unused;
}

void Core::Forget(SlotId id) {
  Slot* slot = Get(state_->slots, id);
  PENSTOCK_CHECK(slot != nullptr);
  slot->arena.Forget(*slot);
}

uint64_t Core::State::Reserved(const Arena* arena) const {
  uint64_t reserved = 0;
  for (const auto& [id, session] : sessions) {
    if (&session->arena() == arena) reserved += session->Reserved();
  }
  return reserved;
}

// ---- Opening and closing sessions ----

absl::Status Core::State::CanOpen(SessionId id, const SessionSpec& spec) const {
  PENSTOCK_CHECK(IsPossible(spec));
  if (sessions.contains(id)) {
    return absl::FailedPreconditionError(
        absl::StrCat("session ", id.value(), " is open already; close it first"));
  }
  const FeedEntry* feed = Get(feeds, spec.feed);
  if (feed != nullptr && feed->samples != spec.share.samples) {
    return absl::InvalidArgumentError(absl::StrCat("the feed has ", feed->samples,
                                                   " samples an epoch, not ", spec.share.samples));
  }
  if (feed != nullptr && (feed->fill_path != spec.fill_path || feed->run != spec.run)) {
    return absl::InvalidArgumentError(
        absl::StrCat("runs of ", spec.run,
                     " rows; all sessions of a feed must agree, and this feed's have ", feed->run));
  }
  const Arena* arena = Get(arenas, spec.arena);
  const uint64_t size = arena == nullptr ? 0 : arena->size();
  const uint64_t reserved = Reserved(arena);
  if (size < reserved + spec.window) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a window of ", spec.window, " batches does not fit: ", reserved, " of ", size,
        " slots are reserved for other windows; use a smaller window or a larger pool"));
  }
  return absl::OkStatus();
}

absl::Status Core::OpenSession(SessionId session, const SessionSpec& spec, base::TimePoint now) {
  PENSTOCK_RETURN_IF_ERROR(state_->CanOpen(session, spec));
  ++state_->FeedOf(spec).counts.sessions;
  auto opened = std::make_unique<Session>(session, spec, *Get(state_->arenas, spec.arena), now);
  state_->ScheduleOf(spec.fill_path).Add(*opened);
  state_->Join(*opened);
  state_->sessions.emplace(session, std::move(opened));
  return absl::OkStatus();
}

// The feed's statistics. Those of feeds without sessions are dropped when there are too many.
Core::State::FeedEntry& Core::State::FeedOf(const SessionSpec& spec) {
  if (feeds.size() >= sessions.size() + kMaxIdleFeeds) {
    absl::erase_if(feeds, [](const auto& entry) { return entry.second->counts.sessions == 0; });
  }
  std::unique_ptr<FeedEntry>& feed = feeds[spec.feed];
  if (feed == nullptr) {
    feed = std::make_unique<FeedEntry>();
    feed->samples = spec.share.samples;
    feed->fill_path = spec.fill_path;
    feed->run = spec.run;
  }
  return *feed;
}

void Core::CloseSession(SessionId id) {
  Session* session = Get(state_->sessions, id);
  if (session == nullptr) return;
  state_->ForgetAnnouncements(id);
  state_->LetGo(*session, session->Held());
  state_->ScheduleOf(session->spec().fill_path).Remove(*session);
  --Get(state_->feeds, session->spec().feed)->counts.sessions;
  state_->sessions.erase(id);
}

void Core::DetachSession(SessionId id) {
  Session* session = Get(state_->sessions, id);
  if (session == nullptr) return;
  state_->ForgetAnnouncements(id);
  state_->LetGo(*session, session->Detach());
}

void Core::State::ForgetAnnouncements(SessionId session) {
  std::erase_if(announcements, [&](const Announcement& a) { return a.session == session; });
}

void Core::State::LetGo(Session& session, const std::vector<Slot*>& held) {
  for (Slot* slot : held) {
    std::erase(slot->waiting, &session);
    slot->arena.LetGo(*slot);
    if (slot->holders == 0) ScheduleOf(slot->filling.fill_path).Abandoned(*slot);
  }
  Changed();
}

void Core::SetVariant(FeedId feed, uint64_t variant) {
  for (const auto& [id, session] : state_->sessions) {
    if (session->spec().feed != feed) continue;
    session->SetVariant(variant);
    state_->Join(*session);
  }
  state_->Changed();
}

// ---- Reports from consumers ----

absl::Status Core::Taken(SessionId id, uint64_t count, base::TimePoint now) {
  Session* session = Get(state_->sessions, id);
  if (session == nullptr) return NotOpen(id);
  const uint64_t before = session->Supply();
  PENSTOCK_RETURN_IF_ERROR(session->Taken(count, now));
  if (session->Supply() == before) return absl::OkStatus();
  state_->Join(*session);  // its window may have grown
  state_->Changed();
  return absl::OkStatus();
}

absl::Status Core::Released(SessionId id, uint64_t sequence, base::TimePoint) {
  Session* session = Get(state_->sessions, id);
  if (session == nullptr) return NotOpen(id);
  PENSTOCK_ASSIGN_OR_RETURN(Slot * slot, session->Released(sequence));
  state_->LetGo(*session, {slot});
  state_->Join(*session);
  return absl::OkStatus();
}

std::vector<uint64_t> Core::Outstanding(SessionId id) const {
  const Session* session = Get(state_->sessions, id);
  return session == nullptr ? std::vector<uint64_t>() : session->Outstanding();
}

// ---- Giving slots to sessions ----

// Those of the session's feed, as far as they share an epoch in the same way.
RanksHere Core::State::FindRanksHere(const Session& session) const {
  const plan::Share& share = session.spec().share;
  RanksHere here = {.world = share.world, .batch_size = share.batch_size};
  for (const auto& [id, other] : sessions) {
    const SessionSpec& spec = other->spec();
    if (spec.feed == session.spec().feed && spec.share.world == share.world &&
        spec.share.batch_size == share.batch_size)
      here.ranks.push_back(spec.share.rank);
  }
  std::sort(here.ranks.begin(), here.ranks.end());
  here.ranks.erase(std::unique(here.ranks.begin(), here.ranks.end()), here.ranks.end());
  return here;
}

// Starts filling a slot for the session, and for all others that want the same.
Slot& Core::State::Begin(Session& session) {
  const SlotKey key = session.NextKey();
  const SessionSpec& spec = session.spec();
  Slot& slot = session.arena().Begin(key, {.fill_path = spec.fill_path, .run = spec.run});
  Give(session, slot);
  Join(session);
  const RanksHere ranks = FindRanksHere(session);
  ahead.push_back({key.feed, key.position, ranks});
  if (!session.cursor().ended()) ahead.push_back({key.feed, session.cursor().position(), ranks});
  ScheduleOf(spec.fill_path).VisitSessions(key.user, [&](Session& other) {
    if (&other.arena() == &slot.arena && other.Wants() && other.NextKey() == key) Join(other);
  });
  return slot;
}

// Gives the session every batch it wants that is already full or filling.
void Core::State::Join(Session& session) {
  while (session.Wants()) {
    Slot* slot = session.arena().Find(session.NextKey());
    if (slot == nullptr) return;
    Give(session, *slot);
  }
}

void Core::State::Give(Session& session, Slot& slot) {
  session.arena().Hold(slot);
  session.Give(slot, ScheduleOf(session.spec().fill_path).begun());
  if (slot.state == SlotState::kFilling) slot.waiting.push_back(&session);
  Announce(session);
}

void Core::State::Announce(Session& session) {
  while (session.HasReady()) {
    announcements.push_back(session.Announce());
    ++Get(feeds, session.spec().feed)->counts.batches_announced;
  }
}

std::vector<Announcement> Core::TakeAnnouncements() {
  for (const Announcement& announcement : state_->announcements) {
    Get(state_->sessions, announcement.session)->Sent(announcement.sequence);
  }
  return std::exchange(state_->announcements, {});
}

}  // namespace penstock::feed
