#include "server/feed/core/cursor.h"

#include "common/base/check.h"

namespace penstock::feed {

Cursor::Cursor(const plan::Share& share, uint64_t first_epoch, uint64_t epochs)
    : share_(share),
      epoch_(first_epoch),
      epochs_left_(epochs),
      steps_(plan::BatchCount(share)),
      consumed_(share.consumed),
      endless_(epochs == 0) {
  Settle();
}

void Cursor::Advance() {
  PENSTOCK_CHECK(!ended_);
  ++step_;
  consumed_ = batch_.consumed;
  Settle();
}

// If this epoch has no batch left, advances to the next one that has.
void Cursor::Settle() {
  while (step_ == steps_) {
    if (!endless_ && --epochs_left_ == 0) {
      ended_ = true;
      return;
    }
    ++epoch_;
    share_.consumed = consumed_ = 0;
    step_ = 0;
    steps_ = plan::BatchCount(share_);
    PENSTOCK_CHECK(steps_ > 0);  // a session without any batch can't be opened
  }
  batch_ = plan::BatchAt(share_, step_);
}

}  // namespace penstock::feed
