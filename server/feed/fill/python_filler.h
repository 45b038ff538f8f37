// The fill path of Python datasets: Python workers make whole batches, each in its slot.
//
// **Ownership**: owns the batches in progress; who makes them belongs to the engine.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "server/feed/fill/filler.h"
#include "server/feed/fill/made_batches.h"
#include "server/feed/fill/worker_losses.h"
#include "server/pyworkers/batch_makers.h"

namespace penstock::feed {

class PythonFiller final : public Filler {
 public:
  struct Events {
    // An account has exceeded its budget of deaths: its feeds fail for this reason.
    std::function<void(uint64_t account, const absl::Status& why)> account_failed;
    // Nobody makes this dataset's batches: its feeds fail for this reason.
    std::function<void(const DatasetState* dataset, const absl::Status& why)> dataset_failed;
  };
  // `losses`: where deaths of workers are counted.
  PythonFiller(pyworkers::BatchMakers& makers, pool::Pool& pool, WorkerLosses& losses,
               Events events)
      : makers_(makers), losses_(losses), events_(std::move(events)), batches_(pool) {}

  bool MayRead(UserId user, const Feed& feed, bool aside, base::TimePoint now) const override;
  // Whether a worker is free depends on the dataset, so it is asked for each feed.
  bool HoldsBack(base::TimePoint) const override { return true; }
  std::optional<FillOutcome> Begin(FillJob job) override;
  std::vector<FillOutcome> Collect(base::TimePoint now) override;
  void TakeOverdue(base::TimePoint, NoteOverdueRead) override {}
  void GivenOut(base::TimePoint now) override { makers_.GivenOut(now); }

  const MadeBatches& batches() const { return batches_; }

 private:
  void NoteDeaths(const std::vector<pyworkers::MakerDeath>& deaths, base::TimePoint now);

  pyworkers::BatchMakers& makers_;
  WorkerLosses& losses_;
  const Events events_;
  MadeBatches batches_;
};

}  // namespace penstock::feed
