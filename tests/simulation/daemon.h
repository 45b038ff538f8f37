// The daemon without threads, processes and sockets: all of the engine's own parts in the engine's
// order, with simulated decoders instead of the supervisor. Segments and control pages are real
// shared memory, which trainers get as they would through the doorway.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "server/export/gpus.h"
#include "server/feed/core/core.h"
#include "server/feed/engine/deliveries.h"
#include "server/feed/engine/drain.h"
#include "server/feed/engine/feed_book.h"
#include "server/feed/engine/segment_sender.h"
#include "server/feed/engine/session_opener.h"
#include "server/feed/engine/statistics.h"
#include "server/feed/engine/trace_recorder.h"
#include "server/feed/fill/nobody_filler.h"
#include "server/feed/fill/python_filler.h"
#include "server/feed/fill/row_dispatch.h"
#include "server/feed/fill/worker_filler.h"
#include "server/feed/sessions/session_table.h"
#include "server/pool/pool.h"
#include "server/pyworkers/hosts.h"
#include "tests/simulation/decoders.h"
#include "tests/simulation/makers.h"
#include "tests/simulation/promises.h"
#include "tests/simulation/tags.h"

namespace penstock::simulation {

// Whether a trainer holds the row at this offset of a segment.
using IsHeld = std::function<bool(uint32_t segment, uint64_t offset)>;

class Daemon {
 public:
  struct Options {
    uint32_t workers = 4;
    uint64_t pool_bytes = 4 << 20;
    uint64_t segment_bytes = 64 << 10;
  };
  // `is_held`: such rows must not be written.
  Daemon(Stage& stage, Storage& storage, const Options& options, feed::SendToPeer send,
         IsHeld is_held);

  // ---- The runner ----
  bool Pump();
  void Tick();
  // Not OK: it would end, and be started anew.
  absl::Status status() const;

  // ---- Trainers and operators ----
  absl::StatusOr<session::Grant> Open(const feed::OpenRequest& request);
  void Close(uint64_t peer, uint64_t session);
  void PeerGone(uint64_t peer);
  void PeerDisconnected(uint64_t peer);
  void SetDraining(bool draining) { drain_.Set(draining, {}); }
  void SetWorkers(uint32_t count) { decoders_.SetCount(count); }
  void QuarantineChanged(const feed::DatasetState& dataset) {
    sessions_.QuarantineChanged(dataset);
  }
  void QuarantineCleared(const feed::DatasetState& dataset) {
    promises_.Cleared(*dataset.dataset);
    QuarantineChanged(dataset);
  }
  // An orderly end: consumers are told.
  void AnnounceClosing() {
    sessions_.AnnounceClosing(absl::UnavailableError("the daemon is ending"));
  }

  SimulatedDecoders& decoders() { return decoders_; }
  SimulatedMakers& makers() { return makers_; }
  const feed::SessionTable& sessions() const { return sessions_; }
  const feed::Core& core() const { return core_; }
  uint64_t rows_decoded() const { return filler_.rows().decoded(); }

  // Throws unless everything holds that holds after each event.
  void Check() const;
  // … and that nothing is left, once no session is open and no row is on its way.
  void CheckNothingIsLeft() const;
  bool IsIdle() const {
    return filler_.rows().in_flight() == 0 && python_.batches().in_flight() == 0 &&
           dispatch_.held().size() == 0;
  }

 private:
  // Counts the items that are with the decoders, and knows who may write which row.
  class Ledger final : public workers::RowDecoders {
   public:
    explicit Ledger(Daemon& daemon) : daemon_(daemon) {}
    uint32_t count() const override { return daemon_.decoders_.count(); }
    size_t HeadroomFor(uint32_t user, uint32_t most) const override {
      return daemon_.decoders_.HeadroomFor(user, most);
    }
    bool MayReadAside() const override { return daemon_.decoders_.MayReadAside(); }
    void Submit(const workers::WorkItem& item, uint32_t most) override;
    std::vector<workers::SlotHolding> Holdings() const override {
      return daemon_.decoders_.Holdings();
    }
    void GiveWay(uint32_t user) override { daemon_.decoders_.GiveWay(user); }
    void NobodyWaits() override { daemon_.decoders_.NobodyWaits(); }
    void SetContended(bool contended) override { daemon_.decoders_.SetContended(contended); }
    std::vector<workers::Outcome> Collect(TimePoint now) override;
    std::vector<uint64_t> TakeOverdue() override { return daemon_.decoders_.TakeOverdue(); }
    std::vector<workers::WorkerDeath> TakeDeaths() override;
    using RowPlace = std::pair<uint32_t, uint64_t>;  // segment and offset
    std::map<RowPlace, uint64_t> writers_;           // the item that may write there
    std::map<uint64_t, workers::WorkItem> items_;

   private:
    Daemon& daemon_;
  };

  // Counts the batches that are with the makers, and knows who may write which slot.
  class MakerLedger final : public pyworkers::BatchMakers {
   public:
    explicit MakerLedger(Daemon& daemon) : daemon_(daemon) {}
    bool MayMake(pyworkers::DatasetRef dataset, bool in_stream) override {
      return daemon_.makers_.MayMake(dataset, in_stream);
    }
    void Submit(pyworkers::DatasetRef dataset, const pyworkers::MakeItem& item,
                TimePoint now) override;
    void GivenOut(TimePoint now) override { daemon_.makers_.GivenOut(now); }
    pyworkers::MakerNews Collect(TimePoint now) override;
    void GiveRoom(const pyworkers::RoomWanted& wanted, uint64_t granted, TimePoint now) override {
      daemon_.makers_.GiveRoom(wanted, granted, now);
    }
    struct Made {
      pyworkers::DatasetRef dataset = nullptr;
      Ledger::RowPlace place;
    };
    std::map<Ledger::RowPlace, uint64_t> writers_;  // the item that may write there
    std::map<uint64_t, Made> items_;
    std::map<pyworkers::DatasetRef, uint64_t> accounts_;
    std::vector<pyworkers::DatasetRef> failed_;  // in this pass

   private:
    Daemon& daemon_;
  };

  MakerSessions SessionsOf(pyworkers::DatasetRef dataset) const;
  std::byte* SlotOf(const pyworkers::MakeItem& item, uint64_t end) const;
  void WriteRow(const workers::WorkItem& item, int half);
  void CheckSlots() const;
  void CheckFailedDatasets();
  void CheckUser(const feed::FillOutcome& outcome) const;
  std::vector<uint32_t> UnusedSlots(uint64_t arena) const;
  absl::Status SegmentMade(const pool::Segment& segment);
  bool GiveUp(const pool::Segment& segment);
  void Tidy();

  Stage& stage_;
  const IsHeld is_held_;
  feed::Core core_;
  feed::SegmentSender segments_;
  pool::Pool pool_;
  std::map<uint32_t, uint32_t> users_;  // of segments
  Promises promises_;
  SimulatedDecoders decoders_;
  Ledger ledger_;
  feed::WorkerFiller filler_;
  feed::NobodyFiller nobody_, no_copiers_;
  pyworkers::Hosts hosts_{{}, seconds(10)};  // knows the sessions, and has no processes
  SimulatedMakers makers_;
  MakerLedger maker_ledger_;
  feed::PythonFiller python_;
  exporting::Gpus gpus_{{}};
  feed::FeedBook feeds_;
  feed::SessionTable sessions_;
  feed::Statistics statistics_;
  feed::TraceRecorder trace_;
  feed::Drain drain_;
  feed::RowDispatch dispatch_;
  feed::SessionOpener opener_;
  feed::Deliveries deliveries_;
};

}  // namespace penstock::simulation
