// One Python worker process that has entered, from the daemon's side: gives it batches to make and
// notices what became of them. The daemon is not its parent: it watches the process by a pidfd and
// can kill it, but its host reaps it.
//
// Invariants:
// - Each submitted item ends in exactly one result.
// - An item's result is reported only when nobody writes its slot any more: its answer was taken,
//   or its worker's pidfd says that it is gone.
// - A batch whose answer was written before the worker died is made: answers are taken once more
//   after the death is seen.
//
// **Ownership**: one for each process; the caller keeps the pidfd's other owners alive as it likes.
// **Thread safety**: one thread. No call waits.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/pyworkers/channel_endpoint.h"
#include "server/pyworkers/make_item.h"
#include "server/pyworkers/place_state.h"
#include "server/pyworkers/py_worker_view.h"

namespace penstock::pyworkers {

class PyWorker {
 public:
  // `pidfd`: shared with the doorway, which received it. `place`: of which this process is the
  // present start; must outlive the worker. **Requires**: the place is kEntered.
  static absl::StatusOr<std::unique_ptr<PyWorker>> Make(const ChannelEndpoint::Worker& worker,
                                                        std::shared_ptr<const posix::Fd> pidfd,
                                                        PlaceLife& place);

  // Readable once the process is gone, and when Collect may have answers to take.
  const posix::Fd& pidfd() const { return *pidfd_; }
  const posix::Fd& event() const { return channel_.event_to_daemon(); }
  const ChannelEndpoint& channel() const { return channel_; }

  // How many more items it can be given now.
  size_t Headroom() const;
  size_t in_hand() const { return given_.size(); }
  // The oldest of them; unset: it has none.
  std::optional<PyWorkInHand> work_in_hand() const;
  // **Requires**: Headroom() > 0.
  void Submit(const MakeItem& item, base::TimePoint now);
  // Answers a RoomNeed; see ChannelEndpoint::GiveRoom. Does nothing if the item has ended.
  void GiveRoom(uint64_t id, uint64_t granted, base::TimePoint now);

  struct News {
    std::vector<MakeResult> results;
    std::vector<RoomNeed> needs;
  };
  // Takes what is new, at most as much as it has items. Then, if the process is gone, ends the rest
  // of its items, and its place is kDead.
  void Collect(base::TimePoint now, News& news);
  bool is_gone() const { return is_gone_; }

  // Kills it if it was not ready in time or makes no progress. Call it about every 100 ms,
  // after Collect.
  void CheckTimeOuts(base::TimePoint now);
  // The first cause counts. Its items end when it is gone.
  void Kill(KillCause cause);

 private:
  struct Given {
    MakeItem item;
    base::TimePoint given{};
  };
  PyWorker(ChannelEndpoint channel, std::shared_ptr<const posix::Fd> pidfd, PlaceLife& place)
      : channel_(std::move(channel)), pidfd_(std::move(pidfd)), place_(place) {}
  void TakeAnswers(base::TimePoint now, News& news);
  void End(const shm::MakeAnswer& answer, base::TimePoint now, News& news);
  void EndAll(base::TimePoint now, News& news);
  bool IsStruck() const;
  void NoteProgress(base::TimePoint now);

  ChannelEndpoint channel_;
  const std::shared_ptr<const posix::Fd> pidfd_;
  PlaceLife& place_;
  std::deque<Given> given_;  // as channel_.in_hand
  bool is_gone_ = false;
  // When the oldest item got on, and the worker's word about it then.
  base::TimePoint progress_at_{};
  uint64_t progress_ = 0;
  base::TimePoint free_since_{};        // when the last item ended
  base::Duration usual_ = kShortBatch;  // how long its items take, smoothed
};

}  // namespace penstock::pyworkers
