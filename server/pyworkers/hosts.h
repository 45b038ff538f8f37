// All hosts of the daemon, by dataset: who may enter as one, whom to ask for one, and who makes a
// batch.
//
// **Ownership**: owned by the feed's engine. **Thread safety**: the runner's thread only. No call
// waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/pyworkers/batch_makers.h"
#include "server/pyworkers/dataset_supply.h"
#include "server/pyworkers/newcomer.h"
#include "server/pyworkers/python_session.h"
#include "server/workers/event_set.h"

namespace penstock::pyworkers {

class Hosts final : public BatchMakers {
 public:
  // `start_timeout`: in which a Python worker must become ready.
  Hosts(Surroundings surroundings, base::Duration start_timeout)
      : surroundings_(std::move(surroundings)), start_timeout_(start_timeout) {}

  // Call it once, before anything else.
  absl::Status Start() { return events_.Open(); }
  // Readable when Collect may have something to do.
  int event_fd() const { return events_.fd(); }

  // ---- Sessions ----
  // A session opens. Returns the token for hosts that its trainer forks, the same for all sessions
  // that one connection has with one dataset.
  //
  // **Errors**: ResourceExhausted if other datasets' sessions leave too few of the daemon's Python
  // workers: one, or one for each stream. Then nothing of it is left.
  absl::StatusOr<HostToken> SessionOpened(const PythonSession& session, base::TimePoint now);
  // Does nothing for a session that is not one of a Python dataset.
  void SessionClosed(uint64_t session, base::TimePoint now);

  // ---- Makers ----
  // Lets a host or a Python worker in, or closes its connection.
  void Arrived(const Newcomer& newcomer, base::TimePoint now);
  // A connection was closed: of a trainer, a host, a worker, or any other process.
  void PeerLeft(uint64_t peer);
  uint64_t refused() const { return refused_; }  // arrivals without a token, so far

  // ---- Batches ----
  bool MayMake(DatasetRef dataset, bool in_stream) override;
  void Submit(DatasetRef dataset, const MakeItem& item, base::TimePoint now) override;
  void GivenOut(base::TimePoint now) override;
  MakerNews Collect(base::TimePoint now) override;
  void GiveRoom(const RoomWanted& wanted, uint64_t granted, base::TimePoint now) override;

  // Handles time-outs, restarts and what is no longer used. Call it about every 100 ms, after
  // Collect.
  void Tick(base::TimePoint now);

  // All workers of present hosts, by dataset and place.
  std::vector<PyWorkerView> View() const;

  // What became of batches and workers of all datasets, since the start.
  MakerTotals Totals(base::TimePoint now) const;

  // By dataset.
  using Supplies = std::map<DatasetRef, std::unique_ptr<DatasetSupply>>;
  const Supplies& supplies() const { return supplies_; }

 private:
  uint32_t WorkersLeftFor(DatasetRef dataset) const;

  const Surroundings surroundings_;
  const base::Duration start_timeout_;
  workers::EventSet events_;  // before the hosts, which watch descriptors in it
  Supplies supplies_;
  uint64_t refused_ = 0;
  MakerTotals past_;  // of datasets that are no longer supplied
  uint64_t next_host_ = 1;
};

}  // namespace penstock::pyworkers
