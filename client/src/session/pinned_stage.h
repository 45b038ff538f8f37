// Pinned delivery: copies a session's batches from host memory into GPU memory of this process, one
// batch ahead, on a stream of its own, and lends the copies. The daemon sees a host session whose
// slots come back as soon as they are copied.
//
// Counted, as an attachment is; it has a count of that itself. Start and Pop: the session's thread.
// The rest: any thread. What always holds: a place has a sequence while its batch is staged or
// lent, and the copy stream waits for the last work that read a place before it writes to it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "client/src/gpu/lender.h"
#include "client/src/session/attachment.h"
#include "common/shm/control_page.h"

namespace penstock::client {

class PinnedStage final : public Lender {
 public:
  // `depth` places of the session's slot size, at least two. The caller has the first count.
  static absl::StatusOr<PinnedStage*> Make(AttachmentHold attachment, std::shared_ptr<Gpu> gpu,
                                           uint32_t depth);

  bool HasRoom() const;
  uint32_t depth() const { return static_cast<uint32_t>(places_.size()); }
  bool HasStaged() const { return started_ != popped_; }

  // Begins to copy a batch that was taken of the attachment; they come in order. Only with room.
  absl::Status Start(const Attachment::Taken& taken);

  // The next of them, now on the GPU. With a stream, for that one, which waits for the copy; else
  // for any, and the host waits.
  absl::StatusOr<Attachment::Taken> Pop(const Stream* stream);

  void Release(uint64_t sequence) override;
  absl::Status ReleaseBehind(uint64_t sequence, Stream stream) override;
  absl::Status Prepare(uint64_t sequence, const Stream* stream) override;

 private:
  // One batch in GPU memory. All but `sequence` belongs to whoever has the batch in hand.
  struct Place {
    std::atomic<uint64_t> sequence{0};  // 0: free
    std::unique_ptr<Gpu::Memory> memory;
    std::unique_ptr<Gpu::Event> copied, read;
    bool was_read = false;                // `read` was recorded since the last copy
    std::optional<Stream> prepared = {};  // which stream waits for `copied` already
    bool complete = false;                // all may read it
    std::vector<int64_t> labels;
    std::vector<uint64_t> ids;
    Attachment::Taken taken;
  };
  // What the copy stream gives back. One for each sequence that can be out.
  struct Return {
    Attachment* attachment = nullptr;
    uint64_t sequence = 0;
  };

  PinnedStage(AttachmentHold attachment, std::shared_ptr<Gpu> gpu, uint32_t depth);
  ~PinnedStage() override = default;
  void End() override;
  absl::Status MakePlaces();
  absl::Status Copy(Place& place, const std::byte* slot);
  Place& Find(uint64_t sequence);
  static void GiveBack(void* argument);

  const AttachmentHold attachment_;
  std::vector<Place> places_;
  std::array<Return, shm::kControlCapacity> returns_;
  std::unique_ptr<Gpu::OwnStream> stream_;
  std::unique_ptr<Gpu::Event> idle_;
  uint64_t started_ = 0, popped_ = 0;  // sequences, in order
};

}  // namespace penstock::client
