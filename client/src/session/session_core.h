// A session, as a state machine over its parts. It knows nothing of gRPC or the doorway; an Opener
// does that. States:
//
//   open     has an attachment, and so batches
//   lost     the daemon is gone; the next call opens the session again, at state()
//   at end   all epochs were taken
//   failed   the feed failed, or the daemon said something invalid
//   closed   by Close
//
// The last three are final: Next returns the same error from then on.
//
// Its parts: FeedPosition (where it stands), ReadyBatches (what can be taken, and what is held),
// Await (waiting), Reopen (reconnecting), Waits (statistics), ProgressSource (whom Stats asks).
//
// **Thread safety**: one thread at a time, except Stats (any).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "client/src/core/grant.h"
#include "client/src/session/feed_position.h"
#include "client/src/session/progress_source.h"
#include "client/src/session/ready_batches.h"
#include "client/src/session/waits.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "penstock/penstock.h"

namespace penstock::client {

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
  // See SessionStats::rows_replaced. Any thread.
  virtual uint64_t RowsReplaced() const { return 0; }
  // See SessionStats::decoder_bytes. Any thread.
  virtual uint64_t DecoderBytes() const { return 0; }
};

class SessionCore {
 public:
  using Begin = FeedPosition::Begin;
  SessionCore(std::unique_ptr<Opener> opener, Opened opened, const Begin& begin);

  Result<Batch> Next(std::chrono::milliseconds timeout) { return Get(nullptr, timeout); }
  Result<Batch> Next(Stream stream, std::chrono::milliseconds timeout) {
    return Get(&stream, timeout);
  }
  Result<Batch> NextInto(const Finish& finish, const Into& into, Stream stream,
                         std::chrono::milliseconds timeout);
  Result<bool> WaitReady(std::chrono::milliseconds timeout);
  uint32_t HostsWanted() const;
  Status NoteHostForked();
  const State& state() const { return position_.state(); }
  const Grant& grant() const { return grant_; }
  int device() const { return gpu_ == nullptr ? -1 : gpu_->ordinal(); }
  uint64_t batches_in_epoch() const { return position_.batches_in_epoch(); }
  SessionStats Stats();
  base::Duration Waited() const { return waits_.waited(); }
  Result<uint64_t> Quarantined();
  Status Close();
  bool Forked() const;

 private:
  // `stream`: the one that will use the batch; null: any.
  Result<Batch> Get(const Stream* stream, std::chrono::milliseconds timeout);
  Result<Batch> NextSlowly(const Stream* stream, std::chrono::milliseconds timeout);
  Result<Batch> Wait(const Stream* stream, base::TimePoint deadline);
  Result<Batch> TakeReady(const Stream* stream);
  Status CheckDestinations(std::span<const TensorInto> tensors) const;
  Batch Hand(const ReadyBatches::Taken& taken);
  std::string WhyNothingCame() const;
  absl::Status Reattach(base::TimePoint deadline);
  // Changes of state; each returns the result for the caller.
  Status EndData();
  Status Ended(shm::SessionState state);
  Status Lost(const absl::Status& why);
  Status Fail(const absl::Status& why);
  void LetGo();

  const uint32_t generation_;  // fork generation
  std::unique_ptr<Opener> opener_;
  const std::shared_ptr<Gpu> gpu_;  // null: host memory; shared with the attachment
  Grant grant_;                     // of the last opening
  ReadyBatches batches_;            // not open in the states lost, failed and closed
  FeedPosition position_;
  Waits waits_;
  ProgressSource progress_;

  bool data_ended_ = false;
  bool closed_ = false;
  Status failure_;
};

}  // namespace penstock::client
