#include "client/src/session/pinned_stage.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/src/core/places.h"
#include "common/base/check.h"

namespace penstock::client {

absl::StatusOr<PinnedStage*> PinnedStage::Make(AttachmentHold attachment, std::shared_ptr<Gpu> gpu,
                                               uint32_t depth, RowMakers makers) {
  LeaseOwnerHold<PinnedStage> made(
      new PinnedStage(std::move(attachment), std::move(gpu), std::max(depth, 2u)));
  PENSTOCK_RETURN_IF_ERROR(made->StartLanes(std::move(makers)));
  PENSTOCK_RETURN_IF_ERROR(made->MakePlaces());
  made->Hold();  // for the caller
  return made.get();
}

PinnedStage::PinnedStage(AttachmentHold attachment, std::shared_ptr<Gpu> gpu, uint32_t depth)
    : LeaseOwner(std::move(gpu)), attachment_(std::move(attachment)), places_(depth) {}

absl::Status PinnedStage::StartLanes(RowMakers makers) {
  for (std::shared_ptr<Gpu::Rows>& maker : makers) {
    Lane& lane = lanes_.emplace_back(Lane{.maker = std::move(maker)});
    lane.thread = std::make_unique<StageThread>();
    PENSTOCK_RETURN_IF_ERROR(lane.thread->Start());
  }
  return absl::OkStatus();
}

absl::Status PinnedStage::MakePlaces() {
  if (!makes_rows()) {
    PENSTOCK_ASSIGN_OR_RETURN(stream_, gpu()->MakeStream());
  }
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

// Waits for the copies, which may still call GiveBack and read segments. If that fails, leaks
// everything. Freeing the places waits for the work that still reads them.
void PinnedStage::End() {
  for (Lane& lane : lanes_) lane.thread.reset();
  if (idle_ != nullptr && started_ != 0 && !AwaitStreams().ok()) return;
  delete this;
}

absl::Status PinnedStage::AwaitStreams() {
  for (size_t i = 0; i < std::max<size_t>(1, lanes_.size()); ++i) {
    PENSTOCK_RETURN_IF_ERROR(idle_->Record(StreamFor(i)));
    PENSTOCK_RETURN_IF_ERROR(idle_->Wait());
  }
  return absl::OkStatus();
}

Stream PinnedStage::StreamFor(uint64_t sequence) const {
  return makes_rows() ? LaneOf(sequence).maker->stream() : stream_->get();
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
  if (!makes_rows()) return Copy(place, slot);
  LaneOf(started_).thread->Add(
      started_, [this, &place, slot] { return Copy(place, slot); },
      [this] { reports_.Send(*attachment_.get()); });
  return absl::OkStatus();
}

absl::Status PinnedStage::Copy(Place& place, const std::byte* slot) {
  const uint64_t sequence = place.taken.view.sequence;
  const Stream stream = StreamFor(sequence);
  if (place.was_read) PENSTOCK_RETURN_IF_ERROR(place.read->MakeWait(stream));
  place.was_read = false;
  if (makes_rows()) PENSTOCK_RETURN_IF_ERROR(MakeRows(place, slot));
  // What is behind the places: labels, ids and tensors.
  const Grant& grant = attachment_->grant();
  const uint64_t from = makes_rows() ? grant.batch_size * grant.place_bytes : 0;
  PENSTOCK_RETURN_IF_ERROR(gpu()->CopyToDevice(place.memory->data() + from, slot + from,
                                               grant.slot_bytes - from, stream));
  if (!place.outcomes.empty()) PENSTOCK_RETURN_IF_ERROR(Replace(place, place.outcomes));
  PENSTOCK_RETURN_IF_ERROR(place.copied->Record(stream));
  Return& back = returns_[sequence % returns_.size()];
  back = {attachment_.get(), sequence};
  return gpu()->CallWhenReached(stream, &GiveBack, &back);
}

absl::Status PinnedStage::MakeRows(Place& place, const std::byte* slot) {
  const Grant& grant = attachment_->grant();
  const Shape& shape = place.taken.view.shape;
  const std::span<const std::byte> places(slot, shape.rows * grant.place_bytes);
  std::vector<gpu_decode::RowInput> inputs;
  for (uint32_t row = 0; row < shape.rows; ++row) {
    const uint64_t offset = row * grant.place_bytes;
    PENSTOCK_ASSIGN_OR_RETURN(gpu_decode::RowInput input,
                              ReadPlace(places.subspan(offset, grant.place_bytes), shape));
    inputs.push_back(input);
  }
  PENSTOCK_ASSIGN_OR_RETURN(
      place.outcomes, LaneOf(place.taken.view.sequence)
                          .maker->Make({.rows = inputs,
                                        .height = shape.height,
                                        .width = shape.width,
                                        .into = reinterpret_cast<uint8_t*>(place.memory->data())}));
  if (place.outcomes.size() == shape.rows) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("outcomes of ", place.outcomes.size(), " rows, expected ", shape.rows));
}

absl::Status PinnedStage::NoteUndecodable(const Place& place,
                                          std::span<const gpu_decode::RowOutcome> outcomes) {
  absl::Status first;
  for (size_t row = 0; row < outcomes.size(); ++row) {
    if (outcomes[row].result == gpu_decode::RowResult::kOk) continue;
    reports_.Note(place.ids[row]);
    if (first.ok())
      first = absl::DataLossError(absl::StrCat("sample ", place.ids[row], " of '",
                                               attachment_->grant().dataset,
                                               "': the GPU cannot decode it: ", outcomes[row].why,
                                               "; repair the file, or decode on the CPU"));
  }
  return attachment_->grant().fail_on_bad_sample ? first : absl::OkStatus();
}

absl::Status PinnedStage::Replace(Place& place, std::span<const gpu_decode::RowOutcome> outcomes) {
  const auto is_good = [&](uint32_t row) {
    return outcomes[row].result == gpu_decode::RowResult::kOk;
  };
  const auto count = static_cast<uint32_t>(outcomes.size());
  PENSTOCK_RETURN_IF_ERROR(NoteUndecodable(place, outcomes));
  for (uint32_t row = 0; row < count; ++row) {
    if (is_good(row)) continue;
    uint32_t other = (row + 1) % count;
    while (other != row && !is_good(other)) other = (other + 1) % count;
    if (other == row)
      return absl::DataLossError(
          absl::StrCat("no row of a batch can be decoded; the first: sample ", place.ids.front(),
                       ": ", outcomes.front().why));
    PENSTOCK_RETURN_IF_ERROR(CopyRow(place, other, row));
    LaneOf(place.taken.view.sequence).maker->NoteReplaced();
  }
  return absl::OkStatus();
}

absl::Status PinnedStage::CopyRow(Place& place, uint32_t from, uint32_t to) {
  const Grant& grant = attachment_->grant();
  place.labels[to] = place.labels[from];
  place.ids[to] = place.ids[from];
  const auto copy = [&](uint64_t begin, uint64_t stride, uint64_t bytes) {
    std::byte* const at = place.memory->data() + begin;
    return gpu()->CopyOnDevice(at + to * stride, at + from * stride, bytes,
                               StreamFor(place.taken.view.sequence));
  };
  PENSTOCK_RETURN_IF_ERROR(copy(0, grant.row_elements(), grant.row_elements()));
  PENSTOCK_RETURN_IF_ERROR(copy(grant.labels_offset, sizeof(int64_t), sizeof(int64_t)));
  PENSTOCK_RETURN_IF_ERROR(copy(grant.ids_offset, sizeof(uint64_t), sizeof(uint64_t)));
  for (const TensorPlace& tensor : grant.tensors) {
    PENSTOCK_RETURN_IF_ERROR(copy(tensor.offset, tensor.row_stride, tensor.row_bytes));
    if (tensor.field.variable)
      PENSTOCK_RETURN_IF_ERROR(copy(tensor.lengths_offset, sizeof(int32_t), sizeof(int32_t)));
  }
  return absl::OkStatus();
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
  if (makes_rows()) PENSTOCK_RETURN_IF_ERROR(LaneOf(sequence).thread->Await(sequence));
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
  if (makes_rows()) LaneOf(sequence).thread->Forget(sequence);
  Find(sequence).sequence.store(0, std::memory_order_release);
}

absl::Status PinnedStage::ReleaseBehind(uint64_t sequence, Stream stream) {
  Place& place = Find(sequence);
  PENSTOCK_RETURN_IF_ERROR(place.read->Record(stream));
  place.was_read = true;
  if (makes_rows()) LaneOf(sequence).thread->Forget(sequence);
  place.sequence.store(0, std::memory_order_release);
  return absl::OkStatus();
}

}  // namespace penstock::client
