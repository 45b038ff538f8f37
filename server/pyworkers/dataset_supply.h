// Everything that makes one dataset's batches: its sessions, the tokens of their trainers, the host
// that supplies it now, and hosts that are ending.
//
// **Ownership**: owned by Hosts. **Thread safety**: one thread. No call waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/pyworkers/batch_makers.h"
#include "server/pyworkers/host_state.h"
#include "server/pyworkers/newcomer.h"
#include "server/pyworkers/python_session.h"
#include "server/pyworkers/stream_queue.h"
#include "server/pyworkers/supplier.h"

namespace penstock::pyworkers {

class DatasetSupply {
 public:
  // `surroundings` and `events` must outlive it.
  DatasetSupply(std::shared_ptr<const void> dataset, const Surroundings& surroundings,
                workers::EventSet& events, base::Duration start_timeout)
      : dataset_(std::move(dataset)),
        surroundings_(surroundings),
        events_(events),
        start_timeout_(start_timeout) {}

  DatasetRef dataset() const { return dataset_.get(); }

  // ---- Sessions ----
  // `most_workers`: of all its sessions together. Returns the token of the session's trainer, the
  // same for all sessions of one connection. **Errors**: from getrandom(2); then it is not added.
  absl::StatusOr<HostToken> Open(const PythonSession& session, uint32_t most_workers,
                                 base::TimePoint now);
  bool Has(uint64_t session) const { return sessions_.contains(session); }
  void Close(uint64_t session, base::TimePoint now);
  // How many workers its sessions need.
  uint32_t workers() const { return sessions_.empty() ? 0 : workers_; }
  base::Duration timeout() const { return timeout_; }

  // ---- Makers ----
  bool Knows(const HostToken& token) const { return TrainerOf(token).has_value(); }
  // Its token is known. **Errors**: it must be sent away.
  absl::Status Arrived(const Newcomer& newcomer, uint64_t number, base::TimePoint now);
  // A connection was closed: of a trainer, a host or a worker.
  void PeerLeft(uint64_t peer);

  // ---- Batches ----
  bool MayMake(bool in_stream);
  void Submit(const MakeItem& item, base::TimePoint now);
  void GivenOut(base::TimePoint now);
  void GiveRoom(const RoomWanted& wanted, uint64_t granted, base::TimePoint now);
  void Collect(base::TimePoint now, MakerNews& news);
  void Tick(base::TimePoint now);

  // What became of batches so far. `ready`: workers that can make some now.
  MakerTotals Totals(base::TimePoint now) const;
  uint32_t ready() const { return supplier_ == nullptr ? 0 : supplier_->ready(); }
  bool has_host() const { return supplier_ != nullptr; }
  // Of its present host.
  void View(std::vector<PyWorkerView>& views) const;
  HostState state() const { return life_.state(); }
  const Supplier* supplier() const { return supplier_.get(); }
  // No session, host or item is left.
  bool IsOver() const;

 private:
  struct Member {
    PythonSession session;
    uint32_t hosts_wanted = 0;
  };
  std::optional<uint64_t> TrainerOf(const HostToken& token) const;
  absl::Status HostArrived(const Newcomer& newcomer, uint64_t number, base::TimePoint now);
  void Ask(base::TimePoint now);
  std::map<uint64_t, Member>::iterator WhomToAsk();
  void TakeBackStreams(base::TimePoint now);
  void GiveOutStreams(base::TimePoint now);
  void NoteEnd(base::TimePoint now);
  void Count(const MakerNews& news, size_t results, size_t deaths);
  void NoteFailure(base::TimePoint now, MakerNews& news);
  void NoteUselessWorkers(size_t results, size_t deaths, base::TimePoint now, MakerNews& news);

  const std::shared_ptr<const void> dataset_;
  const Surroundings& surroundings_;
  workers::EventSet& events_;
  const base::Duration start_timeout_;

  std::map<uint64_t, Member> sessions_;
  std::map<uint64_t, HostToken> tokens_;  // by trainers' connections
  uint32_t workers_ = 0;
  base::Duration timeout_{};
  uint64_t account_ = 0;
  std::string called_;

  HostLife life_;
  std::unique_ptr<Supplier> supplier_;                // set while kSupplying or kEnding
  std::vector<std::unique_ptr<Supplier>> departing_;  // gone, but not over
  bool sent_away_ = false;                            // the present supplier was
  StreamQueue streams_;
  MakerTotals totals_;            // without what is in hand
  std::vector<MakeResult> lost_;  // of streams, not yet collected
  std::string trouble_;           // why the last host ended
  uint32_t useless_ = 0;          // workers in a row that ended before they began a batch
  bool has_failed_ = false;       // reported
};

}  // namespace penstock::pyworkers
