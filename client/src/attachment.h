// One open session as shared memory: its control page, its event, the segments it was told of.
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

#include "client/src/grant.h"
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
  virtual absl::Status CloseSession(uint64_t session_id, base::Duration timeout) = 0;
};

class Attachment {
 public:
  // Maps and checks the page. `link` is shared with the session's client and its other sessions.
  // The caller has the first count.
  static absl::StatusOr<Attachment*> Make(const Grant& grant, const posix::Fd& control,
                                          posix::Fd event, std::shared_ptr<Link> link);

  void Hold() { holders_.fetch_add(1, std::memory_order_relaxed); }
  void LetGo();  // the last one destroys, and tells the daemon that the session ended

  const Grant& grant() const { return grant_; }
  uint32_t generation() const { return generation_; }  // of forks, when it was made

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
  // segment was not sent; Internal: it cannot be.
  absl::StatusOr<Taken> Take(uint64_t sequence);
  void Release(uint64_t sequence);

  uint32_t bell() const { return page().bell.load(std::memory_order_seq_cst); }
  // Sleeps until the bell is another one, or the timeout ran out. May wake early.
  void Sleep(uint32_t bell, base::Duration timeout);

  // Reads what the daemon sent, and unmaps the segments that it gave up.
  absl::Status Pump();
  // The daemon need not be told of the end: it is gone.
  void Abandon() { abandoned_.store(true, std::memory_order_relaxed); }
  // Tells the daemon now. For a session without batches out; later calls do nothing.
  absl::Status Close();
  bool HasOtherHolders() const { return holders_.load(std::memory_order_acquire) > 1; }

 private:
  Attachment(const Grant& grant, posix::Mapping control, posix::Fd event,
             std::shared_ptr<Link> link);
  ~Attachment();
  shm::ControlPage& page() const { return *reinterpret_cast<shm::ControlPage*>(control_.data()); }
  const posix::Mapping* FindSegment(uint32_t id);

  const Grant grant_;
  const uint32_t generation_;
  const posix::Mapping control_;
  const posix::Fd event_;
  const std::shared_ptr<Link> link_;
  std::vector<std::pair<uint32_t, std::shared_ptr<const posix::Mapping>>> segments_;
  std::atomic<uint32_t> holders_{1};
  std::atomic<bool> abandoned_{false};
};

// One count of an attachment.
class AttachmentHold {
 public:
  AttachmentHold() = default;
  explicit AttachmentHold(Attachment* counted) : attachment_(counted) {}
  AttachmentHold(AttachmentHold&& other) noexcept
      : attachment_(std::exchange(other.attachment_, nullptr)) {}
  AttachmentHold& operator=(AttachmentHold&& other) noexcept {
    std::swap(attachment_, other.attachment_);
    return *this;
  }
  ~AttachmentHold() { Reset(); }

  void Reset() {
    if (attachment_ != nullptr) std::exchange(attachment_, nullptr)->LetGo();
  }
  Attachment* get() const { return attachment_; }
  Attachment* operator->() const { return attachment_; }
  explicit operator bool() const { return attachment_ != nullptr; }

 private:
  Attachment* attachment_ = nullptr;
};

}  // namespace penstock::client
