// Where a session stands in its feed: the state that a trainer can save, the batches of the current
// epoch, and the end of an epoch that is still to be reported. Pure.
//
// Invariant: state() is the position after the last batch that the trainer got, and the same on
// every rank that got equally many batches.
//
// **Thread safety**: one thread at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "client/src/core/grant.h"
#include "penstock/penstock.h"

namespace penstock::client {

class FeedPosition {
 public:
  struct Begin {
    std::optional<State> start = {};  // the state at which the session was opened, if any
    uint64_t epochs = 0;              // as requested; 0: no limit
    uint64_t seed = 0;                // as requested
    bool ranks_differ = false;        // another rank may have one more batch in an epoch
  };
  FeedPosition(const Begin& begin, const Grant& grant);

  // The numbers of one batch, as the daemon announced them.
  struct Step {
    uint64_t epoch = 0;
    uint64_t step = 0;      // within the epoch, from where the session was opened
    uint64_t consumed = 0;  // samples of the epoch, by all ranks
    bool last_of_epoch = false;
  };
  // Moves past this batch. Returns its step within the whole epoch.
  uint64_t Take(const Step& batch);

  // Whether the end of an epoch is to be reported before the next batch.
  bool at_epoch_end() const { return epoch_ended_; }
  // Returns the epoch that ended, once for each.
  std::optional<uint64_t> ReportEpochEnd();

  const State& state() const { return state_; }
  // Batches of this rank in the current epoch; in the first one, those from where it began.
  uint64_t batches_in_epoch() const;
  bool AllEpochsDone() const { return epochs_ != 0 && state_.epoch - begin_epoch_ >= epochs_; }
  // How many epochs to ask for when the session is opened again. **Requires**: !AllEpochsDone().
  uint64_t EpochsLeft() const;
  // The session was opened again at state().
  void Reopened(const Grant& grant);

 private:
  void GoToNextEpoch();
  void Adopt(const Grant& grant);

  const uint64_t epochs_;
  const uint64_t begin_epoch_;
  const bool ranks_differ_;
  State state_;
  // For the last opening: the epoch in which it began, and the batches of that epoch before it.
  uint64_t first_epoch_;
  uint64_t steps_before_ = 0;
  uint64_t first_epoch_batches_ = 0, epoch_batches_ = 0, epoch_samples_ = 0;
  std::optional<Step> last_;  // batch; its step counts from the epoch's start
  bool epoch_ended_ = false;  // not reported yet
};

}  // namespace penstock::client
