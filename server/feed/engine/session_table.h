// The open sessions: whose they are, what they share, how they end. A session that is closed by a
// living process while batches of it are on a GPU leaves its delivery here, until the process has
// released them.
//
// **Ownership**: owns sessions and deliveries. Core and pool are the engine's; what a session holds
// of them is given back here.
// **Thread safety**: the runner's thread only.
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
#include "server/feed/engine/open_request.h"
#include "server/feed/fill/rows.h"
#include "server/feed/stats/flow.h"
#include "server/pool/pool.h"

namespace penstock::feed {

struct SessionRecord {
  OpenRequest request;
  uint64_t slot_bytes = 0;
  uint64_t arena = 0;
  std::shared_ptr<Feed> feed;
  std::unique_ptr<exporting::BatchDelivery> delivery;
  exporting::DeviceDelivery* device = nullptr;  // the same, where it is one
  exporting::HandleChoice handle;
  EpochBatches epoch_batches;
  uint64_t announced = 0;            // so many batches
  uint64_t epoch = 0, consumed = 0;  // as last announced
  bool ended = false;                // finished, failed or detached: nothing more is announced
  bool left = false;                 // its consumer said that it closed it, a tick ago
  SessionFlow flow;
};

class SessionTable {
 public:
  using Sessions = std::map<uint64_t, SessionRecord>;
  // Called with the descriptor of a session's event and whether it is to be watched.
  using Watch = std::function<void(int fd, bool watch)>;

  SessionTable(Core& core, pool::Pool& pool) : core_(core), pool_(pool) {}
  void WatchWith(Watch watch) { watch_ = std::move(watch); }

  // ---- Who is here. ----
  uint64_t NextId() { return next_++; }
  // The session, which the core has opened.
  void Add(uint64_t id, SessionRecord session);
  const Sessions& all() const { return sessions_; }
  SessionRecord* Find(uint64_t id);
  const SessionRecord* Find(uint64_t id) const;
  // **Errors**: NotFound; PermissionDenied when it is another peer's.
  absl::StatusOr<SessionRecord*> FindOf(uint64_t peer, uint64_t id);
  absl::StatusOr<const SessionRecord*> FindOf(uint64_t peer, uint64_t id) const;
  // Of trainers: without the daemon's own.
  size_t trainers() const;
  struct Held {
    uint64_t sessions = 0, window_bytes = 0;
  };
  Held HeldBy(uint32_t user) const;
  // Whether a process has sessions that it did not close, or batches on a GPU.
  bool Holds(uint64_t peer) const;
  // What the core knows of it; all zero once it does not.
  SessionView ViewOf(uint64_t id) const {
    return core_.View(SessionId(id)).value_or(SessionView{});
  }
  // Batches that its consumer took.
  uint64_t TakenOf(uint64_t id, const SessionRecord& session) const;

  // ---- What they are told. ----
  // Ends a session: its consumer keeps what it holds until it closes or is gone.
  void Fail(uint64_t id, const absl::Status& why);
  void End(uint64_t id, const absl::Status& why);  // … in good order
  void FailFeed(const Feed& feed, const absl::Status& why);
  void FailAccount(uint64_t account, const absl::Status& why);  // feeds of one dataset and user
  void FailAll(const absl::Status& why);
  // That the daemon ends.
  void TellAll(const absl::Status& why);
  // Tells the consumer, once it is so, that no batch follows the announced ones.
  void FinishIfDone(uint64_t id);
  // From now on slots are keyed by the dataset's quarantine as it is now.
  void QuarantineChanged(const DatasetState& dataset);
  void SetAsleep(bool asleep);
  bool MustBePolled() const;

  // ---- How they go. ----
  // Closing is idempotent. PermissionDenied as FindOf.
  absl::Status Close(uint64_t peer, uint64_t id, base::TimePoint now);
  // Closes those whose consumers said so on their pages a tick ago: a CloseSession may be lost.
  void CloseThoseThatLeft(base::TimePoint now);
  // A connection is closed, but its process lives.
  void PeerDisconnected(uint64_t peer);
  void PeerGone(uint64_t peer, base::TimePoint now);
  // Whether any delivery that was left behind is done with.
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
  Sessions sessions_;
  std::vector<Leaving> leaving_;
  uint64_t next_ = 1;
};

}  // namespace penstock::feed
