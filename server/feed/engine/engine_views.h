// What status and clients see of the engine: counts and names, copied at one moment. Created by
// Engine::views for the duration of a call.
//
// **Ownership**: owns nothing; reads the engine's parts. **Thread safety**: the runner's thread
// only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/copy/row_copiers.h"
#include "server/export/gpus.h"
#include "server/feed/core/core.h"
#include "server/feed/engine/drain.h"
#include "server/feed/engine/feed_book.h"
#include "server/feed/engine/statistics.h"
#include "server/feed/engine/worker_count.h"
#include "server/feed/fill/made_batches.h"
#include "server/feed/fill/row_dispatch.h"
#include "server/feed/sessions/session_table.h"
#include "server/feed/stats/verdict.h"
#include "server/feed/stats/views.h"
#include "server/pool/pool.h"
#include "server/pyworkers/hosts.h"
#include "server/workers/supervisor.h"

namespace penstock::feed {

// The parts that are shown.
struct Viewed {
  const Core& core;
  const pool::Pool& pool;
  const workers::Supervisor& workers;
  const copy::RowCopiers& row_copiers;
  const exporting::Gpus& gpus;
  const FeedBook& feeds;
  const Rows& rows;
  const RowDispatch& dispatch;
  const SessionTable& sessions;
  const Statistics& statistics;
  const Drain& drain;
  const WorkerCount& worker_count;
  const pyworkers::Hosts& hosts;
  const MadeBatches& made;
  const std::function<StoreFlow()>& store_flow;
  uint32_t cores = 0;  // of the machine; 0: not known
  uint32_t max_sessions = 0;
  absl::Status status;    // not OK: why nothing is delivered any more
  base::TimePoint now{};  // of the current pass
};

class EngineViews {
 public:
  explicit EngineViews(Viewed of) : of_(std::move(of)) {}

  Vitals GetVitals() const;  // all except the runner's own: passes, ticked
  EngineView View() const;
  // Since the start, as of the last tick.
  TotalsView Totals(base::TimePoint now) const;
  // How a feed fared over the last seconds, to judge it by.
  FlowFigures ToFigures(const Feed& feed) const;
  std::vector<SessionInfo> Sessions() const;
  // The sessions that a drain waits for.
  std::vector<SessionInfo> NotDrained() const;
  // All users who have had a session since the start.
  std::vector<UserView> Users() const;
  // What a session waits for, as far as the daemon knows: its own batches, the workers that all
  // sessions share, and samples of its own dataset.
  //
  // **Errors**: NotFound; PermissionDenied if the session belongs to another peer.
  absl::StatusOr<SessionProgress> Progress(uint64_t peer, uint64_t session,
                                           base::TimePoint now) const;
  std::vector<workers::WorkerView> Workers(base::TimePoint now) const {
    return of_.workers.View(now);
  }
  std::vector<pyworkers::PyWorkerView> PythonWorkers() const { return of_.hosts.View(); }
  MakersView Makers() const;
  // "auto, 1 to 8", or "fixed".
  std::string WorkersPolicy() const { return of_.worker_count.policy(); }
  // The samples whose rows are in slots of feeds over this dataset, each once; may include others.
  // `dataset` is only compared by address; empty if no feed uses it.
  std::vector<uint64_t> SamplesInSlots(const DatasetState* dataset) const;

 private:
  SessionInfo MakeInfo(uint64_t id, const SessionRecord& session) const;
  FeedInfo MakeInfo(const FeedBook::Entry& entry, const Feed& feed, const FeedView& counts) const;
  SessionPhase PhaseOf(uint64_t id, const SessionRecord& session) const;
  bool AnyWaitsForItsSource(const Feed& feed) const;
  // Null if it is not of a Python dataset.
  const pyworkers::DatasetSupply* SupplyOf(const Feed& feed) const;
  bool HasHost(const Feed& feed) const;
  void AddPython(const Feed& feed, base::TimePoint now, SessionProgress& progress) const;
  std::vector<GpuInfo> GpuInfos() const;

  const Viewed of_;
};

}  // namespace penstock::feed
