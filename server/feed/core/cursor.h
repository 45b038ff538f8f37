// A session's walk through its batches: rank r's steps of one epoch after the other. Pure; owned by
// its session.
#pragma once

#include <cstdint>

#include "server/plan/plan.h"

namespace penstock::feed {

class Cursor {
 public:
  // `share` is of the first epoch; every later one begins at consumed = 0. At most `epochs` of
  // them, the first included; 0: without end. Epochs without a batch for this rank are passed over.
  Cursor(const plan::Share& share, uint64_t first_epoch, uint64_t epochs);

  bool ended() const { return ended_; }

  // The batch here, while not ended.
  plan::Position position() const { return {epoch_, batch_.first, batch_.rows}; }
  const plan::Batch& batch() const { return batch_; }
  uint64_t epoch() const { return epoch_; }
  uint64_t step() const { return step_; }
  // Samples of the epoch that all ranks consumed before this batch: how far the session is.
  uint64_t consumed() const { return consumed_; }
  bool last_of_epoch() const { return step_ + 1 == steps_; }

  void Advance();

 private:
  void Settle();

  plan::Share share_;
  uint64_t epoch_;
  uint64_t epochs_left_;  // this one included; unless endless
  uint64_t step_ = 0;
  uint64_t steps_;
  uint64_t consumed_;
  plan::Batch batch_;
  bool ended_ = false;
  bool endless_;
};

}  // namespace penstock::feed
