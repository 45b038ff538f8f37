// The event loop of the daemon: where core, pool, workers and deliveries meet. Each part decides
// its own affairs and knows nothing of the engine; Pump and Tick say in which order they are asked.
//
// **Ownership**: owns all parts. They refer to each other, so their order here matters.
// **Thread safety**: no thread of its own; one owner (the runner) calls it. It never blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/copy/row_copiers.h"
#include "server/export/gpus.h"
#include "server/feed/core/core.h"
#include "server/feed/engine/admission.h"
#include "server/feed/engine/deliveries.h"
#include "server/feed/engine/drain.h"
#include "server/feed/engine/engine_views.h"
#include "server/feed/engine/feed_book.h"
#include "server/feed/engine/open_request.h"
#include "server/feed/engine/segment_sender.h"
#include "server/feed/engine/session_opener.h"
#include "server/feed/engine/session_table.h"
#include "server/feed/engine/statistics.h"
#include "server/feed/engine/trace_recorder.h"
#include "server/feed/engine/worker_count.h"
#include "server/feed/fill/nobody_filler.h"
#include "server/feed/fill/row_copier_filler.h"
#include "server/feed/fill/row_dispatch.h"
#include "server/feed/fill/worker_filler.h"
#include "server/pool/pool.h"
#include "server/workers/supervisor.h"

namespace penstock::feed {

class Engine {
 public:
  struct Options {
    pool::Pool::Options pool;
    workers::SupervisorOptions workers;
    copy::RowCopiers::Options row_copiers;
    exporting::Gpus::Options gpus;
    Admission admission;
    base::Duration keep_idle_segments = std::chrono::seconds(60);
    base::Duration retry_for = std::chrono::seconds(60);  // how long a source may fail
    // As many workers as the trainers need, from workers.count on; nothing: always that many.
    std::optional<WorkerDemand::Options> auto_workers;
  };

  Engine(Options options, SendToPeer send);
  ~Engine();
  absl::Status Start();
  // After Start. Descriptors that become readable when Pump should be called; they change with
  // sessions: `changed` is called with a descriptor and whether it is to be watched.
  void WatchWith(std::function<void(int fd, bool watch)> changed);

  // ---- The loop. ----
  // One pass over everything that may have happened. False when nothing had.
  bool Pump(base::TimePoint now);
  // Slow things, several times a second: time-outs, restarts, shrinking.
  void Tick(base::TimePoint now);
  // Consumers ring only while we say that we sleep.
  void SetAsleep(bool asleep) { sessions_.SetAsleep(asleep); }
  // True while consumers may let go of batches without a sound: then Pump is called again and
  // again.
  bool MustBePolled() const { return sessions_.MustBePolled(); }
  // Why nothing is delivered any more, if so; for good: workers cannot be kept up, a GPU is lost.
  absl::Status status() const;

  // ---- Sessions. ----
  // Answers exactly once: at once, but for device delivery perhaps within a later Pump, once memory
  // was made on the GPU.
  void Open(const OpenRequest& request, base::TimePoint now, SessionOpener::Opened done);
  // The slabs that batches of this session may be in, as of now. PermissionDenied as Close.
  absl::StatusOr<std::vector<exporting::SlabFacts>> Slabs(uint64_t peer, uint64_t session) {
    return opener_.Slabs(peer, session);
  }
  // PermissionDenied when the session is another peer's.
  absl::Status Close(uint64_t peer, uint64_t session, base::TimePoint now) {
    return sessions_.Close(peer, session, now);
  }
  void PeerDisconnected(uint64_t peer) { sessions_.PeerDisconnected(peer); }
  void PeerGone(uint64_t peer, base::TimePoint now);
  // Whether its process may still use anything of ours: sessions that it did not close, batches on
  // a GPU, slabs that it was told of.
  bool Holds(uint64_t peer) const { return sessions_.Holds(peer) || gpus_.Knows(peer); }
  // A dataset's quarantine has a new version: slots filled from now on are keyed by it.
  void QuarantineChanged(const DatasetState& dataset) { sessions_.QuarantineChanged(dataset); }
  // Every session is told that the daemon ends.
  void CloseAll();

  // ---- Operators. ----
  // From now on no session is opened, and each ends once its consumer has taken its epoch's last
  // batch; false: serve again. Those that were ended stay so.
  void SetDraining(bool draining) { drain_.Set(draining); }
  bool draining() const { return drain_.active(); }
  void SetAdmission(const Admission& admission);
  // InvalidArgument: 0, or more than can be. How many there were.
  absl::StatusOr<uint32_t> SetWorkers(uint32_t count) { return worker_count_.Set(count); }
  // As TraceRecorder::Take.
  void TakeTrace(const TraceRequest& request, base::TimePoint now, TraceRecorder::Traced done) {
    trace_.Take(request, now, std::move(done));
  }

  // ---- What is shown. ----
  EngineViews views() const;
  size_t sessions() const { return sessions_.trainers(); }  // of trainers
  // Counts and stalls over all feeds; what feeds count is added up first.
  TotalsView Totals(base::TimePoint now);

 private:
  RowDispatch::Events DispatchEvents();
  absl::Status SegmentMade(const pool::Segment& segment);
  bool GiveUp(const pool::Segment& segment);
  void FollowDemand(base::TimePoint now);
  void Tidy(base::TimePoint now);

  const Options options_;
  base::TimePoint now_{};  // of the pass that is under way
  Core core_;
  SegmentSender segments_;
  pool::Pool pool_;
  // Before the supervisor and the row copiers, whose threads use what rows in flight keep alive.
  WorkerFiller worker_filler_;
  RowCopierFiller row_copier_filler_;
  NobodyFiller nobody_;
  workers::Supervisor workers_;
  copy::RowCopiers row_copiers_;
  exporting::Gpus gpus_;  // before the sessions, which hold memory there
  FeedBook feeds_;
  SessionTable sessions_;
  Statistics statistics_;
  TraceRecorder trace_;
  Drain drain_;
  RowDispatch dispatch_;
  SessionOpener opener_;
  Deliveries deliveries_;
  WorkerCount worker_count_;
};

}  // namespace penstock::feed
