// Pinned delivery: copies a session's batches from host memory into GPU memory of this process, one
// batch ahead, on a stream of its own, and hands out the copies. To the daemon this is a host
// session whose slots are released as soon as they are copied. Undecoded rows are decoded on the
// way, by makers with a thread each, which take batches in turn.
//
// Invariants: a place has a sequence while its batch is staged or handed out; the copy stream waits
// for the last work that read a place before it overwrites it.
//
// **Ownership**: reference-counted, like an attachment, to which it holds one reference.
// **Thread safety**: Start and Pop on the session's thread; the rest on any.
#pragma once

#include <algorithm>
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
  // `makers`: of undecoded rows, shared with the session's other stages; empty: rows are decoded.
  static absl::StatusOr<PinnedStage*> Make(AttachmentHold attachment, std::shared_ptr<Gpu> gpu,
                                           uint32_t depth, RowMakers makers = {});

  bool HasFreeBuffer() const;
  bool makes_rows() const { return !lanes_.empty(); }
  uint32_t depth() const { return static_cast<uint32_t>(places_.size()); }
  bool HasStaged() const { return started_ != popped_; }
  // Whether another batch may be staged: one, or one for each maker.
  bool MayStage() const { return started_ - popped_ < std::max<size_t>(1, lanes_.size()); }
  // Whether the next staged batch is made, or will be within `wait`. A copy always is: the stream
  // that uses it waits.
  bool IsMade(base::Duration wait = {}) const {
    if (!makes_rows()) return true;
    return LaneOf(popped_ + 1).thread->AwaitUntil(popped_ + 1, base::Now() + wait);
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
  // A maker of undecoded rows, with its thread.
  struct Lane {
    std::shared_ptr<Gpu::Rows> maker;
    std::unique_ptr<StageThread> thread = nullptr;
  };
  // Argument of the callback by which the copy stream releases a slot. One for each sequence that
  // can be out.
  struct Return {
    Attachment* attachment = nullptr;
    uint64_t sequence = 0;
  };

  PinnedStage(AttachmentHold attachment, std::shared_ptr<Gpu> gpu, uint32_t depth);
  ~PinnedStage() override = default;
  void End() override;
  absl::Status MakePlaces();
  absl::Status StartLanes(RowMakers makers);
  // **Requires**: makes_rows().
  Lane& LaneOf(uint64_t sequence) { return lanes_[sequence % lanes_.size()]; }
  const Lane& LaneOf(uint64_t sequence) const { return lanes_[sequence % lanes_.size()]; }
  Stream StreamFor(uint64_t sequence) const;
  absl::Status AwaitStreams();
  absl::Status Copy(Place& place, const std::byte* slot);
  // Undecoded rows, on the lane's thread.
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
  std::unique_ptr<Gpu::OwnStream> stream_;  // null: those of the lanes
  std::unique_ptr<Gpu::Event> idle_;
  uint64_t started_ = 0, popped_ = 0;  // sequences, in order
  UndecodableReports reports_;         // used on the lanes' threads
  std::vector<Lane> lanes_;            // declared last, because their threads use all
};

}  // namespace penstock::client
