// Opens sessions: checks a request, finds its feed and its memory in pool and GPU, and registers
// the session with core, table and consumer. On failure, nothing of it is left.
//
// **Ownership**: owns the limits; the other parts belong to the engine. **Thread safety**: the
// runner's thread only.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "server/checkpoints/store.h"
#include "server/export/gpus.h"
#include "server/feed/core/core.h"
#include "server/feed/engine/drain.h"
#include "server/feed/engine/feed_book.h"
#include "server/feed/engine/segment_sender.h"
#include "server/feed/engine/statistics.h"
#include "server/feed/fill/made_batches.h"
#include "server/feed/fill/worker_losses.h"
#include "server/feed/sessions/admission.h"
#include "server/feed/sessions/open_request.h"
#include "server/feed/sessions/session_table.h"
#include "server/kept/row_store.h"
#include "server/pool/pool.h"
#include "server/pyworkers/hosts.h"

namespace penstock::feed {

class SessionOpener {
 public:
  // What sessions are made of.
  struct Parts {
    Core& core;
    pool::Pool& pool;
    exporting::Gpus& gpus;
    FeedBook& feeds;
    SessionTable& sessions;
    Statistics& statistics;
    WorkerLosses& losses;
    const Rows& rows;
    const Drain& drain;
    checkpoints::CheckpointStore* checkpoints = nullptr;  // null: none are kept
    kept::KeptRowStore* kept_rows = nullptr;              // null: none are kept
    kept::KeptRowStore* kept_images = nullptr;            // decoded; the same
    // For Python datasets; null: there are none.
    pyworkers::Hosts* hosts = nullptr;
    const MadeBatches* made = nullptr;
  };
  // `status`: not OK if nothing is delivered any more.
  SessionOpener(const Parts& parts, const Admission& admission, SendToPeer send,
                std::function<absl::Status()> status);

  void SetAdmission(const Admission& admission) { admission_ = admission; }
  const Admission& admission() const { return admission_; }

  // Calls `done` exactly once: immediately, or, for device delivery, possibly in a later Collect,
  // after GPU memory was allocated.
  using Opened = std::function<void(absl::StatusOr<session::Grant>)>;
  void Open(const OpenRequest& request, base::TimePoint now, const Opened& done);
  // Answers requests whose memory was allocated. Returns whether anything happened on a GPU.
  bool Collect(base::TimePoint now);
  // The table has closed a session. Python code may give something else when its files have
  // changed, so what it gave is forgotten with the last session that shared it.
  void SessionClosed(uint64_t session, const Feed& feed, base::TimePoint now);
  // The slabs that this session's batches may currently be in. **Errors**: those of
  // SessionTable::FindOf; FailedPrecondition without device delivery.
  absl::StatusOr<std::vector<exporting::SlabFacts>> Slabs(uint64_t peer, uint64_t session);

 private:
  absl::Status MayOpen(const Opening& opening) const;
  Applicant ToApplicant(const Opening& opening) const;
  absl::StatusOr<session::Grant> OpenNow(const Opening& opening,
                                         std::optional<exporting::Gpus::ReservedPlace> place);
  std::shared_ptr<Feed> FeedOf(const Opening& opening);
  std::shared_ptr<Feed> MakeFeed(const Opening& opening, FeedId id);
  absl::Status MakeDelivery(SessionRecord& session, uint64_t id,
                            std::optional<exporting::Gpus::ReservedPlace> place);
  absl::Status GrantHost(const SessionRecord& session, session::Grant& grant);
  absl::Status GrantSlabs(SessionRecord& session, session::Grant& grant);
  absl::Status Enter(const SessionRecord& session, uint64_t id);
  absl::StatusOr<std::vector<exporting::SlabFacts>> SendSlabs(SessionRecord& session);

  const Parts parts_;
  Admission admission_;
  const SendToPeer send_;
  const std::function<absl::Status()> status_;
  base::TimePoint now_{};  // of the current call
};

}  // namespace penstock::feed
