// The batches of one open session on their way to the trainer: announced by the daemon, taken, with
// pinned delivery copied to the GPU one batch ahead, and held by the trainer.
//
// **Ownership**: the session owns it, and it has the session's references to the attachment and the
// stage. Batches that are held keep both alive.
// **Thread safety**: one thread at a time.
#pragma once

#include <cstdint>
#include <utility>

#include "client/src/session/attachment.h"
#include "client/src/session/pinned_stage.h"
#include "common/base/status.h"

namespace penstock::client {

// A newly opened session: the attachment and, for pinned delivery, the stage that copies its
// batches.
struct Opened {
  AttachmentHold attachment;
  LeaseOwnerHold<PinnedStage> stage = {};
};

class ReadyBatches {
 public:
  explicit ReadyBatches(Opened opened)
      : attachment_(std::move(opened.attachment)), stage_(std::move(opened.stage)) {}
  ReadyBatches(ReadyBatches&&) = default;
  ReadyBatches& operator=(ReadyBatches&&) = default;

  // False once it is closed. Then nothing else may be called until a new object replaces it.
  bool open() const { return static_cast<bool>(attachment_); }
  Attachment& attachment() const { return *attachment_.get(); }

  // Whether Take can return a batch, or an error, at once.
  bool HasBatch() const;
  // Whether a batch is on its way from host memory, and Take would wait for it.
  bool IsMaking() const { return stage_ && stage_->HasStaged() && !stage_->IsMade(); }
  // Waits for it, for so long at most.
  void AwaitMade(base::Duration most) const { (void)stage_->IsMade(most); }
  // Whether every batch that the daemon announced has been taken.
  bool AllTaken() const { return attachment_->announced() == taken_; }

  struct Taken {
    Attachment::Taken batch;
    LeaseOwner* lease_owner = nullptr;  // to be held for the batch
  };
  // Takes the next batch, for use on `stream`; null: on any. `epoch`: where the session stands.
  //
  // **Requires**: HasBatch(). **Errors**: Unavailable: the daemon is gone. Others: the daemon
  // announced something invalid, or a copy failed.
  absl::StatusOr<Taken> Take(const Stream* stream, uint64_t epoch);
  // With pinned delivery: starts copying the next batch, or as many as the stage makes at once,
  // while the trainer has the one before it. If an announcement is invalid, the Take for that batch
  // reports it.
  absl::Status CopyAhead(uint64_t epoch);
  // The same where the library makes the rows; nothing otherwise.
  void MakeAhead(uint64_t epoch) {
    if (stage_ && stage_->makes_rows()) (void)CopyAhead(epoch);  // HasBatch knows of an error
  }

  // Batches that the trainer holds, and how many it may hold. A batch that a stream will release
  // does not count.
  uint32_t Held() const;
  uint32_t MostHeld() const;
  // Whether the next batch must wait for the trainer to release one.
  bool IsFull() const { return stage_ && !stage_->HasFreeBuffer(); }
  // Whether the prefetch window limits MostHeld, not the room in GPU memory.
  bool WindowIsLimit() const;

  // Lets go of everything but the batches that are held.
  void Close() {
    stage_.Reset();
    attachment_.Reset();
  }
  // The same for the copies alone.
  void CloseStage() { stage_.Reset(); }

 private:
  absl::StatusOr<Attachment::Taken> Fetch(uint64_t epoch);
  absl::Status StartCopy(uint64_t epoch);
  bool CanStart() const;
  bool OnHost() const { return attachment_->gpu() == nullptr; }

  AttachmentHold attachment_;
  LeaseOwnerHold<PinnedStage> stage_;  // pinned delivery only
  uint64_t taken_ = 0;                 // number of the last batch taken from the attachment
  bool is_invalid_ = false;            // the announcement that CopyAhead met
};

}  // namespace penstock::client
