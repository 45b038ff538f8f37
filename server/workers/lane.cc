// The supervisor's side of lane.h.
#include "server/workers/lane.h"

#include <algorithm>
#include <chrono>

#include "common/base/check.h"

namespace penstock::workers {
namespace {

constexpr base::Duration kLongRead = std::chrono::seconds(1);

// What the worker says of its time, held within what there was of it.
Times WithDecode(Times times, const Completion& completion, base::TimePoint now) {
  constexpr auto kFarOff = std::chrono::nanoseconds(INT64_MAX / 2);
  const auto said = std::chrono::nanoseconds(
      std::min<uint64_t>(completion.ended_ns, static_cast<uint64_t>(kFarOff.count())));
  times.ended = std::clamp(base::TimePoint(said), times.read_end, std::max(times.read_end, now));
  times.decode = std::min<base::Duration>(std::chrono::microseconds(completion.decode_us),
                                          times.ended - times.read_end);
  return times;
}

}  // namespace

Lane::Lane(const Options& options, const posix::Fd& wake)
    : options_(options), wake_(wake), reader_([this] { Run(); }) {}

Lane::~Lane() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  reader_.join();
}

void Lane::Attach(std::shared_ptr<Link> link) {
  PENSTOCK_CHECK(link_ == nullptr);
  link_ = std::move(link);
  const base::MutexLock lock(mutex_);
  attached_ = link_;
  broken_ = false;
}

void Lane::Give(const WorkItem& item) {
  PENSTOCK_CHECK(link_ != nullptr && outstanding_ < kRingCapacity);
  ++outstanding_;
  {
    const base::MutexLock lock(mutex_);
    inbox_.push_back(item);
  }
  changed_.NotifyAll();
}

bool Lane::Collect(base::TimePoint now, std::vector<Outcome>& outcomes) {
  const size_t before = outcomes.size();
  bool sound = link_ == nullptr || CollectCompletions(now, outcomes);
  {
    const base::MutexLock lock(mutex_);
    sound = sound && !broken_;
    for (Outcome& each : ended_) outcomes.push_back(std::move(each));
    ended_.clear();
  }
  outstanding_ -= outcomes.size() - before;
  return sound;
}

Outcome Lane::OutcomeOf(const Sent& sent, const Completion& completion) const {
  const bool done = completion.fault == base::Fault::kNone;
  return {.id = sent.item.id,
          .kind = done ? OutcomeKind::kDone : OutcomeKind::kRefused,
          .fault = completion.fault,
          .status = {},
          .worker = options_.number,
          .times = WithDecode(sent.times, completion, base::Now())};
}

bool Lane::CollectCompletions(base::TimePoint now, std::vector<Outcome>& outcomes) {
  for (Completion completion;;) {
    const shm::RingOutcome popped = link_->Pop(completion);
    if (popped != shm::RingOutcome::kDone) return popped == shm::RingOutcome::kWait;
    {
      const base::MutexLock lock(mutex_);
      if (sent_.empty() || sent_.front().sequence != completion.sequence) return false;
      if (!base::IsDecoders(completion.fault)) return false;
      outcomes.push_back(OutcomeOf(sent_.front(), completion));
      sent_.pop_front();
      oldest_since_ = now;
      link_->arena().FreeOldest();
    }
    changed_.NotifyAll();
  }
}

void Lane::AnnounceSleep() {
  if (link_ != nullptr) link_->AnnounceSleep();
}

void Lane::Detach(InHandEnds ends, std::vector<Outcome>& outcomes) {
  PENSTOCK_CHECK(link_ != nullptr);
  const size_t before = outcomes.size();
  const uint64_t started = link_->started();
  {
    const base::MutexLock lock(mutex_);
    // Only the oldest can have been in hand: what the dead worker claimed decides no more than
    // that.
    if (!sent_.empty() && started >= sent_.front().sequence) {
      outcomes.push_back(
          {.id = sent_.front().item.id, .kind = ends.kind, .fault = ends.fault, .status = {}});
      sent_.pop_front();
    }
    for (const Sent& each : sent_) {
      outcomes.push_back(
          {.id = each.item.id, .kind = OutcomeKind::kLost, .fault = {}, .status = {}});
    }
    for (const WorkItem& each : inbox_) {
      outcomes.push_back({.id = each.id, .kind = OutcomeKind::kLost, .fault = {}, .status = {}});
    }
    sent_.clear();
    inbox_.clear();
    attached_ = nullptr;
  }
  link_ = nullptr;
  changed_.NotifyAll();
  outstanding_ -= outcomes.size() - before;
}

std::optional<Lane::Oldest> Lane::OldestAtWorker() const {
  const base::MutexLock lock(mutex_);
  if (link_ == nullptr || sent_.empty()) return std::nullopt;
  return Oldest{.dataset = sent_.front().item.dataset,
                .sample = sent_.front().item.sample,
                .since = oldest_since_,
                .started = link_->started() >= sent_.front().sequence};
}

std::optional<Lane::Stall> Lane::Stalled(base::TimePoint now) const {
  const base::MutexLock lock(mutex_);
  if (stall_) return stall_;
  if (!reading_ || now - reading_->since <= kLongRead) return std::nullopt;
  return Stall{.since = reading_->since,
               .reason = absl::StrCat(reading_->dataset->path(reading_->sample),
                                      ": the read does not come back"),
               .dataset = reading_->dataset};
}

}  // namespace penstock::workers
