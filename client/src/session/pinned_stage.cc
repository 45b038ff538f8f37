#include "client/src/session/pinned_stage.h"

#include <algorithm>

#include "common/base/check.h"

namespace penstock::client {

absl::StatusOr<PinnedStage*> PinnedStage::Make(AttachmentHold attachment, std::shared_ptr<Gpu> gpu,
                                               uint32_t depth) {
  LeaseOwnerHold<PinnedStage> made(
      new PinnedStage(std::move(attachment), std::move(gpu), std::max(depth, 2u)));
  PENSTOCK_RETURN_IF_ERROR(made->MakePlaces());
  made->Hold();  // for the caller
  return made.get();
}

PinnedStage::PinnedStage(AttachmentHold attachment, std::shared_ptr<Gpu> gpu, uint32_t depth)
    : LeaseOwner(std::move(gpu)), attachment_(std::move(attachment)), places_(depth) {}

absl::Status PinnedStage::MakePlaces() {
  PENSTOCK_ASSIGN_OR_RETURN(stream_, gpu()->MakeStream());
  PENSTOCK_ASSIGN_OR_RETURN(idle_, gpu()->MakeEvent());
  const Grant& grant = attachment_->grant();
  for (Place& place : places_) {
    PENSTOCK_ASSIGN_OR_RETURN(place.memory, gpu()->Allocate(grant.slot_bytes));
    PENSTOCK_ASSIGN_OR_RETURN(place.copied, gpu()->MakeEvent());
    PENSTOCK_ASSIGN_OR_RETURN(place.read, gpu()->MakeEvent());
    place.labels.resize(grant.batch_size);
    place.ids.resize(grant.batch_size);
  }
  return absl::OkStatus();
}

// Waits for the copy stream, which may still call GiveBack and read segments. If that fails, leaks
// everything. Freeing the places waits for the work that still reads them.
void PinnedStage::End() {
  if (idle_ != nullptr && started_ != 0) {
    absl::Status idle = idle_->Record(stream_->get());
    if (idle.ok()) idle = idle_->Wait();
    if (!idle.ok()) return;
  }
  delete this;
}

bool PinnedStage::HasFreeBuffer() const {
  return std::any_of(places_.begin(), places_.end(), [](const Place& place) {
    return place.sequence.load(std::memory_order_acquire) == 0;
  });
}

PinnedStage::Place& PinnedStage::Find(uint64_t sequence) {
  const auto found = std::find_if(places_.begin(), places_.end(), [&](const Place& place) {
    return place.sequence.load(std::memory_order_acquire) == sequence;
  });
  PENSTOCK_CHECK(found != places_.end());
  return *found;
}

absl::Status PinnedStage::Start(const Attachment::Taken& taken) {
  Place& place = Find(0);
  place.taken = taken;
  Batch::View& view = place.taken.view;
  const std::byte* slot = reinterpret_cast<const std::byte*>(view.images);
  std::copy_n(view.labels, view.shape.rows, place.labels.begin());
  std::copy_n(view.sample_ids, view.shape.rows, place.ids.begin());
  const std::byte* there = place.memory->data();
  view.on_device = true;
  view.images = nullptr;
  view.labels = place.labels.data();
  view.sample_ids = place.ids.data();
  view.device_images = reinterpret_cast<const uint8_t*>(there);
  view.device_labels = reinterpret_cast<const int64_t*>(there + attachment_->grant().labels_offset);
  started_ = view.sequence;
  place.sequence.store(started_, std::memory_order_relaxed);
  place.prepared.reset();
  place.complete = false;
  return Copy(place, slot);
}

absl::Status PinnedStage::Copy(Place& place, const std::byte* slot) {
  const Stream stream = stream_->get();
  if (place.was_read) PENSTOCK_RETURN_IF_ERROR(place.read->MakeWait(stream));
  place.was_read = false;
  PENSTOCK_RETURN_IF_ERROR(
      gpu()->CopyToDevice(place.memory->data(), slot, attachment_->grant().slot_bytes, stream));
  PENSTOCK_RETURN_IF_ERROR(place.copied->Record(stream));
  const uint64_t sequence = place.taken.view.sequence;
  Return& back = returns_[sequence % returns_.size()];
  back = {attachment_.get(), sequence};
  return gpu()->CallWhenReached(stream, &GiveBack, &back);
}

// Runs on a thread of the driver, so it must not call CUDA. The attachment is not destroyed before.
void PinnedStage::GiveBack(void* argument) {
  const Return& back = *static_cast<const Return*>(argument);
  back.attachment->Release(back.sequence);
}

absl::StatusOr<Attachment::Taken> PinnedStage::Pop(const Stream* stream) {
  PENSTOCK_RETURN_IF_ERROR(Prepare(popped_ + 1, stream));
  return Find(++popped_).taken;
}

absl::Status PinnedStage::Prepare(uint64_t sequence, const Stream* stream) {
  Place& place = Find(sequence);
  if (place.complete || (stream != nullptr && place.prepared == *stream)) return absl::OkStatus();
  if (stream == nullptr) {
    PENSTOCK_RETURN_IF_ERROR(place.copied->Wait());
    place.complete = true;
  } else {
    PENSTOCK_RETURN_IF_ERROR(place.copied->MakeWait(*stream));
    place.prepared = *stream;
  }
  return absl::OkStatus();
}

void PinnedStage::Release(uint64_t sequence) {
  Find(sequence).sequence.store(0, std::memory_order_release);
}

absl::Status PinnedStage::ReleaseBehind(uint64_t sequence, Stream stream) {
  Place& place = Find(sequence);
  PENSTOCK_RETURN_IF_ERROR(place.read->Record(stream));
  place.was_read = true;
  place.sequence.store(0, std::memory_order_release);
  return absl::OkStatus();
}

}  // namespace penstock::client
