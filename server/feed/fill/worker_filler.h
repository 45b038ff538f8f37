// The fill path of rows that worker processes decode, one sample each. Also decides who gets the
// worker slots: a user's turn comes when a worker slot has headroom for it, worker slots change
// between users, and worker deaths are charged to the dataset and user over whose samples they
// occur.
//
// **Ownership**: owns the rows in progress and the accounts of deaths; the decoders belong to
// the engine.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/feed/fill/filler.h"
#include "server/feed/fill/kept_moves.h"
#include "server/feed/fill/rows.h"
#include "server/feed/fill/worker_losses.h"
#include "server/workers/row_decoders.h"

namespace penstock::feed {

class WorkerFiller final : public Filler {
 public:
  // Called when an account has exceeded its budget of deaths: its feeds fail for this reason.
  using AccountFailed = std::function<void(uint64_t account, const absl::Status& why)>;

  WorkerFiller(workers::RowDecoders& workers, Core& core, const pool::Pool& pool,
               const WorkerLosses::Options& losses, AccountFailed account_failed,
               const KeptMoves::Keepers& keepers = {});

  // The maximum fraction of the worker slots that decode for one user at once.
  void LimitUsers(double max_workers_per_user) { max_workers_per_user_ = max_workers_per_user; }

  Turn TurnOf(UserId user) const override;
  bool MayRead(UserId user, const Feed& feed, bool aside, base::TimePoint now) const override;
  bool HoldsBack(base::TimePoint now) const override { return losses_.AnyPaused(now); }
  std::optional<FillOutcome> Begin(FillJob job) override;
  std::vector<FillOutcome> Collect(base::TimePoint now) override;
  void TakeOverdue(base::TimePoint now, NoteOverdueRead note) override;
  void GivenOut(base::TimePoint now) override;

  Rows& rows() { return rows_; }
  const Rows& rows() const { return rows_; }
  WorkerLosses& losses() { return losses_; }
  const WorkerLosses& losses() const { return losses_; }

 private:
  FillOutcome End(const workers::Outcome& outcome);
  uint32_t WorkerSlotsOfAUser() const;
  bool HasAll(const workers::SlotHolding& holding, uint32_t most) const;
  void NoteOccupied(std::span<const workers::SlotHolding> holdings);
  void NoteDeaths(base::TimePoint now);

  workers::RowDecoders& workers_;
  Core& core_;
  const pool::Pool& pool_;
  const AccountFailed account_failed_;
  double max_workers_per_user_ = 1;
  Rows rows_;
  KeptMoves kept_;
  WorkerLosses losses_;
  // Several users compete for worker slots, or did until recently.
  base::TimePoint contended_until_{};
};

}  // namespace penstock::feed
