#include "server/feed/sessions/session_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/posix/failpoint.h"
#include "common/telemetry/log.h"

namespace penstock::feed {

// ---- Open sessions ----

void SessionTable::Add(uint64_t id, SessionRecord session) {
  watch_(session.delivery->event().get(), true);
  sessions_.emplace(id, std::move(session));
}

SessionRecord* SessionTable::Find(uint64_t id) {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : &found->second;
}

const SessionRecord* SessionTable::Find(uint64_t id) const {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : &found->second;
}

absl::StatusOr<const SessionRecord*> SessionTable::FindOf(uint64_t peer, uint64_t id) const {
  const SessionRecord* session = Find(id);
  if (session == nullptr) return absl::NotFoundError(absl::StrCat("session ", id, " is not open"));
  if (session->request.peer != peer)
    return absl::PermissionDeniedError(absl::StrCat("session ", id, " belongs to another process"));
  return session;
}

absl::StatusOr<SessionRecord*> SessionTable::FindOf(uint64_t peer, uint64_t id) {
  PENSTOCK_RETURN_IF_ERROR(std::as_const(*this).FindOf(peer, id).status());
  return Find(id);
}

size_t SessionTable::trainers() const {
  return static_cast<size_t>(
      std::count_if(sessions_.begin(), sessions_.end(),
                    [](const auto& entry) { return !entry.second.request.canary; }));
}

SessionTable::Held SessionTable::HeldBy(uint32_t user) const {
  Held held;
  for (const auto& [id, session] : sessions_) {
    if (session.request.user != user || session.request.canary) continue;
    ++held.sessions;
    held.window_bytes += session.request.window * session.slot_bytes;
  }
  return held;
}

bool SessionTable::Holds(uint64_t peer) const {
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [peer](const auto& entry) { return entry.second.request.peer == peer; }) ||
         std::any_of(leaving_.begin(), leaving_.end(),
                     [peer](const Leaving& leaving) { return leaving.peer == peer; });
}

uint64_t SessionTable::TakenOf(uint64_t id, const SessionRecord& session) const {
  return session.device != nullptr ? session.device->progress().taken : ViewOf(id).taken;
}

// ---- Messages to consumers ----

void SessionTable::Finish(uint64_t id, SessionRecord& session, shm::SessionState state,
                          const absl::Status& why) {
  session.ended = true;
  session.delivery->Finish(state, why);
  core_.DetachSession(SessionId(id));
}

// A trainer that reads "unavailable" waits for a daemon that is gone, so a session never fails so.
void SessionTable::Fail(uint64_t id, const absl::Status& why) {
  SessionRecord& session = sessions_.at(id);
  if (session.ended) return;
  PENSTOCK_LOG(kWarning, "session_failed", {"session", id}, {"reason", why.message()});
  Finish(id, session, shm::SessionState::kFailed,
         absl::IsUnavailable(why) ? absl::DataLossError(why.message()) : why);
}

void SessionTable::End(uint64_t id, const absl::Status& why) {
  Finish(id, sessions_.at(id), shm::SessionState::kClosing, why);
}

void SessionTable::FailFeed(const Feed& feed, const absl::Status& why) {
  for (const auto& [id, session] : sessions_)
    if (session.feed.get() == &feed) Fail(id, why);
}

void SessionTable::FailAccount(uint64_t account, const absl::Status& why) {
  for (const auto& [id, session] : sessions_) {
    if (session.feed->account != account) continue;
    if (session.feed->failed.ok()) session.feed->failed = why;
    Fail(id, why);
  }
}

void SessionTable::FailDataset(const DatasetState* dataset, const absl::Status& why) {
  for (const auto& [id, session] : sessions_) {
    if (session.feed->dataset.get() != dataset) continue;
    if (session.feed->failed.ok()) session.feed->failed = why;
    Fail(id, why);
  }
}

void SessionTable::FailAll(const absl::Status& why) {
  for (const auto& [id, session] : sessions_) Fail(id, why);
}

void SessionTable::AnnounceClosing(const absl::Status& why) {
  for (const auto& [id, session] : sessions_)
    session.delivery->Finish(shm::SessionState::kClosing, why);
}

// Finishes a session that was resumed at its very end immediately. Batches that the core has
// announced and the consumer doesn't know yet come first.
void SessionTable::FinishIfDone(uint64_t id) {
  const SessionRecord& session = sessions_.at(id);
  const SessionView view = *core_.View(SessionId(id));
  if (view.finished && view.announced == session.announced)
    session.delivery->Finish(shm::SessionState::kFinished, absl::OkStatus());
}

void SessionTable::QuarantineChanged(const DatasetState& dataset) {
  for (const auto& [id, session] : sessions_)
    if (session.feed->dataset.get() == &dataset)
      core_.SetVariant(session.feed->id, SlotVariant(*session.feed));
}

void SessionTable::ForWorkersChanged(const DatasetState& dataset, UserId user) {
  for (const auto& [id, session] : sessions_) {
    const Feed& feed = *session.feed;
    if (feed.dataset.get() == &dataset && UserId(session.request.user) == user &&
        feed.spec.decoding.undecoded.place_bytes > 0)
      core_.SetVariant(feed.id, SlotVariant(feed));
  }
}

void SessionTable::SetAsleep(bool asleep) {
  for (const auto& [id, session] : sessions_) session.delivery->SetAsleep(asleep);
}

bool SessionTable::MustBePolled() const {
  if (!leaving_.empty()) return true;
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [](const auto& entry) { return entry.second.delivery->MustBePolled(); });
}

// ---- Closing ----

absl::Status SessionTable::Close(uint64_t peer, uint64_t id, base::TimePoint now) {
  const absl::Status theirs = FindOf(peer, id).status();
  if (absl::IsNotFound(theirs)) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(theirs);
  PENSTOCK_FAILPOINT("session.before_closed");
  std::unique_ptr<exporting::BatchDelivery> delivery = Erase(id, now);
  PENSTOCK_FAILPOINT("session.closed_not_answered");
  if (!delivery->Leave()) leaving_.push_back({peer, std::move(delivery)});
  return absl::OkStatus();
}

// Unlike a CloseSession, a consumer's note on its control page cannot get lost. The consumer has
// until the next look to close in the usual way.
void SessionTable::CloseThoseThatLeft(base::TimePoint now) {
  std::vector<std::pair<uint64_t, uint64_t>> left;  // peer, session
  for (auto& [id, session] : sessions_) {
    if (!session.delivery->LookAtConsumer().left) continue;
    if (std::exchange(session.left, true)) left.emplace_back(session.request.peer, id);
  }
  for (const auto& [peer, id] : left) {
    PENSTOCK_LOG(kInfo, "session_closed", {"session", id}, {"reason", "its consumer closed it"});
    Close(peer, id, now).IgnoreError();
  }
}

// Returns what is left of it: its delivery.
std::unique_ptr<exporting::BatchDelivery> SessionTable::Erase(uint64_t id, base::TimePoint now) {
  const auto found = sessions_.find(id);
  PENSTOCK_CHECK(found != sessions_.end());
  SessionRecord& session = found->second;
  core_.CloseSession(SessionId(id));
  watch_(session.delivery->event().get(), false);
  pool_.Unreserve(session.arena, session.request.window, now);
  std::unique_ptr<exporting::BatchDelivery> delivery = std::move(session.delivery);
  const std::shared_ptr<const Feed> feed = std::move(session.feed);
  sessions_.erase(found);
  closed_(id, *feed, now);
  return delivery;
}

void SessionTable::PeerDisconnected(uint64_t peer) {
  for (auto& [id, session] : sessions_) {
    if (session.request.peer != peer) continue;
    session.ended = true;
    core_.DetachSession(SessionId(id));
  }
}

// None of its GPU work can be running any more, so what it held there is free.
void SessionTable::PeerGone(uint64_t peer, base::TimePoint now) {
  std::vector<uint64_t> theirs;
  for (const auto& [id, session] : sessions_)
    if (session.request.peer == peer) theirs.push_back(id);
  for (uint64_t id : theirs) Erase(id, now);
  std::erase_if(leaving_, [peer](const Leaving& leaving) { return leaving.peer == peer; });
}

bool SessionTable::DropReleased() {
  return std::erase_if(leaving_, [](Leaving& leaving) { return leaving.delivery->Leave(); }) > 0;
}

}  // namespace penstock::feed
