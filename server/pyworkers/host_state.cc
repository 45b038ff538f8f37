#include "server/pyworkers/host_state.h"

#include <algorithm>

#include "common/base/check.h"

namespace penstock::pyworkers {

std::optional<HostState> Next(HostState state, HostEvent event) {
  switch (state) {
    case HostState::kNone:
      if (event == HostEvent::kNeed) return HostState::kWanted;
      if (event == HostEvent::kGiveUp) return HostState::kFailed;
      break;
    case HostState::kWanted:
      if (event == HostEvent::kEnter) return HostState::kSupplying;
      if (event == HostEvent::kNotUsed) return HostState::kNone;
      if (event == HostEvent::kGiveUp) return HostState::kFailed;
      break;
    case HostState::kSupplying:
      if (event == HostEvent::kGone) return HostState::kNone;
      if (event == HostEvent::kNotUsed) return HostState::kEnding;
      break;
    case HostState::kEnding:
      if (event == HostEvent::kGone) return HostState::kNone;
      break;
    case HostState::kFailed:
      if (event == HostEvent::kTryAgain) return HostState::kNone;
      break;
  }
  return std::nullopt;
}

void HostLife::Apply(HostEvent event) {
  const std::optional<HostState> next = Next(state_, event);
  PENSTOCK_CHECK(next.has_value());
  state_ = *next;
  if (state_ != HostState::kWanted) asked_.clear();
}

void HostLife::SessionOpened(uint64_t session) {
  PENSTOCK_CHECK(sessions_.insert(session).second);
  if (state_ != HostState::kFailed) return;
  Apply(HostEvent::kTryAgain);
  failures_ = 0;
  back_off_.Reset();
  ask_after_ = base::TimePoint::min();
}

void HostLife::SessionGone(uint64_t session, base::TimePoint now) {
  if (sessions_.erase(session) == 0) return;
  asked_.erase(session);
  if (!sessions_.empty()) return;
  unused_since_ = now;
  if (state_ == HostState::kWanted) Apply(HostEvent::kNotUsed);
  EndIfUnused(now);  // at once, so that the next session finds no workers of this one's
}

void HostLife::Need() {
  if (state_ == HostState::kNone && !sessions_.empty()) Apply(HostEvent::kNeed);
}

bool HostLife::WantsAsk(base::TimePoint now, NextTrainer next) const {
  if (state_ != HostState::kWanted || now < ask_after_) return false;
  return std::all_of(asked_.begin(), asked_.end(), [&](const auto& asked) {
    const bool is_soon = next == NextTrainer::kWaits && !asked.second.forked;
    return now - asked.second.since >= (is_soon ? kBusyTrainerAnswersWithin : kHostEntersWithin);
  });
}

void HostLife::Ask(uint64_t session, base::TimePoint now) {
  PENSTOCK_CHECK(state_ == HostState::kWanted && sessions_.contains(session));
  PENSTOCK_CHECK(asked_.emplace(session, AskedTrainer{.since = now}).second);
}

void HostLife::Forked(uint64_t session, base::TimePoint now) {
  const auto found = asked_.find(session);
  if (found == asked_.end() || found->second.forked) return;
  found->second = {.since = now, .forked = true};
}

bool HostLife::Enter() {
  if (state_ != HostState::kWanted) return false;
  Apply(HostEvent::kEnter);
  worked_ = false;
  return true;
}

void HostLife::Worked() {
  worked_ = true;
  failures_ = 0;
  back_off_.Reset();
}

void HostLife::Gone(HostEnd end, base::TimePoint now) {
  Apply(HostEvent::kGone);
  if (end != HostEnd::kByItself) return;
  if (worked_) {
    ask_after_ = now + back_off_.Next();
  } else {
    Fail(now);
  }
}

void HostLife::Fail(base::TimePoint now) {
  ask_after_ = now + back_off_.Next();
  if (++failures_ >= kMaxFailedHosts) Apply(HostEvent::kGiveUp);
}

void HostLife::EndIfUnused(base::TimePoint now) {
  const bool is_unused = sessions_.empty() && now - unused_since_ >= keep_unused_;
  if (state_ == HostState::kSupplying && is_unused) Apply(HostEvent::kNotUsed);
}

void HostLife::Tick(base::TimePoint now) {
  EndIfUnused(now);
  // A trainer that has forked no host is busy; its host has not failed.
  const size_t failed = std::erase_if(asked_, [now](const auto& asked) {
    return asked.second.forked && now - asked.second.since >= kHostEntersWithin;
  });
  for (size_t i = 0; i < failed && state_ == HostState::kWanted; ++i) Fail(now);
}

}  // namespace penstock::pyworkers
