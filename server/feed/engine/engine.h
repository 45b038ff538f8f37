// Where core, pool, workers and delivery meet: turns the core's actions into decoding and
// announcements, and what workers and consumers say into the core's events. No thread of its own;
// one owner (the runner) calls it, and it never blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/copy/row_copiers.h"
#include "server/export/device_delivery.h"
#include "server/export/gpus.h"
#include "server/feed/core/core.h"
#include "server/feed/core/epoch_rest.h"
#include "server/feed/engine/feed_book.h"
#include "server/feed/engine/held_rows.h"
#include "server/feed/engine/open_request.h"
#include "server/feed/engine/rows.h"
#include "server/feed/engine/runs.h"
#include "server/feed/engine/worker_losses.h"
#include "server/feed/stats/dataset_counts.h"
#include "server/feed/stats/flow.h"
#include "server/feed/stats/rate.h"
#include "server/feed/stats/trace.h"
#include "server/feed/stats/user_counts.h"
#include "server/feed/stats/verdict.h"
#include "server/feed/stats/views.h"
#include "server/feed/stats/worker_cpu.h"
#include "server/feed/stats/worker_demand.h"
#include "server/pool/pool.h"
#include "server/workers/supervisor.h"

namespace penstock::feed {

// Sends one doorway message with descriptors to a peer; never blocks.
using SendToPeer = std::function<absl::Status(uint64_t peer, const void* message, size_t bytes,
                                              const std::vector<int>& fds)>;

// Who comes in, and how much one user may have. May change while the engine runs.
struct Admission {
  uint32_t max_sessions = 256;
  uint32_t max_sessions_per_user = 256;
  double max_pool_per_user = 1;     // share of the pool, for windows
  double max_workers_per_user = 1;  // share of the workers that decode for it at once
};

struct TraceRequest {
  base::Duration length{};
  std::optional<uint32_t> user = {};  // whose sessions and feeds; nothing: everybody's
  std::function<bool()> cancelled;    // asked several times a second: it ends early then
};

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

  // Answers exactly once: at once, but for device delivery perhaps within a later Pump, once memory
  // was made on the GPU.
  using Opened = std::function<void(absl::StatusOr<session::Grant>)>;
  void Open(const OpenRequest& request, base::TimePoint now, Opened done);
  // The slabs that batches of this session may be in, as of now. PermissionDenied as Close.
  absl::StatusOr<std::vector<exporting::SlabFacts>> Slabs(uint64_t peer, uint64_t session);
  // PermissionDenied when the session is another peer's.
  absl::Status Close(uint64_t peer, uint64_t session, base::TimePoint now);
  void PeerDisconnected(uint64_t peer);
  void PeerGone(uint64_t peer, base::TimePoint now);
  // The samples whose rows slots hold for feeds over this dataset, and perhaps others: each once.
  // `dataset` is an address to compare with; nothing where no feed is over it.
  std::vector<uint64_t> SamplesInSlots(const DatasetState* dataset) const;
  // Whether its process may still use anything of ours: sessions that it did not close, batches on
  // a GPU, slabs that it was told of.
  bool Holds(uint64_t peer) const;
  // A dataset's quarantine has a new version: slots filled from now on are keyed by it.
  void QuarantineChanged(const DatasetState& dataset);
  // Every session is told that the daemon ends.
  void CloseAll();
  // From now on no session is opened, and each ends once its consumer has taken its epoch's last
  // batch; false: serve again. Those that were ended stay so.
  void SetDraining(bool draining);
  bool draining() const { return draining_; }
  // Whom a drain waits for.
  std::vector<SessionInfo> NotDrained() const;
  void SetAdmission(const Admission& admission) { options_.admission = admission; }
  // InvalidArgument: 0, or more than can be. How many there were.
  absl::StatusOr<uint32_t> SetWorkers(uint32_t count);

  // Answers exactly once: with what happened from now on. ResourceExhausted: one is being taken;
  // but one of everybody's feeds ends one of a single user's, which is answered Aborted.
  using Traced = std::function<void(absl::StatusOr<Trace>)>;
  void TakeTrace(const TraceRequest& request, base::TimePoint now, Traced done);

  // One pass over everything that may have happened. False when nothing had.
  bool Pump(base::TimePoint now);
  // Slow things, several times a second: time-outs, restarts, shrinking.
  void Tick(base::TimePoint now);
  // Consumers ring only while we say that we sleep.
  void SetAsleep(bool asleep);
  // After Start. Descriptors that become readable when Pump should be called; they change with
  // sessions: `changed` is called with a descriptor and whether it is to be watched.
  void WatchWith(std::function<void(int fd, bool watch)> changed);

  // True while consumers may let go of batches without a sound: then Pump is called again and
  // again.
  bool MustBePolled() const;

  // Why nothing is delivered any more, if so; for good: workers cannot be kept up, a GPU is lost.
  absl::Status status() const;

  size_t sessions() const;   // of trainers
  Vitals GetVitals() const;  // all but the runner's own: passes, ticked
  EngineView View() const;
  // Counts and stalls over all feeds; what feeds count is added up first.
  TotalsView Totals(base::TimePoint now);
  std::vector<SessionInfo> Sessions() const;
  // Everybody who had a session since the start.
  std::vector<UserView> Users() const;
  // What a session waits for. NotFound, PermissionDenied as Slabs.
  absl::StatusOr<SessionProgress> Progress(uint64_t peer, uint64_t session,
                                           base::TimePoint now) const;
  std::vector<workers::WorkerView> Workers(base::TimePoint now) const;
  // "auto, 1 to 8", or "fixed".
  std::string WorkersPolicy() const;

 private:
  struct Session {
    OpenRequest request;
    uint64_t slot_bytes = 0;
    uint64_t arena = 0;
    std::shared_ptr<Feed> feed;
    std::unique_ptr<exporting::Delivery> delivery;
    exporting::DeviceDelivery* device = nullptr;  // the same, where it is one
    exporting::HandleChoice handle;
    EpochBatches epoch_batches;
    uint64_t drained_at = 0;           // of a drain: once so many were taken
    uint64_t announced = 0;            // so many batches
    uint64_t epoch = 0, consumed = 0;  // as last announced
    bool ended = false;                // finished, failed or detached: nothing more is announced
    bool left = false;                 // its consumer said that it closed it, a tick ago
    SessionFlow flow;
  };

  // A session closed by a living process that still has batches on a GPU.
  struct Leaving {
    uint64_t peer = 0;
    std::unique_ptr<exporting::Delivery> delivery;
  };

  SessionInfo InfoOf(uint64_t id, const Session& session) const;
  SessionPhase PhaseOf(const Session& session, const SessionView& view, bool ready) const;
  std::string InWords(SessionPhase phase, const Feed& feed) const;
  absl::Status Admit(const Opening& opening) const;
  absl::Status AdmitUser(const Opening& opening) const;
  absl::StatusOr<session::Grant> OpenNow(const Opening& opening,
                                         std::optional<exporting::Gpus::Place> place,
                                         base::TimePoint now);
  absl::Status Enter(Session& session, uint64_t id, base::TimePoint now);
  absl::Status MakeDelivery(Session& session, uint64_t id,
                            std::optional<exporting::Gpus::Place> place);
  absl::StatusOr<std::vector<exporting::SlabFacts>> SendSlabs(Session& session);
  absl::Status CheckOwner(uint64_t peer, uint64_t id, const Session& session) const;
  std::unique_ptr<exporting::Delivery> Erase(uint64_t session, base::TimePoint now);
  void Fail(uint64_t session, const absl::Status& why);
  void FailFeed(const Feed& feed, const absl::Status& why);
  uint64_t TakenOf(uint64_t id, const Session& session) const;
  void EndDrained();
  void CloseThoseThatLeft(base::TimePoint now);
  absl::Status SegmentMade(const pool::Segment& segment);
  bool GiveUp(const pool::Segment& segment);
  void ForgetSegment(pool::SegmentId id);

  bool CollectOutcomes(base::TimePoint now);
  bool ListenToConsumers(base::TimePoint now);
  bool ListenTo(uint64_t id, Session& session, base::TimePoint now);
  bool SubmitRows();
  // Who decodes (engine_worker_slots.cc).
  Turn TurnOf(UserId user) const;
  uint32_t WorkerSlotsOfAUser() const;
  void ShareWorkerSlots();
  void NoteDeaths(base::TimePoint now);
  void FailAccount(uint64_t account, const absl::Status& why);
  void SettleCounts();
  void PruneFeeds();
  std::shared_ptr<Feed> FeedOf(FeedId id) const;
  bool CollectRuns();
  bool SubmitRuns();
  bool NoteRows();
  // The longest that a read of the feed's source has failed, or not come back; nothing: all is
  // well.
  struct Stall {
    base::TimePoint since;
    std::string reason;
  };
  std::optional<Stall> StallOf(const Feed& feed, base::TimePoint now) const;

  // Which rows are read next, and what becomes of those that cannot be (engine_reads.cc).
  struct Next {
    RowTask task;
    std::shared_ptr<Feed> feed;  // as a row in flight
  };
  std::optional<Next> NextToRead(FillPath fill_path, Core::MayHave may_have);
  SourceHealth::Reads ReadsOf(const DatasetState& dataset, FillPath fill_path) const;
  void SubmitRow(const Next& next);
  void NoteTrouble(const Feed& feed, const std::string& reason);
  void ReadCameBack(const Feed& feed, const SourceHealth::Read& read);
  void ReadFailed(const RowTrouble& row, const SourceHealth::Read& read, const absl::Status& why);
  void FailFeedOnce(const std::shared_ptr<Feed>& feed, const absl::Status& why);
  void NoteOverdue();
  void LookAtSources();

  bool AnnounceReady();
  void Announce(const Announcement& announcement);
  void FinishIfDone(uint64_t id);

  // Where the time goes (engine_flow.cc).
  void NoteEnded(const workers::Outcome& outcome, const RowTrouble& row);
  void NoteWorkerCpu();
  void NoteUser(const RowTrouble& row, uint64_t rows, base::Duration decode);
  void NoteCarried(const copy::Outcome& outcome, const RowTrouble& run);
  void NoteFull(Session& session, const Announcement& announcement);
  void NoteConsumer(uint64_t id, Session& session, const exporting::Delivery::Heard& heard);
  void LookAround(base::TimePoint now);
  FeedFlow::Look LookAtWorkers(base::Duration since);  // without sessions
  void LookAtSession(const Session& session, const SessionView& view, FeedFlow::Look& look) const;
  void AskForWorkers(const std::map<Feed*, FeedFlow::Look>& feeds, base::TimePoint now);
  FlowFigures FiguresOf(const Feed& feed) const;

  // While a trace is taken (engine_trace.cc).
  struct Tracing {
    TraceLog log;
    TraceRequest request;
    base::TimePoint until;
    Traced done;
  };
  bool Traces(uint32_t user) const;
  void TraceEnded(const workers::Outcome& outcome, const RowTrouble& row);
  void TraceCarried(const copy::Outcome& outcome, const RowTrouble& run);
  void TraceFull(const Session& session, const Announcement& announcement,
                 const FeedFlow::Filled& filled);
  void TraceReleased(uint64_t id, const Session& session, const SessionFlow::Batch& batch);
  void EndTrace(const absl::Status& status);
  void NoteReleased(uint64_t id, Session& session, uint64_t sequence);
  void AddFlow(const Feed& feed, FeedInfo& info) const;
  absl::Status SendSegment(const Session& session, pool::SegmentId segment);

  Options options_;
  SendToPeer send_;
  std::function<void(int, bool)> watch_;
  Core core_;
  pool::Pool pool_;
  Rows rows_;  // before the workers, whose readers use what it keeps alive
  workers::Supervisor workers_;
  WorkerLosses losses_;
  base::TimePoint contended_until_{};  // several users want worker slots, or did a moment ago
  Runs runs_;                          // likewise
  copy::RowCopiers row_copiers_;
  HeldRows held_;
  std::set<std::shared_ptr<DatasetState>> troubled_;  // whose source is not well
  Rate decoding_rate_;                                // samples
  DatasetCounts dataset_counts_;
  UserCounts user_counts_;
  WorkerCpu worker_cpu_;
  // How busy those are whom all feeds share, as of the last ticks.
  struct Load {
    base::TimePoint looked_at{};
    base::Duration read{}, carried{};  // since then
    Recent workers;
  };
  Load load_;
  std::optional<WorkerDemand> demand_;  // nothing: the workers' number is fixed
  base::TimePoint demand_asked_{};
  std::optional<Tracing> tracing_;
  exporting::Gpus gpus_;
  base::TimePoint now_{};  // of the call that is under way
  bool draining_ = false;
  std::map<uint64_t, Session> sessions_;
  std::vector<Leaving> leaving_;
  FeedBook feeds_;
  std::map<uint64_t, std::set<uint32_t>> segments_sent_;  // by peer
  uint64_t next_session_ = 1;
};

}  // namespace penstock::feed
