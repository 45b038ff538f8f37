#include "server/feed/stats/flow.h"

#include <algorithm>

namespace penstock::feed {
namespace {

// Beyond this number, slots whose fill nobody waited for are forgotten.
constexpr size_t kMaxFilling = 65'536;

base::Duration Between(base::TimePoint from, base::TimePoint to) {
  return std::max(to - from, base::Duration::zero());
}

}  // namespace

// ---- A feed ----

void FeedFlow::Given(const SlotFill& fill, base::TimePoint now) {
  if (filling_.size() >= kMaxFilling) filling_.clear();
  SlotFilling& filling = filling_[fill.slot];
  if (filling.generation == fill.generation) return;
  filling = {.generation = fill.generation, .story = {.begun = now, .ended = now}};
}

void FeedFlow::Ended(const RowsEnded& rows) {
  const base::Duration all = Between(rows.given, rows.ended);
  // Each row of a run waits for the whole run.
  const base::Duration queue =
      std::max(all - rows.read - rows.decode, base::Duration::zero()) * rows.rows;
  Sum([&](StageSums& sums) {
    sums.samples += rows.rows;
    sums.read += rows.read;
    sums.decode += rows.decode;
    sums.queue += queue;
  });
  if (totals_ != nullptr && rows.rows > 0) {
    totals_->times.read.Observe(rows.read / rows.rows, rows.rows);
    totals_->times.decode.Observe(rows.decode / rows.rows, rows.rows);
  }
  const auto found = filling_.find(rows.fill.slot);
  if (found == filling_.end() || found->second.generation != rows.fill.generation) return;
  Filled& story = found->second.story;
  story.ended = std::max(story.ended, rows.ended);
}

std::optional<FeedFlow::Filled> FeedFlow::Full(const SlotFill& fill) {
  const auto found = filling_.find(fill.slot);
  if (found == filling_.end() || found->second.generation != fill.generation) return std::nullopt;
  const Filled story = found->second.story;
  filling_.erase(found);
  Sum([&](StageSums& sums) {
    ++sums.batches;
    sums.assemble += Between(story.begun, story.ended);
  });
  return story;
}

void FeedFlow::HandedOver(base::Duration took) {
  if (totals_ != nullptr) totals_->times.hand_over.Observe(took);
}

void FeedFlow::Copied(base::Duration took) {
  if (totals_ != nullptr) totals_->times.copy.Observe(took);
  Sum([&](StageSums& sums) {
    ++sums.copies;
    sums.copy += took;
  });
}

void FeedFlow::Waited(base::Duration took, const BatchOwner& owner) {
  if (totals_ != nullptr) totals_->times.ready.ObserveBatch(took, owner.session, owner.trace_id);
  Sum([&](StageSums& sums) {
    ++sums.waits;
    sums.consumer += took;
  });
}

void FeedFlow::TrainerWaited(base::Duration took, const BatchOwner& owner) {
  if (totals_ != nullptr) totals_->times.trainer.ObserveBatch(took, owner.session, owner.trace_id);
}

void FeedFlow::Seen(const Look& look, base::Duration since) {
  if (look.sessions == 0) return;
  occupancy.Add(look.occupancy / look.sessions, since);
  starved.Add(look.starved / look.sessions, since);
  starving.Add(look.starved / look.sessions, since);
  copying.Add(look.copying / look.sessions, since);
  workers.Add(look.workers, since);
  readers.Add(look.readers, since);
  row_copiers.Add(look.row_copiers, since);
  if (totals_ == nullptr) return;
  const auto part = [since](double share) {
    return std::chrono::duration_cast<base::Duration>(since * share);
  };
  totals_->open += since * look.sessions;
  totals_->filled += part(look.occupancy);
  totals_->starved += part(look.starved);
}

// ---- A session ----

void SessionFlow::Full(BatchTimes batch) {
  if (!batches_.empty() && batch.sequence != batches_.back().sequence + 1) batches_.clear();
  if (memory_ == BatchMemory::kHost) {
    batch.ready = batch.full;
    ready_ = batch.sequence;
  }
  batches_.push_back(batch);
}

void SessionFlow::Ready(uint64_t count, base::TimePoint now, FeedFlow& feed) {
  if (batches_.empty() || memory_ == BatchMemory::kHost) return;
  count = std::min(count, batches_.back().sequence);
  for (; ready_ < count; ++ready_) {
    BatchTimes* batch = Find(ready_ + 1);
    if (batch == nullptr) continue;
    batch->ready = now;
    feed.Copied(Between(batch->full, now));
  }
}

void SessionFlow::Taken(uint64_t count, base::TimePoint now, FeedFlow& feed) {
  count = std::min(count, ready_);
  for (; taken_ < count; ++taken_) {
    BatchTimes* batch = Find(taken_ + 1);
    if (batch == nullptr) continue;
    batch->taken = now;
    feed.Waited(Between(batch->ready, now), owner_);
  }
}

std::optional<SessionFlow::BatchTimes> SessionFlow::Released(uint64_t sequence,
                                                             base::TimePoint now) {
  BatchTimes* batch = Find(sequence);
  if (batch == nullptr || sequence > taken_ || batch->released != base::TimePoint())
    return std::nullopt;
  batch->released = now;
  const BatchTimes story = *batch;
  while (!batches_.empty() && batches_.front().released != base::TimePoint()) batches_.pop_front();
  return story;
}

SessionFlow::BatchTimes* SessionFlow::Find(uint64_t sequence) {
  if (batches_.empty() || sequence < batches_.front().sequence ||
      sequence > batches_.back().sequence)
    return nullptr;
  return &batches_[sequence - batches_.front().sequence];
}

}  // namespace penstock::feed
