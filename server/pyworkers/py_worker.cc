#include "server/pyworkers/py_worker.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/check.h"
#include "common/posix/process.h"

namespace penstock::pyworkers {

absl::StatusOr<std::unique_ptr<PyWorker>> PyWorker::Make(const ChannelEndpoint::Worker& worker,
                                                         std::shared_ptr<const posix::Fd> pidfd,
                                                         PlaceLife& place) {
  PENSTOCK_CHECK(place.state() == PlaceState::kEntered);
  PENSTOCK_ASSIGN_OR_RETURN(ChannelEndpoint channel, ChannelEndpoint::Make(worker));
  std::unique_ptr<PyWorker> made(new PyWorker(std::move(channel), std::move(pidfd), place));
  made->channel_.AwaitNotification();
  return made;
}

size_t PyWorker::Headroom() const {
  if (is_gone_ || place_.state() != PlaceState::kReady) return 0;
  if (place_.kill_cause() != KillCause::kNone) return 0;
  const size_t depth = usual_ < kShortBatch ? kMaxInHand : 1;
  return depth - std::min(depth, given_.size());
}

std::optional<PyWorkInHand> PyWorker::work_in_hand() const {
  if (given_.empty()) return std::nullopt;
  const base::TimePoint since = std::max(given_.front().given, free_since_);
  return PyWorkInHand{.item = given_.front().item.id,
                      .row = channel_.row_in_hand(),
                      .since = since,
                      .progress = std::max(since, progress_at_)};
}

void PyWorker::Submit(const MakeItem& item, base::TimePoint now) {
  PENSTOCK_CHECK(Headroom() > 0);
  if (given_.empty()) NoteProgress(now);
  given_.push_back({.item = item, .given = now});
  if (!channel_.Push(item.request).ok()) Kill(KillCause::kBroken);
}

void PyWorker::GiveRoom(uint64_t id, uint64_t granted, base::TimePoint now) {
  if (given_.empty() || given_.front().item.id != id || !channel_.awaits_room()) return;
  NoteProgress(now);
  if (!channel_.GiveRoom(granted).ok()) Kill(KillCause::kBroken);
}

void PyWorker::Collect(base::TimePoint now, News& news) {
  if (is_gone_) return;
  const bool is_gone = posix::IsGone(*pidfd_);  // before the answers, so that none is missed
  channel_.AwaitNotification();
  if (channel_.ready()) place_.NoteReady();
  TakeAnswers(now, news);
  if (is_gone) EndAll(now, news);
}

void PyWorker::TakeAnswers(base::TimePoint now, News& news) {
  while (true) {
    const absl::StatusOr<std::optional<shm::MakeAnswer>> answer = channel_.Pop();
    if (!answer.ok()) return Kill(KillCause::kBroken);
    if (!answer->has_value()) return;
    End(**answer, now, news);
  }
}

void PyWorker::End(const shm::MakeAnswer& answer, base::TimePoint now, News& news) {
  const Given& oldest = given_.front();
  NoteProgress(now);
  if (answer.outcome == shm::MakeOutcome::kNeedsRoom) {
    news.needs.push_back(
        {.id = oldest.item.id, .bytes = answer.bytes, .granted = channel_.granted_to_oldest()});
    return;
  }
  const bool has_raised = answer.outcome == shm::MakeOutcome::kRaised;
  const bool has_row = has_raised && answer.row < oldest.item.request.rows;
  const base::Duration taken = now - std::max(oldest.given, free_since_);
  news.results.push_back({.id = oldest.item.id,
                          .end = has_raised ? MakeEnd::kRaised : MakeEnd::kMade,
                          .bytes = answer.bytes,
                          .row = has_row ? std::optional(answer.row) : std::nullopt,
                          .given = oldest.given,
                          .ended = now,
                          .taken = taken});
  usual_ += (taken - usual_) / 4;
  free_since_ = now;
  place_.Worked();
  given_.pop_front();
}

// A worker that dies between two batches strikes neither. One that we killed for the oldest batch
// strikes it, whatever the worker says about when it started.
bool PyWorker::IsStruck() const {
  switch (place_.kill_cause()) {
    case KillCause::kNoProgress:
    case KillCause::kBroken:
      return true;
    case KillCause::kNotReady:
      return false;
    case KillCause::kLeft:
    case KillCause::kNone:
      break;
  }
  return channel_.has_started_oldest();
}

void PyWorker::EndAll(base::TimePoint now, News& news) {
  is_gone_ = true;
  bool is_struck = IsStruck();
  for (const Given& given : given_) {
    news.results.push_back({.id = given.item.id,
                            .end = is_struck ? MakeEnd::kStrike : MakeEnd::kLost,
                            .row = is_struck ? channel_.row_in_hand() : std::nullopt,
                            .cause = is_struck ? place_.kill_cause() : KillCause::kNone,
                            .given = given.given,
                            .ended = now,
                            .taken = now - std::max(given.given, free_since_)});
    free_since_ = now;
    is_struck = false;  // only the oldest
  }
  given_.clear();
  place_.NoteEnd(now);
}

void PyWorker::NoteProgress(base::TimePoint now) {
  progress_ = channel_.progress();
  progress_at_ = now;
}

void PyWorker::CheckTimeOuts(base::TimePoint now) {
  if (is_gone_) return;
  if (channel_.progress() != progress_) NoteProgress(now);
  // While it awaits room, it is the daemon that takes the time.
  const bool must_get_on = !given_.empty() && !channel_.awaits_room();
  const base::Duration timeout = given_.empty() ? kLongestStandstill : given_.front().item.timeout;
  if (place_.CheckTimeOuts(now, must_get_on ? std::optional(progress_at_) : std::nullopt, timeout))
    posix::KillBehind(*pidfd_);
}

void PyWorker::Kill(KillCause cause) {
  if (!is_gone_ && place_.Condemn(cause)) posix::KillBehind(*pidfd_);
}

}  // namespace penstock::pyworkers
