// Enumerates a session's batches: rank r's steps, epoch by epoch. Pure.
// **Ownership**: owned by its session.
#pragma once

#include <cstdint>

#include "server/plan/plan.h"

namespace penstock::feed {

class Cursor {
 public:
  // `share` is for the first epoch; later ones begin at consumed = 0. `epochs` includes the first;
  // 0: unlimited. Epochs without a batch for this rank are skipped.
  Cursor(const plan::Share& share, uint64_t first_epoch, uint64_t epochs);

  bool ended() const { return ended_; }

  // The current batch. **Requires**: not ended.
  plan::Position position() const { return {epoch_, batch_.first, batch_.rows}; }
  const plan::Batch& batch() const { return batch_; }
  uint64_t epoch() const { return epoch_; }
  uint64_t step() const { return step_; }
  // Samples of the epoch that all ranks consumed before this batch.
  uint64_t consumed() const { return consumed_; }
  bool last_of_epoch() const { return step_ + 1 == steps_; }

  void Advance();

 private:
  void Settle();

  plan::Share share_;
  uint64_t epoch_;
  uint64_t epochs_left_;  // including this one; unused if unlimited
  uint64_t step_ = 0;
  uint64_t steps_;
  uint64_t consumed_;
  plan::Batch batch_;
  bool ended_ = false;
  bool endless_;
};

}  // namespace penstock::feed
