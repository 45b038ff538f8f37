// Pinned delivery: copies a session's batches from host memory into GPU memory of this process, one
// batch ahead, on a stream of its own, and hands out the copies. To the daemon this is a host
// session whose slots are released as soon as they are copied. Undecoded rows are decoded on the
// way, on a thread of its own.
//
// Invariants: a place has a sequence while its batch is staged or handed out; the copy stream waits
// for the last work that read a place before it overwrites it.
//
// **Ownership**: reference-counted, like an attachment, to which it holds one reference.
// **Thread safety**: Start and Pop on the session's thread; the rest on any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "client/src/gpu/lease_owner.h"
#include "client/src/session/attachment.h"
#include "client/src/session/stage_thread.h"
#include "client/src/session/undecodable_reports.h"
#include "common/shm/control_page.h"

namespace penstock::client {

class PinnedStage final : public LeaseOwner {
 public:
  // `depth` places of the session's slot size, at least two. The caller holds the first reference.
  // `rows`: makes the rows of undecoded ones, shared with the session's other stages; else null.
  static absl::StatusOr<PinnedStage*> Make(AttachmentHold attachment, std::shared_ptr<Gpu> gpu,
                                           uint32_t depth, std::shared_ptr<Gpu::Rows> rows = {});

  bool HasFreeBuffer() const;
  bool makes_rows() const { return thread_ != nullptr; }
  uint32_t depth() const { return static_cast<uint32_t>(places_.size()); }
  bool HasStaged() const { return started_ != popped_; }
  // Whether the next staged batch is made, or will be within `wait`. A copy always is: the stream
  // that uses it waits.
  bool IsMade(base::Duration wait = {}) const {
    return thread_ == nullptr || thread_->AwaitUntil(popped_ + 1, base::Now() + wait);
  }

  // Starts copying a batch that was taken from the attachment; they come in order. **Requires**:
  // HasFreeBuffer().
  absl::Status Start(const Attachment::Taken& taken);

  // Returns the next staged batch. With a stream: that stream waits for the copy. Without: the host
  // waits, and any stream may read the batch. Waits until it is made.
  absl::StatusOr<Attachment::Taken> Pop(const Stream* stream);

  void Release(uint64_t sequence) override;
  absl::Status ReleaseBehind(uint64_t sequence, Stream stream) override;
  absl::Status Prepare(uint64_t sequence, const Stream* stream) override;

 private:
  // Room for one batch in GPU memory. All members but `sequence` belong to the holder of the batch.
  struct Place {
    std::atomic<uint64_t> sequence{0};  // 0: free
    std::unique_ptr<Gpu::Memory> memory;
    std::unique_ptr<Gpu::Event> copied, read;
    bool was_read = false;                // `read` was recorded since the last copy
    std::optional<Stream> prepared = {};  // the stream that already waits for `copied`
    bool complete = false;                // any stream may read it
    std::vector<int64_t> labels;
    std::vector<uint64_t> ids;
    std::vector<gpu_decode::RowOutcome> outcomes;  // of undecoded rows
    Attachment::Taken taken;
  };
  // Argument of the callback by which the copy stream releases a slot. One for each sequence that
  // can be out.
  struct Return {
    Attachment* attachment = nullptr;
    uint64_t sequence = 0;
  };

  PinnedStage(AttachmentHold attachment, std::shared_ptr<Gpu> gpu, uint32_t depth,
              std::shared_ptr<Gpu::Rows> rows);
  ~PinnedStage() override = default;
  void End() override;
  absl::Status MakePlaces();
  Stream stream() const { return rows_ == nullptr ? stream_->get() : rows_->stream(); }
  absl::Status Copy(Place& place, const std::byte* slot);
  // Undecoded rows, on the thread.
  absl::Status MakeRows(Place& place, const std::byte* slot);
  // Each row that could not be decoded becomes a copy of the next row of its batch that could, with
  // that one's id and label. All of them are noted for the daemon.
  absl::Status Replace(Place& place, std::span<const gpu_decode::RowOutcome> outcomes);
  // **Errors**: DataLoss names the first of them, if the session fails on bad samples.
  absl::Status NoteUndecodable(const Place& place,
                               std::span<const gpu_decode::RowOutcome> outcomes);
  absl::Status CopyRow(Place& place, uint32_t from, uint32_t to);
  Place& Find(uint64_t sequence);
  static void GiveBack(void* argument);

  const AttachmentHold attachment_;
  std::vector<Place> places_;
  std::array<Return, shm::kControlCapacity> returns_;
  const std::shared_ptr<Gpu::Rows> rows_;   // null: rows are as they are
  std::unique_ptr<Gpu::OwnStream> stream_;  // null: that of rows_
  std::unique_ptr<Gpu::Event> idle_;
  uint64_t started_ = 0, popped_ = 0;    // sequences, in order
  UndecodableReports reports_;           // used on the thread
  std::unique_ptr<StageThread> thread_;  // null without rows_; declared last, because it uses all
};

}  // namespace penstock::client
