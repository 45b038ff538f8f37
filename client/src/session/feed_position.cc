#include "client/src/session/feed_position.h"

#include <utility>

namespace penstock::client {

FeedPosition::FeedPosition(const Begin& begin, const Grant& grant)
    : epochs_(begin.epochs),
      begin_epoch_(begin.start ? begin.start->epoch : 0),
      ranks_differ_(begin.ranks_differ),
      first_epoch_(begin_epoch_) {
  if (begin.start) state_ = *begin.start;
  if (!begin.start) state_.seed = begin.seed;
  state_.fingerprint = grant.fingerprint;
  Adopt(grant);
}

void FeedPosition::Adopt(const Grant& grant) {
  state_.quarantine_version = grant.quarantine_version;
  first_epoch_batches_ = steps_before_ + grant.first_epoch_batches;
  epoch_batches_ = grant.epoch_batches;
  epoch_samples_ = grant.epoch_samples;
}

uint64_t FeedPosition::Take(const Step& batch) {
  last_ = batch;
  if (batch.epoch == first_epoch_) last_->step += steps_before_;
  epoch_ended_ = batch.last_of_epoch;
  state_.epoch = batch.epoch;
  state_.consumed = batch.consumed;
  const bool others_go_on = ranks_differ_ && batch.consumed < epoch_samples_;
  if (epoch_ended_ && !others_go_on) GoToNextEpoch();
  return last_->step;
}

std::optional<uint64_t> FeedPosition::ReportEpochEnd() {
  if (!std::exchange(epoch_ended_, false)) return std::nullopt;
  if (state_.epoch == last_->epoch) GoToNextEpoch();
  return last_->epoch;
}

void FeedPosition::GoToNextEpoch() {
  ++state_.epoch;
  state_.consumed = 0;
}

uint64_t FeedPosition::batches_in_epoch() const {
  return state_.epoch == first_epoch_ ? first_epoch_batches_ : epoch_batches_;
}

uint64_t FeedPosition::EpochsLeft() const {
  return epochs_ == 0 ? 0 : epochs_ - (state_.epoch - begin_epoch_);
}

void FeedPosition::Reopened(const Grant& grant) {
  const bool same_epoch = last_ && last_->epoch == state_.epoch;
  steps_before_ = same_epoch ? last_->step + 1 : 0;
  first_epoch_ = state_.epoch;
  Adopt(grant);
}

}  // namespace penstock::client
