#include "server/feed/core/session.h"

#include "common/base/check.h"

namespace penstock::feed {
namespace {

constexpr base::Duration kUntouched = std::chrono::seconds(30);

}  // namespace

bool IsPossible(const SessionSpec& spec) {
  plan::Share whole = spec.share;
  whole.consumed = 0;
  return plan::Validate(spec.share).ok() && plan::BatchCount(whole) > 0 && spec.window >= 1 &&
         spec.window <= kMaxWindow && spec.epochs <= UINT64_MAX - spec.first_epoch && spec.run >= 1;
}

Session::Session(SessionId id, const SessionSpec& spec, Arena& arena, base::TimePoint now)
    : id_(id),
      spec_(spec),
      arena_(arena),
      cursor_(spec.share, spec.first_epoch, spec.epochs),
      window_(spec.window),
      touched_(now) {}

bool Session::Wants() const {
  return !detached_ && !cursor_.ended() && given() - released_ < window_ &&
         leases_.size() < kMaxWindow;
}

void Session::Give(Slot& slot, uint64_t when) {
  PENSTOCK_CHECK(Wants() && slot.key == NextKey());
  leases_.push_back({.slot = &slot,
                     .generation = slot.generation,
                     .position = cursor_.position(),
                     .batch = cursor_.batch(),
                     .step = cursor_.step(),
                     .last_of_epoch = cursor_.last_of_epoch()});
  cursor_.Advance();
  last_given_ = when;
}

bool Session::HasReady() const {
  return announced_ < given() && LeaseOf(announced_ + 1).slot->state == SlotState::kHeld;
}

Announcement Session::Announce() {
  PENSTOCK_CHECK(HasReady());
  const Lease& lease = LeaseOf(++announced_);
  return {.session = id_,
          .sequence = announced_,
          .slot = lease.slot->id,
          .generation = lease.generation,
          .position = lease.position,
          .valid_rows = lease.batch.valid_rows,
          .step = lease.step,
          .consumed = lease.batch.consumed,
          .last_of_epoch = lease.last_of_epoch};
}

absl::Status Session::Taken(uint64_t count, base::TimePoint now) {
  if (count > sent_) {
    return absl::InvalidArgumentError(
        absl::StrCat("session ", id_.value(), " reports that it took ", count, " batches, but ",
                     sent_, " were announced to it"));
  }
  if (count < taken_) {
    return absl::InvalidArgumentError(
        absl::StrCat("session ", id_.value(), " reports that it took ", count,
                     " batches, but it reported ", taken_, " before"));
  }
  if (count == taken_) return absl::OkStatus();
  taken_ = count;
  touched_ = now;
  window_ = spec_.window;
  return absl::OkStatus();
}

absl::StatusOr<Slot*> Session::Released(uint64_t sequence) {
  if (sequence == 0 || sequence > sent_) {
    return absl::InvalidArgumentError(
        absl::StrCat("session ", id_.value(), " released batch ", sequence,
                     ", which was never announced to it; the last one is ", sent_));
  }
  if (sequence > taken_) {
    return absl::InvalidArgumentError(absl::StrCat("session ", id_.value(), " released batch ",
                                                   sequence, ", but it took only ", taken_));
  }
  if (sequence < oldest_ || LeaseOf(sequence).released) {
    return absl::InvalidArgumentError(
        absl::StrCat("session ", id_.value(), " released batch ", sequence, " twice"));
  }
  Slot* slot = leases_[sequence - oldest_].slot;
  leases_[sequence - oldest_].released = true;
  ++released_;
  while (!leases_.empty() && leases_.front().released) {
    leases_.pop_front();
    ++oldest_;
  }
  return slot;
}

std::vector<uint64_t> Session::Outstanding() const {
  std::vector<uint64_t> sequences;
  for (uint64_t sequence = oldest_; sequence <= sent_; ++sequence) {
    if (!LeaseOf(sequence).released) sequences.push_back(sequence);
  }
  return sequences;
}

std::vector<Slot*> Session::Detach() {
  detached_ = true;
  std::vector<Slot*> dropped;
  while (given() > sent_) {
    dropped.push_back(leases_.back().slot);
    leases_.pop_back();
  }
  announced_ = sent_;
  return dropped;
}

std::vector<Slot*> Session::Held() const {
  std::vector<Slot*> held;
  for (const Lease& lease : leases_) {
    if (!lease.released) held.push_back(lease.slot);
  }
  return held;
}

void Session::ShrinkIfUntouched(base::TimePoint now) {
  const bool waits = announced_ == taken_;
  if (!waits && now - touched_ >= kUntouched) window_ = 1;
}

SessionView Session::View() const {
  return {.announced = announced_,
          .taken = taken_,
          .released = released_,
          .filling = static_cast<uint32_t>(given() - announced_),
          .window = window_,
          .finished = cursor_.ended() && !detached_ && announced_ == given()};
}

}  // namespace penstock::feed
