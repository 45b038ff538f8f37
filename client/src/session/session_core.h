// A session's logic: which batch comes next, where it stands, what to do when the daemon is gone.
// Knows nothing of gRPC or the doorway; an Opener does that. One thread at a time, but Stats: any.
//
// What always holds: state() is that after the last batch that Next returned, the same on every
// rank that called Next as often; without an attachment
// the session is closed, failed, at its end, or will open again at state().
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

// What came of opening: the attachment and, of pinned delivery, what copies its batches.
struct Opened {
  AttachmentHold attachment;
  LenderHold<PinnedStage> stage = {};
};

// Opens one session's feed, the first time and again. Same thread as its session.
class Opener {
 public:
  virtual ~Opener() = default;
  // At `state`, for `epochs` more epochs (0: without end). Connects where there is no connection.
  // Again, it opens on the same device as before.
  virtual absl::StatusOr<Opened> Open(const std::optional<State>& state, uint64_t epochs,
                                      base::TimePoint deadline) = 0;
  virtual absl::StatusOr<uint64_t> Quarantined() = 0;
};

class SessionCore {
 public:
  // `start`: where it was opened, if anywhere. `epochs`, `seed`: as asked.
  struct Begin {
    std::optional<State> start;
    uint64_t epochs = 0;
    uint64_t seed = 0;
    bool ranks_differ = false;  // other ranks may have one batch more in an epoch
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
  // `stream`: for which the batch shall be; null: for any.
  Result<Batch> Get(const Stream* stream, std::chrono::milliseconds timeout);
  Result<Batch> NextSlowly(const Stream* stream, std::chrono::milliseconds timeout);
  // Waiting (session_wait.cc).
  enum class News { kNone, kBatch, kEnd, kHoarding };  // kNone: nothing came in time
  Result<Batch> Wait(const Stream* stream, base::TimePoint deadline);
  // An error: the daemon is gone.
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
  Status CheckRoom(std::span<const TensorInto> tensors) const;
  Batch Hand(const Attachment::Taken& taken, Lender* lender);
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

  const uint32_t generation_;  // of forks
  std::unique_ptr<Opener> opener_;
  AttachmentHold attachment_;  // of the session's thread alone
  // Whom Stats asks, and of which session, while another thread may let go of the attachment or
  // replace it; null: there is none.
  base::Mutex asked_mutex_;
  std::shared_ptr<Link> asked_link_ PENSTOCK_GUARDED_BY(asked_mutex_);
  uint64_t asked_session_ PENSTOCK_GUARDED_BY(asked_mutex_) = 0;
  LenderHold<PinnedStage> stage_;   // of pinned delivery
  const std::shared_ptr<Gpu> gpu_;  // null: host memory; shared with what is lent
  Grant grant_;
  uint64_t taken_ = 0;  // of this attachment
  State state_;
  Waits waits_;

  const uint64_t epochs_;
  const uint64_t begin_epoch_;
  const bool ranks_differ_;
  // The epoch in which the attachment began, and how many batches of it came before.
  uint64_t first_epoch_;
  uint64_t steps_before_ = 0;
  std::optional<std::pair<uint64_t, uint64_t>> last_;  // epoch and step of the last batch

  bool epoch_ended_ = false;  // not said yet
  bool data_ended_ = false;
  bool closed_ = false;
  Status failure_;
};

}  // namespace penstock::client
