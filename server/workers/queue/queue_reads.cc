// The supervisor's side of queue_reads.h.
#include "server/workers/queue/queue_reads.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace penstock::workers {
namespace {

// Clips the time that the worker reports to the time that passed.
Times WithDecode(Times times, const Completion& completion, base::TimePoint now) {
  constexpr auto kFarOff = std::chrono::nanoseconds(INT64_MAX / 2);
  const auto said = std::chrono::nanoseconds(
      std::min<uint64_t>(completion.ended_ns, static_cast<uint64_t>(kFarOff.count())));
  times.ended = std::clamp(base::TimePoint(said), times.read_end, std::max(times.read_end, now));
  times.decode = std::min<base::Duration>(std::chrono::microseconds(completion.decode_us),
                                          times.ended - times.read_end);
  return times;
}

// A worker that reports anything else is broken or lying.
bool IsBelievable(const Completion& completion, const WorkItem& item, uint32_t checkpoint_room,
                  uint64_t image_room) {
  if (completion.checkpoint_bytes != kSameCheckpoints &&
      completion.checkpoint_bytes > checkpoint_room)
    return false;
  if (completion.image_bytes > image_room) return false;
  if (!base::IsWorkers(completion.fault)) return false;
  if (completion.fault != base::Fault::kNone) return completion.row < RowsOf(item);
  return HasPossibleLengths(item);
}

}  // namespace

void QueueReads::Stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
}

void QueueReads::Attach(std::shared_ptr<SupervisorEndpoint> endpoint) {
  const base::MutexLock lock(mutex_);
  attached_ = std::move(endpoint);
  broken_ = crowded_ = false;
  announcements_ = {};
}

void QueueReads::Give(const WorkItem& item) {
  {
    const base::MutexLock lock(mutex_);
    inbox_.push_back(item);
  }
  changed_.NotifyAll();
}

void QueueReads::HandBack(const source::Dataset& dataset) {
  const base::MutexLock lock(mutex_);
  const auto back = std::stable_partition(
      inbox_.begin(), inbox_.end(), [&](const WorkItem& item) { return item.dataset != &dataset; });
  for (auto item = back; item != inbox_.end(); ++item)
    ended_.push_back({.id = item->id, .kind = OutcomeKind::kLost, .fault = {}, .status = {}});
  inbox_.erase(back, inbox_.end());
}

void QueueReads::Expect(const WorkItem& item) {
  const base::TimePoint now = base::Now();
  const base::MutexLock lock(mutex_);
  reads_.push_back({.item = item,
                    .endpoint = attached_,
                    .begun = now,
                    .waits_for_source = now,
                    .offset = {},
                    .aside = true});
}

void QueueReads::Forget(const WorkItem& item) {
  const base::MutexLock lock(mutex_);
  std::erase_if(reads_, [&](const Read& read) { return read.item.id == item.id; });
}

bool QueueReads::Collect(base::TimePoint now, std::vector<Outcome>& outcomes) {
  const size_t before = outcomes.size();
  bool sound = false, headroom = false;
  {
    const base::MutexLock lock(mutex_);
    sound = (attached_ == nullptr || CollectCompletions(now, outcomes)) && !broken_;
    headroom = outcomes.size() > before;
    for (Outcome& each : ended_) outcomes.push_back(std::move(each));
    ended_.clear();
  }
  if (headroom) changed_.NotifyAll();
  return sound;
}

bool QueueReads::CollectCompletions(base::TimePoint now, std::vector<Outcome>& outcomes) {
  for (Completion completion;;) {
    const shm::RingOutcome popped = attached_->Pop(completion);
    if (popped != shm::RingOutcome::kDone) return popped == shm::RingOutcome::kWait;
    if (sent_.empty() || sent_.front().sequence != completion.sequence) return false;
    if (!IsBelievable(completion, sent_.front().item, sent_.front().room.bytes,
                      sent_.front().image_room))
      return false;
    KeepCheckpoints(sent_.front(), completion);
    outcomes.push_back(MakeOutcome(sent_.front(), completion));
    FreeInput(sent_.front(), completion, outcomes.back().times.decode);
    sent_.pop_front();
    oldest_since_ = now;
  }
}

void QueueReads::KeepCheckpoints(const Sent& sent, const Completion& completion) {
  if (sent.room.bytes == 0 || completion.checkpoint_bytes == kSameCheckpoints) return;
  sent.item.shelf->Put(sent.item.sample,
                       attached_->Input(sent.room.offset, completion.checkpoint_bytes));
}

void QueueReads::FreeInput(const Sent& sent, const Completion& completion, base::Duration decode) {
  if (completion.image_bytes == 0 || completion.fault != base::Fault::kNone)
    return attached_->arena().Free(sent.offset);
  images_.push_back({.endpoint = attached_,
                     .region = sent.offset,
                     .image = {sent.room.offset - sent.image_room, completion.image_bytes},
                     .shelf = sent.item.images,
                     .sample = sent.item.sample,
                     .decode = decode});
}

Outcome QueueReads::MakeOutcome(const Sent& sent, const Completion& completion) const {
  const bool done = completion.fault == base::Fault::kNone;
  return {.id = sent.item.id,
          .kind = done ? OutcomeKind::kDone : OutcomeKind::kRefused,
          .fault = completion.fault,
          .status = {},
          .worker = options_.number,
          .times = WithDecode(sent.times, completion, base::Now()),
          .row = completion.row};
}

void QueueReads::Detach(const Outcome& in_hand, std::vector<Outcome>& outcomes) {
  {
    const base::MutexLock lock(mutex_);
    // Only the oldest item can be in progress. The dead worker's own claim, which cannot be
    // trusted, decides only whether it is.
    if (!sent_.empty() && attached_->started() >= sent_.front().sequence) {
      outcomes.push_back(in_hand);
      outcomes.back().id = sent_.front().item.id;
      sent_.pop_front();
    }
    for (const Sent& each : sent_)
      outcomes.push_back(
          {.id = each.item.id, .kind = OutcomeKind::kLost, .fault = {}, .status = {}});
    for (const WorkItem& each : inbox_)
      outcomes.push_back({.id = each.id, .kind = OutcomeKind::kLost, .fault = {}, .status = {}});
    sent_.clear();
    inbox_.clear();
    attached_ = nullptr;
  }
  changed_.NotifyAll();
}

std::optional<QueueReads::Oldest> QueueReads::OldestAtWorker() const {
  const base::MutexLock lock(mutex_);
  if (attached_ == nullptr || sent_.empty()) return std::nullopt;
  return Oldest{.dataset = sent_.front().item.dataset,
                .sample = sent_.front().item.sample,
                .since = oldest_since_,
                .started = attached_->started() >= sent_.front().sequence};
}

std::vector<QueueReads::OverdueItem> QueueReads::TakeOverdue(base::TimePoint now,
                                                             base::Duration patience) {
  std::vector<OverdueItem> overdue;
  const base::MutexLock lock(mutex_);
  AnnounceSent();
  for (Read& read : reads_) {
    if (!read.aside || read.reported || !read.waits_for_source) continue;
    if (now - *read.waits_for_source < patience) continue;
    read.reported = true;
    overdue.push_back({read.item.id, read.item.dataset});
  }
  return overdue;
}

bool QueueReads::IsReaderOverdue(base::TimePoint now, base::Duration patience) const {
  const base::MutexLock lock(mutex_);
  return std::any_of(reads_.begin(), reads_.end(), [&](const Read& read) {
    return !read.aside && read.waits_for_source && now - *read.waits_for_source >= patience;
  });
}

std::vector<uint64_t> QueueReads::GiveInboxTo(uint64_t place) {
  std::vector<uint64_t> left;
  {
    const base::MutexLock lock(mutex_);
    place_ = place;
    for (Read& read : reads_) {
      if (read.aside) continue;
      read.aside = true;
      left.push_back(read.item.id);
      if (read.offset) read.endpoint->arena().LeaveBehind(*read.offset);
    }
  }
  changed_.NotifyAll();
  return left;
}

std::optional<QueueReads::Longest> QueueReads::LongestRead() const {
  std::optional<Longest> longest;
  const base::MutexLock lock(mutex_);
  for (const Read& read : reads_) {
    if (!read.waits_for_source) continue;
    if (longest && longest->since <= *read.waits_for_source) continue;
    longest = {read.item.dataset, read.item.sample, *read.waits_for_source};
  }
  return longest;
}

bool QueueReads::IsCrowded() const {
  const base::MutexLock lock(mutex_);
  return crowded_;
}

}  // namespace penstock::workers
