// A host with its connections: the host's own, and those of its Python workers. Sends them what
// they need, and completes the results of their batches with how a worker ended.
//
// **Ownership**: one for each host process, owned by the supply of its dataset. **Thread safety**:
// one thread. No call waits.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/pyworkers/batch_makers.h"
#include "server/pyworkers/host.h"
#include "server/pyworkers/newcomer.h"
#include "server/pyworkers/python_session.h"
#include "server/pyworkers/stream_queue.h"

namespace penstock::pyworkers {

class Supplier {
 public:
  // `number`: never used again. `trainer`: the connection of the trainer that forked the host.
  // Sends the host its page, and asks it for `workers` workers. `surroundings` must outlive it.
  static absl::StatusOr<std::unique_ptr<Supplier>> Make(uint64_t number, const Newcomer& host,
                                                        uint64_t trainer, uint32_t workers,
                                                        const Surroundings& surroundings,
                                                        workers::EventSet& events,
                                                        base::Duration start_timeout,
                                                        base::TimePoint now);

  uint64_t number() const { return number_; }
  uint64_t peer() const { return peer_; }
  uint64_t trainer() const { return trainer_; }
  const HostToken& token() const { return token_; }
  const Host& host() const { return *host_; }
  // Nothing more can be given to it.
  bool is_gone() const { return host_->is_gone() || !host_->failure().ok(); }
  // Neither it nor its workers are left, and all results were collected.
  bool is_over() const { return host_->is_over() && in_hand_.empty(); }
  // Why it is gone, as far as known, with how its last worker ended. Printable.
  std::string WhyGone() const;

  void SetWorkers(uint32_t count, base::TimePoint now);
  // A Python worker entered with this host's token. **Errors**: it must be sent away.
  absl::Status WorkerEntered(const Newcomer& worker);
  // A connection was closed. Returns whether it was one of this host's.
  bool PeerLeft(uint64_t peer);
  // Closes its connection, so that it ends.
  void SendAway();

  size_t Headroom() const { return host_->Headroom(); }
  size_t HeadroomAt(uint32_t place) const { return host_->HeadroomAt(place); }
  MakerName ProcessAt(uint32_t place) const { return {number_, host_->StartAt(place)}; }
  // Gives the item to the worker with the least to do. **Requires**: Headroom() > 0.
  void Submit(const MakeItem& item, base::TimePoint now) { Submit(host_->Idlest(), item, now); }
  // **Requires**: HeadroomAt(place) > 0.
  void Submit(uint32_t place, const MakeItem& item, base::TimePoint now);
  void GiveRoom(uint32_t place, uint64_t id, uint64_t granted, base::TimePoint now);

  // Adds to `news`. Batches over which a worker died end once its host has said how it died, at
  // most kAwaitWords later.
  void Collect(base::TimePoint now, MakerNews& news);
  void Tick(base::TimePoint now) { host_->Tick(now); }
  // Adds a view of each of its workers, without the dataset.
  void View(std::vector<PyWorkerView>& views) const;
  uint32_t ready() const;  // workers
  // For how long its workers have had what they make and what has not ended yet, together.
  base::Duration InHand(base::TimePoint now) const;
  // How the last worker at a place ended; empty: none did.
  const std::string& last_death(uint32_t place) const;

 private:
  struct Given {
    uint32_t place = 0;
    bool in_stream = false;
  };
  Supplier(uint64_t number, const Newcomer& host, uint64_t trainer,
           const Surroundings& surroundings)
      : number_(number),
        peer_(host.peer),
        pid_(host.pid),
        trainer_(trainer),
        token_(host.token),
        surroundings_(surroundings) {}
  absl::Status Send(uint64_t peer, shm::DoorwayKind kind, uint64_t bytes,
                    const std::vector<int>& fds) const;
  absl::Status SendChannel(uint64_t peer, const ChannelEndpoint& channel) const;
  absl::Status SendSegment(const ChannelEndpoint::Worker& to, uint32_t segment) const;
  void End(MakeResult result, MakerNews& news);
  void Report(MakeResult result, const PyWorkerDeath& death, MakerNews& news);
  void NoteDeath(const PyWorkerDeath& death, MakerNews& news);

  // What is only for display.
  struct Shown {
    pid_t pid = 0;
    uint64_t batches = 0;
  };
  const uint64_t number_, peer_;
  const pid_t pid_;
  const uint64_t trainer_;
  const HostToken token_;
  const Surroundings& surroundings_;
  std::unique_ptr<Host> host_;
  std::map<uint64_t, ChannelEndpoint::Worker> workers_;  // by their connections
  std::map<uint64_t, Given> in_hand_;                    // by item; until it is reported
  // Ended by the death of the worker at that place, whose words are still to come.
  std::map<uint32_t, std::vector<MakeResult>> dead_;
  std::vector<MakeResult> unsent_;  // their workers could not be sent the segment
  std::map<uint32_t, std::string> last_deaths_;
  std::map<uint32_t, Shown> shown_;  // by place
};

}  // namespace penstock::pyworkers
