// The open sessions: their owners, shared state and end. If a living process closes a session while
// its batches are on a GPU, the session's delivery stays here until the process has released them.
//
// **Ownership**: owns sessions and deliveries. Core and pool belong to the engine; what a session
// holds of them is released here. **Thread safety**: the runner's thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/export/device_delivery.h"
#include "server/export/gpus.h"
#include "server/feed/core/core.h"
#include "server/feed/core/epoch_rest.h"
#include "server/feed/fill/rows.h"
#include "server/feed/sessions/open_request.h"
#include "server/feed/stats/flow.h"
#include "server/pool/pool.h"

namespace penstock::feed {

struct SessionRecord {
  OpenRequest request;
  uint64_t slot_bytes = 0;  // of the pool, promised for each slot of its window
  uint64_t arena = 0;
  std::shared_ptr<Feed> feed;
  std::unique_ptr<exporting::BatchDelivery> delivery;
  exporting::DeviceDelivery* device = nullptr;  // the same object, if it is a DeviceDelivery
  exporting::HandleChoice handle;
  EpochBatches epoch_batches;
  uint64_t announced = 0;            // number of batches
  uint64_t epoch = 0, consumed = 0;  // of the last announcement
  bool ended = false;                // finished, failed or detached: nothing more is announced
  bool left = false;  // at the last tick, its consumer had reported that it closed it
  SessionFlow flow = {};
};

class SessionTable {
 public:
  using Sessions = std::map<uint64_t, SessionRecord>;
  // Called with the descriptor of a session's event and whether to watch it.
  using Watch = std::function<void(int fd, bool watch)>;

  SessionTable(Core& core, pool::Pool& pool) : core_(core), pool_(pool) {}
  void WatchWith(Watch watch) { watch_ = std::move(watch); }
  // Called for each session that is closed, with its id and its feed.
  using Closed = std::function<void(uint64_t id, const Feed& feed, base::TimePoint now)>;
  void WhenClosed(Closed closed) { closed_ = std::move(closed); }

  // ---- Open sessions ----
  uint64_t NextId() { return next_++; }
  // Adds a session. **Requires**: the core has opened it.
  void Add(uint64_t id, SessionRecord session);
  const Sessions& all() const { return sessions_; }
  SessionRecord* Find(uint64_t id);
  const SessionRecord* Find(uint64_t id) const;
  // **Errors**: NotFound; PermissionDenied if it belongs to another peer.
  absl::StatusOr<SessionRecord*> FindOf(uint64_t peer, uint64_t id);
  absl::StatusOr<const SessionRecord*> FindOf(uint64_t peer, uint64_t id) const;
  // Number of trainers' sessions, without the daemon's own.
  size_t trainers() const;
  struct Held {
    uint64_t sessions = 0, window_bytes = 0;
  };
  Held HeldBy(uint32_t user) const;
  // Whether a process has open sessions or batches on a GPU.
  bool Holds(uint64_t peer) const;
  // The core's view of it; all zero if the core doesn't know it any more.
  SessionView ViewOf(uint64_t id) const {
    return core_.View(SessionId(id)).value_or(SessionView{});
  }
  // Batches that its consumer has taken.
  uint64_t TakenOf(uint64_t id, const SessionRecord& session) const;

  // ---- Messages to consumers ----
  // Ends a session with an error. Its consumer keeps what it holds until it closes or exits.
  void Fail(uint64_t id, const absl::Status& why);
  void End(uint64_t id, const absl::Status& why);  // … without an error
  void FailFeed(const Feed& feed, const absl::Status& why);
  void FailAccount(uint64_t account, const absl::Status& why);  // the feeds of one dataset and user
  void FailDataset(const DatasetState* dataset, const absl::Status& why);
  void FailAll(const absl::Status& why);
  // Tells all consumers that the daemon is ending.
  void AnnounceClosing(const absl::Status& why);
  // Tells the consumer if no batch will follow the announced ones.
  void FinishIfDone(uint64_t id);
  // Slots filled from now on are keyed by the dataset's current quarantine.
  void QuarantineChanged(const DatasetState& dataset);
  // The same, of samples that this user's GPU cannot decode: nobody else's slots are affected.
  void ForWorkersChanged(const DatasetState& dataset, UserId user);
  void SetAsleep(bool asleep);
  bool MustBePolled() const;

  // ---- Closing ----
  // Closing is idempotent. **Errors**: PermissionDenied, as for FindOf.
  absl::Status Close(uint64_t peer, uint64_t id, base::TimePoint now);
  // Closes sessions whose consumers wrote a tick ago that they closed them, because a CloseSession
  // may be lost.
  void CloseThoseThatLeft(base::TimePoint now);
  // A connection is closed, but its process lives.
  void PeerDisconnected(uint64_t peer);
  void PeerGone(uint64_t peer, base::TimePoint now);
  // Drops deliveries that are finished. Returns whether there were any.
  bool DropReleased();

 private:
  struct Leaving {
    uint64_t peer = 0;
    std::unique_ptr<exporting::BatchDelivery> delivery;
  };
  void Finish(uint64_t id, SessionRecord& session, shm::SessionState state,
              const absl::Status& why);
  std::unique_ptr<exporting::BatchDelivery> Erase(uint64_t id, base::TimePoint now);

  Core& core_;
  pool::Pool& pool_;
  Watch watch_ = [](int, bool) {};
  Closed closed_ = [](uint64_t, const Feed&, base::TimePoint) {};
  Sessions sessions_;
  std::vector<Leaving> leaving_;
  uint64_t next_ = 1;
};

}  // namespace penstock::feed
