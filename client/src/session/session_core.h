// A session's logic: which batch comes next, where the session stands, and what to do when the
// daemon is gone. It knows nothing of gRPC or the doorway; an Opener does that.
//
// Invariants: state() is the position after the last batch that Next returned, the same on every
// rank that called Next equally often. Without an attachment the session is closed, failed, at its
// end, or will reopen at state().
//
// **Thread safety**: one thread at a time, except Stats (any).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "client/src/core/grant.h"
#include "client/src/session/attachment.h"
#include "client/src/session/pinned_stage.h"
#include "client/src/session/waits.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "penstock/penstock.h"

namespace penstock::client {

// A newly opened session: the attachment and, for pinned delivery, the stage that copies its
// batches.
struct Opened {
  AttachmentHold attachment;
  LeaseOwnerHold<PinnedStage> stage = {};
};

// Opens one session's feed, at first and after each reconnect.
//
// **Thread safety**: the session's thread.
class Opener {
 public:
  virtual ~Opener() = default;
  // Opens at `state`, for `epochs` further epochs (0: no limit). Connects if necessary. Later calls
  // open on the same device as the first.
  virtual absl::StatusOr<Opened> Open(const std::optional<State>& state, uint64_t epochs,
                                      base::TimePoint deadline) = 0;
  virtual absl::StatusOr<uint64_t> Quarantined() = 0;
};

class SessionCore {
 public:
  // `start`: the state that it was opened at, if any. `epochs`, `seed`: as requested.
  struct Begin {
    std::optional<State> start;
    uint64_t epochs = 0;
    uint64_t seed = 0;
    bool ranks_differ = false;  // another rank may have one more batch in an epoch
  };
  SessionCore(std::unique_ptr<Opener> opener, Opened opened, const Begin& begin);

  Result<Batch> Next(std::chrono::milliseconds timeout) { return Get(nullptr, timeout); }
  Result<Batch> Next(Stream stream, std::chrono::milliseconds timeout) {
    return Get(&stream, timeout);
  }
  Result<Batch> NextInto(const Finish& finish, const Into& into, Stream stream,
                         std::chrono::milliseconds timeout);
  Result<bool> WaitReady(std::chrono::milliseconds timeout);
  const State& state() const { return state_; }
  const Grant& grant() const { return grant_; }
  int device() const { return gpu_ == nullptr ? -1 : gpu_->ordinal(); }
  uint64_t batches_in_epoch() const;
  SessionStats Stats();
  Result<uint64_t> Quarantined();
  Status Close();
  bool Forked() const;

 private:
  // `stream`: the one that will use the batch; null: any.
  Result<Batch> Get(const Stream* stream, std::chrono::milliseconds timeout);
  Result<Batch> NextSlowly(const Stream* stream, std::chrono::milliseconds timeout);
  // Waiting; implemented in session_wait.cc.
  enum class News { kNone, kBatch, kEnd, kHoarding };  // kNone: nothing came in time
  Result<Batch> Wait(const Stream* stream, base::TimePoint deadline);
  // An error means that the daemon is gone.
  absl::StatusOr<News> Await(base::TimePoint deadline);
  absl::StatusOr<News> AwaitNews(base::TimePoint deadline);
  std::optional<News> Look();
  uint32_t Held() const;
  uint32_t MostHeld() const;
  bool HoardsForTooLong();
  Status Hoarding() const;
  bool SomethingIsReady() const;
  Result<Batch> TakeReady(const Stream* stream);
  Result<Batch> TakeStaged(const Stream* stream);
  absl::StatusOr<Attachment::Taken> Fetch();
  absl::Status StageOne();
  Status CheckDestinations(std::span<const TensorInto> tensors) const;
  Batch Hand(const Attachment::Taken& taken, LeaseOwner* lease_owner);
  Status Unfetched(const absl::Status& why);
  std::string WhyNothingCame() const;
  static base::TimePoint DeadlineAfter(std::chrono::milliseconds timeout);
  void LetGo();
  void ShowAttachment();
  Status Ended(shm::SessionState state);
  Status Lost(const absl::Status& why);
  Status Fail(const absl::Status& why);
  absl::Status Reattach(base::TimePoint deadline);
  absl::Status TryReattach(base::TimePoint deadline);
  bool AllEpochsDone() const;
  void GoToNextEpoch();

  const uint32_t generation_;  // fork generation
  std::unique_ptr<Opener> opener_;
  AttachmentHold attachment_;  // used on the session's thread only
  // The link and the session that Stats asks about. Separate, because another thread may drop or
  // replace the attachment meanwhile. Null: there is no attachment.
  base::Mutex asked_mutex_;
  std::shared_ptr<Link> asked_link_ PENSTOCK_GUARDED_BY(asked_mutex_);
  uint64_t asked_session_ PENSTOCK_GUARDED_BY(asked_mutex_) = 0;
  LeaseOwnerHold<PinnedStage> stage_;  // pinned delivery only
  const std::shared_ptr<Gpu> gpu_;     // null: host memory; shared with the attachment
  Grant grant_;
  uint64_t taken_ = 0;  // sequence of the last batch taken from this attachment
  State state_;
  Waits waits_;

  const uint64_t epochs_;
  const uint64_t begin_epoch_;
  const bool ranks_differ_;
  // The epoch in which the attachment began, and the number of its batches before that.
  uint64_t first_epoch_;
  uint64_t steps_before_ = 0;
  std::optional<std::pair<uint64_t, uint64_t>> last_;  // epoch and step of the last batch

  bool epoch_ended_ = false;  // not reported yet
  bool data_ended_ = false;
  bool closed_ = false;
  Status failure_;
};

}  // namespace penstock::client
