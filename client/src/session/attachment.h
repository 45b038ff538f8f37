// One open session in shared memory: its control page, its event, and the segments or slabs that
// its batches are in.
//
// **Ownership**: reference-counted: by the session, and by each batch that is out. So memory that a
// batch points at stays mapped, and the daemon learns of the session's end only after the last
// release.
// **Thread safety**: Take and Sleep on the session's thread; Release and the counting on any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "client/src/core/grant.h"
#include "client/src/gpu/lease_owner.h"
#include "client/src/gpu/pins.h"
#include "client/src/session/private_views.h"
#include "client/src/session/slow_stage.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "common/shm/control_page.h"
#include "penstock/penstock.h"

namespace penstock::client {

// What an attachment needs of the connection to the daemon.
//
// **Thread safety**: any thread.
class Link {
 public:
  virtual ~Link() = default;
  // Reads what the daemon sent through the doorway. Never waits.
  //
  // **Errors**: Unavailable if the daemon is gone.
  virtual absl::Status Pump() = 0;
  // Returns a received segment, mapped read-only, shared by the link and every attachment that uses
  // it. Null if none with this id has come yet, or the daemon has withdrawn it, which it does only
  // while none of our batches is in it.
  virtual std::shared_ptr<const posix::Mapping> Segment(uint32_t id) = 0;
  // Private mappings of made batches in it, shared likewise. Null as for Segment.
  virtual std::shared_ptr<PrivateViews> Views(uint32_t id) = 0;
  // The same, registered for copies to GPUs. Null as for Segment.
  virtual absl::StatusOr<std::shared_ptr<const PinnedSegment>> Pin(uint32_t id, Gpu& gpu) = 0;
  // Returns a slab that was opened and verified, shared likewise. Null if there is none with this
  // id.
  virtual std::shared_ptr<const Gpu::Memory> Slab(uint32_t id) = 0;
  // Asks the daemon for its current slabs and opens the new ones.
  virtual absl::Status FetchSlabs(uint64_t session_id, Gpu& gpu) = 0;
  virtual absl::StatusOr<Progress> GetProgress(uint64_t session_id, base::Duration timeout) = 0;
  // Reports samples, at most 4096, that this session's GPU could not decode.
  virtual absl::Status ReportUndecodable(uint64_t session_id, std::span<const uint64_t> samples,
                                         base::Duration timeout) = 0;
  virtual absl::Status CloseSession(uint64_t session_id, base::Duration timeout) = 0;
};

class Attachment final : public LeaseOwner {
 public:
  // Maps and checks the control page. If streams release batches (device delivery), also registers
  // the page with the GPU. `link` is shared with the session's client and its other sessions. `gpu`
  // is null exactly if grant.delivery is kHost. The caller holds the first reference; dropping the
  // last one tells the daemon that the session has ended.
  static absl::StatusOr<Attachment*> Make(const Grant& grant, const posix::Fd& control,
                                          posix::Fd event, std::shared_ptr<Link> link,
                                          std::shared_ptr<Gpu> gpu = nullptr);

  const Grant& grant() const { return grant_; }

  // Number of batches announced so far.
  uint64_t announced() const { return page().announced.load(std::memory_order_acquire); }
  shm::SessionState state() const {
    return static_cast<shm::SessionState>(page().state.load(std::memory_order_acquire));
  }
  // Why the feed failed. **Requires**: state() is kFailed.
  absl::Status Failure() const;

  struct Taken {
    Batch::View view;
    uint64_t consumed = 0;
  };
  // Reads and checks announced batch number `sequence`, and tells the daemon that it was taken.
  //
  // **Errors**: NotFound: its segment or slab has not been received yet; call LookAgain and retry.
  // Internal: the announcement is invalid.
  absl::StatusOr<Taken> Take(uint64_t sequence);
  absl::Status LookAgain();
  // Prepares a segment before its first batch. NotFound if it has not been received.
  absl::Status Know(uint32_t segment) { return FindRegion(segment).status(); }

  void Release(uint64_t sequence) override;
  absl::Status ReleaseBehind(uint64_t sequence, Stream stream) override;
  bool MayLend() const override;
  // Announced batches are complete already.
  absl::Status Prepare(uint64_t, const Stream*) override { return absl::OkStatus(); }

  // How many hosts the daemon wants this trainer to fork that it has not answered for. Remembers
  // the daemon's number, which NoteHostForked answers: one that it raises meanwhile stays open.
  uint32_t HostsWanted() {
    if (!grant_.made) return 0;
    hosts_seen_ = page().hosts_wanted.load(std::memory_order_acquire);
    return hosts_seen_ > hosts_answered_ ? hosts_seen_ - hosts_answered_ : 0;
  }
  void NoteHostForked() {
    hosts_answered_ = hosts_seen_;
    page().hosts_forked.store(hosts_answered_, std::memory_order_release);
  }

  uint32_t wakeup() const { return page().wakeup.load(std::memory_order_seq_cst); }
  // Tells the daemon whether this consumer sleeps; the daemon wakes only those that do.
  void SayAsleep(bool asleep) {
    page().consumer_asleep.store(asleep ? 1 : 0, std::memory_order_seq_cst);
  }
  // Sleeps until the page's `wakeup` differs from this value or the timeout runs out. May wake
  // early. **Requires**: SayAsleep(true).
  void Sleep(uint32_t wakeup, base::Duration timeout);

  const std::shared_ptr<Link>& link() const { return link_; }

  // Asks the daemon what the session is waiting for.
  absl::StatusOr<Progress> AskProgress(base::Duration timeout) const {
    return link_->GetProgress(grant_.session_id, timeout);
  }
  // Reports samples that its GPU could not decode. Any thread.
  absl::Status ReportUndecodable(std::span<const uint64_t> samples, base::Duration timeout) const {
    return link_->ReportUndecodable(grant_.session_id, samples, timeout);
  }
  // Reads what the daemon sent, and unmaps the segments that it withdrew.
  absl::Status Pump();
  // The daemon is gone: End() will not notify it.
  void Abandon() { abandoned_.store(true, std::memory_order_relaxed); }
  // Notifies the daemon now. For a session without batches out; further calls do nothing.
  absl::Status Close();
  bool HasOtherHolders() const { return holders() > 1; }

 private:
  // Memory that slots are in: a segment in host memory, or a slab on the GPU.
  struct Region {
    uint32_t id = 0;
    const std::byte* data = nullptr;
    uint64_t bytes = 0;
    std::shared_ptr<const void> owner;         // shared with the link
    std::shared_ptr<PrivateViews> views = {};  // likewise; made batches only
  };

  class Unwritten;

  Attachment(const Grant& grant, posix::Mapping control, posix::Fd event,
             std::shared_ptr<Link> link, std::shared_ptr<Gpu> gpu);
  ~Attachment() override = default;
  void End() override;
  // False for synthetic rows: their labels and ids come to the host, and nothing else is delivered.
  bool OnDevice() const { return grant_.delivery == Delivery::kDevice && !grant_.synthetic; }
  absl::Status RegisterPage();
  bool AllWordsAreThere() const;
  shm::ControlPage& page() const { return *reinterpret_cast<shm::ControlPage*>(control_.data()); }
  absl::StatusOr<const Region*> FindRegion(uint32_t id);
  absl::StatusOr<Region> FetchRegion(uint32_t id);
  absl::Status ShowMade(const shm::ControlEntry& entry, const Region& region,
                        Batch::View& view) const;
  void Fill(const shm::ControlEntry& entry, const std::byte* slot, Batch::View& view) const;

  const Grant grant_;
  const posix::Mapping control_;
  const posix::Fd event_;
  const std::shared_ptr<Link> link_;
  std::vector<Region> regions_;
  std::unique_ptr<Gpu::Pages> registered_;  // the page, with device delivery
  uint64_t device_words_ = 0;               // device address of page().released
  uint64_t taken_ = 0;
  // The daemon's number of wanted hosts when we looked last, and the one that we answered last.
  uint32_t hosts_seen_ = 0, hosts_answered_ = 0;
  std::atomic<bool> abandoned_{false};
};

using AttachmentHold = LeaseOwnerHold<Attachment>;

}  // namespace penstock::client
