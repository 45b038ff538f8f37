// The daemon's event loop, which connects core, pool, workers and deliveries. The parts make the
// decisions and know nothing of the engine; Pump and Tick call them in order.
//
// **Ownership**: owns all parts. They refer to each other, so the order of members matters.
// **Thread safety**: has no thread; one owner (the runner) calls it. It never blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/copy/row_copiers.h"
#include "server/export/gpus.h"
#include "server/feed/core/core.h"
#include "server/feed/engine/deliveries.h"
#include "server/feed/engine/drain.h"
#include "server/feed/engine/engine_views.h"
#include "server/feed/engine/feed_book.h"
#include "server/feed/engine/segment_sender.h"
#include "server/feed/engine/session_opener.h"
#include "server/feed/engine/statistics.h"
#include "server/feed/engine/trace_recorder.h"
#include "server/feed/engine/worker_count.h"
#include "server/feed/fill/nobody_filler.h"
#include "server/feed/fill/python_filler.h"
#include "server/feed/fill/row_copier_filler.h"
#include "server/feed/fill/row_dispatch.h"
#include "server/feed/fill/worker_filler.h"
#include "server/feed/sessions/admission.h"
#include "server/feed/sessions/open_request.h"
#include "server/feed/sessions/session_table.h"
#include "server/feed/stats/verdict.h"
#include "server/kept/row_keepers.h"
#include "server/kept/row_store.h"
#include "server/pool/pool.h"
#include "server/pyworkers/hosts.h"
#include "server/workers/supervisor.h"

namespace penstock::feed {

class Engine {
 public:
  // Threads that wait for the storage of kept rows, if they are kept in a folder.
  static constexpr uint32_t kFolderKeepers = 8;

  struct Options {
    pool::Pool::Options pool;
    workers::SupervisorOptions workers;
    copy::RowCopiers::Options row_copiers;
    exporting::Gpus::Options gpus;
    Admission admission;
    base::Duration keep_idle_segments = std::chrono::seconds(60);
    base::Duration retry_for = std::chrono::seconds(60);  // how long a source may fail
    // Adjusts the number of workers to demand, starting with workers.count; unset: fixed number.
    std::optional<WorkerDemand::Options> auto_workers;
    std::shared_ptr<checkpoints::CheckpointStore> checkpoints = {};  // null: none are kept
    std::shared_ptr<kept::KeptRowStore> kept_rows = {};              // null: none are kept
    std::shared_ptr<kept::KeptRowStore> kept_images = {};            // decoded; the same
    uint32_t row_keepers = 1;                                        // threads, if rows are kept
    uint32_t cores = 0;  // of the machine, only for words; 0: not known
    // How fast object stores are read. Called on the runner's thread; must not block.
    std::function<StoreFlow()> store_flow = [] { return StoreFlow{}; };
    // Closes the connection of a host or a Python worker. Called on the runner's thread; must not
    // block.
    std::function<void(uint64_t peer)> close_peer = [](uint64_t) {};
  };

  Engine(Options options, SendToPeer send);
  ~Engine();
  absl::Status Start();
  // Call it after Start. Pump must be called when one of the descriptors is readable. They change
  // with sessions: `changed` gets each descriptor and whether to watch it.
  void WatchWith(std::function<void(int fd, bool watch)> changed);

  // ---- The loop ----
  // One pass over everything that may have happened. Returns false if nothing had.
  bool Pump(base::TimePoint now);
  // Slower tasks, several times a second: time-outs, restarts, shrinking.
  void Tick(base::TimePoint now);
  // Consumers notify only while we announce that we sleep.
  void SetAsleep(bool asleep) { sessions_.SetAsleep(asleep); }
  // True while consumers may release batches without a notification: Pump must then be called
  // repeatedly.
  bool MustBePolled() const { return sessions_.MustBePolled(); }
  // Not OK if nothing is delivered any more: workers cannot be kept running, or a GPU is lost.
  // Permanent.
  absl::Status status() const;

  // ---- Sessions ----
  // Answers exactly once: immediately, or, for device delivery, possibly in a later Pump, after GPU
  // memory was allocated.
  void Open(const OpenRequest& request, base::TimePoint now, const SessionOpener::Opened& done);
  // The slabs that this session's batches may currently be in. **Errors**: PermissionDenied, as for
  // Close.
  absl::StatusOr<std::vector<exporting::SlabFacts>> Slabs(uint64_t peer, uint64_t session) {
    return opener_.Slabs(peer, session);
  }
  // The consumer's GPU failed on these samples: workers decode them for all feeds of its user from
  // now on. **Errors**: PermissionDenied, as for Close; InvalidArgument if the session has no
  // undecoded rows, or its dataset lacks one of them. Then none is recorded.
  absl::Status ReportUndecodable(uint64_t peer, uint64_t session,
                                 std::span<const uint64_t> samples);
  // **Errors**: PermissionDenied if the session belongs to another peer.
  absl::Status Close(uint64_t peer, uint64_t session, base::TimePoint now) {
    return sessions_.Close(peer, session, now);
  }
  // A connection was closed: of a trainer, a host or a Python worker. Its process may live on.
  void PeerDisconnected(uint64_t peer);
  void PeerGone(uint64_t peer, base::TimePoint now);
  // Whether the process may still use anything of ours: open sessions, batches on a GPU, slabs.
  bool Holds(uint64_t peer) const { return sessions_.Holds(peer) || gpus_.Knows(peer); }
  // A host or a Python worker has entered the doorway. If nobody waits for it, its connection is
  // closed.
  void MakerArrived(const pyworkers::Newcomer& maker, base::TimePoint now) {
    hosts_.Arrived(maker, now);
  }
  // A dataset's quarantine has a new version, which keys slots filled from now on.
  void QuarantineChanged(const DatasetState& dataset) { sessions_.QuarantineChanged(dataset); }
  // Tells every session that the daemon is ending.
  void CloseAll();

  // ---- Operators ----
  // Starts or cancels draining: no session can be opened, and each ends once its consumer has taken
  // the last batch of its epoch. Sessions that were already ended stay ended.
  void SetDraining(bool draining, const session::AskedBy& asked_by) {
    drain_.Set(draining, asked_by);
  }
  bool draining() const { return drain_.active(); }
  void SetAdmission(const Admission& admission);
  // Returns the previous number. **Errors**: InvalidArgument for 0 or more than the maximum.
  absl::StatusOr<uint32_t> SetWorkers(uint32_t count) { return worker_count_.Set(count); }
  // See TraceRecorder::Take.
  void TakeTrace(const TraceRequest& request, base::TimePoint now, TraceRecorder::Traced done) {
    trace_.Take(request, now, std::move(done));
  }

  // ---- Views ----
  EngineViews views() const;
  size_t sessions() const { return sessions_.trainers(); }  // trainers' sessions
  // Counts and stalls over all feeds, after adding up what feeds have counted.
  TotalsView Totals(base::TimePoint now);

 private:
  RowDispatch::Events DispatchEvents();
  pyworkers::Surroundings MakersSurroundings(SendToPeer send);
  absl::Status SendToMaker(uint64_t peer, uint32_t segment);
  pyworkers::TrainerLook LookAtTrainer(uint64_t session) const;
  absl::Status SegmentMade(const pool::Segment& segment);
  bool GiveUp(const pool::Segment& segment);
  std::vector<uint32_t> UnusedSlots(uint64_t arena) const;
  void FollowDemand(base::TimePoint now);
  void Tidy(base::TimePoint now);

  const Options options_;
  base::TimePoint now_{};  // of the current pass
  Core core_;
  SegmentSender segments_;
  pool::Pool pool_;
  // Of rows in memory, and in a folder; null: none are kept there.
  std::unique_ptr<kept::RowKeepers> keepers_, folder_keepers_;
  // Before the supervisor and the row copiers, whose threads use what rows in progress keep alive.
  WorkerFiller worker_filler_;
  RowCopierFiller row_copier_filler_;
  NobodyFiller nobody_;
  pyworkers::Hosts hosts_;
  PythonFiller python_filler_;
  workers::Supervisor workers_;
  copy::RowCopiers row_copiers_;
  exporting::Gpus gpus_;  // before the sessions, which hold GPU memory
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
