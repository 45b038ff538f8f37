// One open session as shared memory: its control page, its event, the segments or slabs that it was
// told of.
//
// Counted: the session holds it, and each batch that is out. So what a batch points at stays
// mapped, and the daemon learns that the session ends only when the last batch is back. Take,
// Sleep: the session's thread. Release, counting: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "client/src/core/grant.h"
#include "client/src/gpu/lender.h"
#include "client/src/gpu/pins.h"
#include "client/src/session/slow_stage.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "common/shm/control_page.h"
#include "penstock/penstock.h"

namespace penstock::client {

// What an attachment needs of the connection to the daemon. Any thread.
class Link {
 public:
  virtual ~Link() = default;
  // Reads what the daemon sent through the doorway. Never waits. Unavailable when the daemon is
  // gone.
  virtual absl::Status Pump() = 0;
  // A segment that was sent, mapped read-only; null: none of that id came yet, or the daemon gave
  // it up, which it does only while none of our batches is in it.
  // Shared by the link and every attachment that uses it.
  virtual std::shared_ptr<const posix::Mapping> Segment(uint32_t id) = 0;
  // The same, registered for copies to GPUs. Null as Segment.
  virtual absl::StatusOr<std::shared_ptr<const PinnedSegment>> Pin(uint32_t id, Gpu& gpu) = 0;
  // A slab that was opened and proved; null: none of that id. Shared likewise.
  virtual std::shared_ptr<const Gpu::Memory> Slab(uint32_t id) = 0;
  // Asks the daemon for the slabs of now and opens those that are new.
  virtual absl::Status FetchSlabs(uint64_t session_id, Gpu& gpu) = 0;
  // What a session waits for.
  virtual absl::StatusOr<Progress> GetProgress(uint64_t session_id, base::Duration timeout) = 0;
  virtual absl::Status CloseSession(uint64_t session_id, base::Duration timeout) = 0;
};

class Attachment final : public Lender {
 public:
  // Maps and checks the page, and makes it known to the GPU where that releases batches. `link` is
  // shared with the session's client and its other sessions. `gpu`: unless grant.delivery is kHost.
  // The caller has the first count; the last one tells the daemon that the session ended.
  static absl::StatusOr<Attachment*> Make(const Grant& grant, const posix::Fd& control,
                                          posix::Fd event, std::shared_ptr<Link> link,
                                          std::shared_ptr<Gpu> gpu = nullptr);

  const Grant& grant() const { return grant_; }

  // How many batches were announced so far.
  uint64_t announced() const { return page().announced.load(std::memory_order_acquire); }
  shm::SessionState state() const {
    return static_cast<shm::SessionState>(page().state.load(std::memory_order_acquire));
  }
  // Why the feed failed; once state is kFailed.
  absl::Status Failure() const;

  struct Taken {
    Batch::View view;
    uint64_t consumed = 0;
  };
  // Reads and checks announced batch number `sequence` and says that it was taken. NotFound: its
  // segment or slab is not known yet, LookAgain may help; Internal: it cannot be.
  absl::StatusOr<Taken> Take(uint64_t sequence);
  absl::Status LookAgain();
  // Makes a segment ready for use ahead of its first batch. NotFound: it was not sent.
  absl::Status Know(uint32_t segment) { return FindRoom(segment).status(); }

  void Release(uint64_t sequence) override;
  absl::Status ReleaseBehind(uint64_t sequence, Stream stream) override;
  // What is announced is complete.
  absl::Status Prepare(uint64_t, const Stream*) override { return absl::OkStatus(); }

  uint32_t bell() const { return page().bell.load(std::memory_order_seq_cst); }
  // Sleeps until the bell is another one, or the timeout ran out. May wake early.
  void Sleep(uint32_t bell, base::Duration timeout);

  const std::shared_ptr<Link>& link() const { return link_; }

  // Asks the daemon what the session waits for.
  absl::StatusOr<Progress> AskProgress(base::Duration timeout) const {
    return link_->GetProgress(grant_.session_id, timeout);
  }
  // Reads what the daemon sent, and unmaps the segments that it gave up.
  absl::Status Pump();
  // The daemon need not be told of the end: it is gone.
  void Abandon() { abandoned_.store(true, std::memory_order_relaxed); }
  // Tells the daemon now. For a session without batches out; later calls do nothing.
  absl::Status Close();
  bool HasOtherHolders() const { return holders() > 1; }

 private:
  // Where slots are: a segment, in host memory, or a slab, on the GPU.
  struct Room {
    uint32_t id = 0;
    const std::byte* data = nullptr;
    uint64_t bytes = 0;
    std::shared_ptr<const void> owner;  // shared with the link
  };

  class Unwritten;

  Attachment(const Grant& grant, posix::Mapping control, posix::Fd event,
             std::shared_ptr<Link> link, std::shared_ptr<Gpu> gpu);
  ~Attachment() override = default;
  void End() override;
  // Of synthetic rows the daemon delivers labels and ids alone, to the host.
  bool OnDevice() const { return grant_.delivery == Delivery::kDevice && !grant_.synthetic; }
  absl::Status RegisterPage();
  bool AllWordsAreThere() const;
  shm::ControlPage& page() const { return *reinterpret_cast<shm::ControlPage*>(control_.data()); }
  absl::StatusOr<const Room*> FindRoom(uint32_t id);
  absl::StatusOr<Room> AskForRoom(uint32_t id);
  void Fill(const shm::ControlEntry& entry, const std::byte* slot, Batch::View& view) const;

  const Grant grant_;
  const posix::Mapping control_;
  const posix::Fd event_;
  const std::shared_ptr<Link> link_;
  std::vector<Room> rooms_;
  std::unique_ptr<Gpu::Pages> registered_;  // the page, of device delivery
  uint64_t device_words_ = 0;               // the device's address of page().released
  uint64_t taken_ = 0;
  std::atomic<bool> abandoned_{false};
};

using AttachmentHold = LenderHold<Attachment>;

}  // namespace penstock::client
