// One host process that has entered, and its Python workers, from the daemon's side: has them
// started at its places, gives them batches, and notices what became of both.
//
// When the host is gone, its workers are killed, and the batches that they had are lost without a
// strike. The object is over when they are gone too.
//
// **Ownership**: one for each host process. **Thread safety**: one thread. No call waits.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/shm/python_host.h"
#include "server/pyworkers/host_page.h"
#include "server/pyworkers/make_item.h"
#include "server/pyworkers/place_state.h"
#include "server/pyworkers/py_worker.h"
#include "server/pyworkers/py_worker_view.h"
#include "server/workers/event_set.h"

namespace penstock::pyworkers {

// A worker of a host that is alive has ended.
struct PyWorkerDeath {
  uint32_t place = 0;
  pid_t pid = 0;           // in its host's PID namespace; 0: the host did not say
  std::string how = {};    // "killed by signal 9 (Killed)"
  std::string words = {};  // what it wrote at its end, printable
  bool was_ready = false;
};

class Host {
 public:
  // `pidfd`: shared with the doorway, which received it. `events` gets the descriptors after which
  // Collect has something to do, and must outlive the host. `start_timeout`: as PlaceLife.
  static absl::StatusOr<std::unique_ptr<Host>> Make(std::shared_ptr<const posix::Fd> pidfd,
                                                    workers::EventSet& events,
                                                    base::Duration start_timeout);

  // What it gets through the doorway.
  const HostPage& page() const { return page_; }

  // How many workers it should have, at most kMaxPythonWorkers. Tick has them started. If the
  // number decreases, workers that live stay, and are not replaced.
  void SetWorkers(uint32_t count);

  // A Python worker of this host has entered. Returns the channel that it must be sent.
  //
  // **Errors**: FailedPrecondition if the place did not ask for this start, or no longer; its
  // connection must be closed.
  absl::StatusOr<const ChannelEndpoint*> WorkerEntered(
      const ChannelEndpoint::Worker& worker, const std::shared_ptr<const posix::Fd>& pidfd);
  // It closed its connection, so it cannot be sent segments any more: kills it.
  void WorkerLeft(const ChannelEndpoint::Worker& worker);
  // The host itself closed its connection, or must be sent away for this reason: kills it unless it
  // ends within kDismissedHostEndsWithin.
  void Dismiss(absl::Status why);
  // The last start that was asked for at a place; 0: none yet.
  uint32_t StartAt(uint32_t place) const;

  // Adds a view of each place that was used, as far as the host knows.
  void View(std::vector<PyWorkerView>& views) const;

  // How many more items its workers can be given now, together and at one place.
  size_t Headroom() const;
  size_t HeadroomAt(uint32_t place) const;
  // The place whose worker has the least to do. **Requires**: Headroom() > 0.
  uint32_t Idlest() const;
  // **Requires**: HeadroomAt(place) > 0.
  void Submit(uint32_t place, const MakeItem& item, base::TimePoint now);
  // Answers a RoomNeed of the worker at `place`. Does nothing if the item has ended.
  void GiveRoom(uint32_t place, uint64_t id, uint64_t granted, base::TimePoint now);

  struct News {
    std::vector<MakeResult> results;
    // With the places of the workers that wait.
    std::vector<std::pair<uint32_t, RoomNeed>> needs;
    std::vector<PyWorkerDeath> deaths;
  };
  void Collect(base::TimePoint now, News& news);
  // Kills workers that take too long, and has others started. Call it about every 100 ms, after
  // Collect.
  void Tick(base::TimePoint now);

  // Whether one of its workers was ready.
  bool has_worked() const { return has_worked_; }
  // Its process is gone, or it must not go on; then the reason is not OK. Nothing is given to it.
  bool is_gone() const { return is_gone_; }
  const absl::Status& failure() const { return failure_; }
  // Neither it nor any of its workers is left that has entered.
  bool is_over() const;

 private:
  struct WorkerPlace {
    explicit WorkerPlace(base::Duration start_timeout) : life(start_timeout) {}
    PlaceLife life;
    std::unique_ptr<PyWorker> worker = {};  // from its entry until the place is cleared
    // Of the worker while it lives; declared after it, so that they end first.
    workers::EventSet::Watch death_watch = {}, answer_watch = {};
    bool was_ready = false;
  };
  Host(HostPage page, std::shared_ptr<const posix::Fd> pidfd, workers::EventSet& events,
       base::Duration start_timeout)
      : page_(std::move(page)),
        pidfd_(std::move(pidfd)),
        events_(events),
        start_timeout_(start_timeout) {}
  bool may_go_on() const { return !is_gone_ && failure_.ok(); }
  absl::Status MakeWorker(const ChannelEndpoint::Worker& worker,
                          const std::shared_ptr<const posix::Fd>& pidfd, WorkerPlace& place);
  void NoteItsEnd();
  void EndDismissed(base::TimePoint now);
  void Fail(absl::Status why);
  void CollectFrom(uint32_t number, base::TimePoint now, News& news);
  void CollectWork(uint32_t number, base::TimePoint now, News& news);
  void Clear(uint32_t number, const PlaceReport& report, base::TimePoint now, News& news);

  HostPage page_;
  const std::shared_ptr<const posix::Fd> pidfd_;
  workers::EventSet& events_;
  const base::Duration start_timeout_;
  workers::EventSet::Watch death_watch_, page_watch_;  // the host's
  std::deque<WorkerPlace> places_;                     // grows only, so that they stay in place
  uint32_t wanted_ = 0;
  bool has_worked_ = false, is_gone_ = false, is_dismissed_ = false;
  std::optional<base::TimePoint> kill_at_;  // since a tick after it was dismissed
  absl::Status failure_;
};

}  // namespace penstock::pyworkers
