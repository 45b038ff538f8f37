#include "server/pyworkers/place_state.h"

#include "common/base/check.h"

namespace penstock::pyworkers {

std::optional<PlaceState> Next(PlaceState state, PlaceEvent event) {
  switch (state) {
    case PlaceState::kEmpty:
      if (event == PlaceEvent::kAsk) return PlaceState::kAsked;
      break;
    case PlaceState::kAsked:
      if (event == PlaceEvent::kEnter) return PlaceState::kEntered;
      if (event == PlaceEvent::kEnd) return PlaceState::kDead;
      break;
    case PlaceState::kEntered:
      if (event == PlaceEvent::kReady) return PlaceState::kReady;
      if (event == PlaceEvent::kEnd) return PlaceState::kDead;
      break;
    case PlaceState::kReady:
      if (event == PlaceEvent::kEnd) return PlaceState::kDead;
      break;
    case PlaceState::kDead:
      if (event == PlaceEvent::kTold) return PlaceState::kEmpty;
      break;
  }
  return std::nullopt;
}

std::string Describe(KillCause cause, const std::optional<posix::Exit>& exit) {
  switch (cause) {
    case KillCause::kNotReady:
      return "killed because it was not ready in time";
    case KillCause::kNoProgress:
      return "killed because a sample took too long";
    case KillCause::kBroken:
      return "killed because it corrupted its channel";
    case KillCause::kLeft:
    case KillCause::kNone:
      break;
  }
  return exit ? posix::Describe(*exit) : "ended; its host did not say how";
}

void PlaceLife::Apply(PlaceEvent event) {
  const std::optional<PlaceState> next = Next(state_, event);
  PENSTOCK_CHECK(next.has_value());
  state_ = *next;
}

uint32_t PlaceLife::Ask(base::TimePoint now) {
  PENSTOCK_CHECK(MayAsk(now));
  Apply(PlaceEvent::kAsk);
  kill_cause_ = KillCause::kNone;
  asked_at_ = now;
  return ++start_;
}

bool PlaceLife::Enter(uint32_t start) {
  if (state_ != PlaceState::kAsked || start != start_ || kill_cause_ != KillCause::kNone)
    return false;
  Apply(PlaceEvent::kEnter);
  return true;
}

void PlaceLife::NoteReady() {
  if (state_ == PlaceState::kEntered) Apply(PlaceEvent::kReady);
}

bool PlaceLife::Condemn(KillCause cause) {
  if (kill_cause_ != KillCause::kNone) return false;
  if (!has_process()) return false;
  kill_cause_ = cause;
  return true;
}

bool PlaceLife::CheckTimeOuts(base::TimePoint now, std::optional<base::TimePoint> progress,
                              base::Duration timeout) {
  if (state_ == PlaceState::kReady) {
    const bool in_time = !progress || now - *progress <= timeout;
    return !in_time && Condemn(KillCause::kNoProgress);
  }
  return now - asked_at_ > start_timeout_ && Condemn(KillCause::kNotReady);
}

void PlaceLife::NoteEnd(base::TimePoint now) {
  Apply(PlaceEvent::kEnd);
  ended_at_ = now;
  ask_after_ = now + back_off_.Next();
}

bool PlaceLife::Clear(bool host_told, base::TimePoint now) {
  if (state_ != PlaceState::kDead) return false;
  if (!host_told && now - ended_at_ < kAwaitWords) return false;
  Apply(PlaceEvent::kTold);
  return true;
}

}  // namespace penstock::pyworkers
