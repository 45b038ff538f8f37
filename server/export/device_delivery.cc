#include "server/export/device_delivery.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/posix/failpoint.h"

namespace penstock::exporting {
namespace {

// Labels and ids of one batch, rounded up to whole cache lines.
uint64_t NotesBytes(uint32_t rows) {
  const uint64_t bytes = rows * (sizeof(int64_t) + sizeof(uint64_t));
  return (bytes + 63) / 64 * 64;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceDelivery>> DeviceDelivery::Make(
    uint64_t session_id, uint32_t window, uint32_t rows, DeviceReservation reservation) {
  PENSTOCK_ASSIGN_OR_RETURN(
      SessionPage page,
      SessionPage::Make(session_id, window, reservation.depth() * NotesBytes(rows)));
  return std::unique_ptr<DeviceDelivery>(
      new DeviceDelivery(std::move(page), rows, std::move(reservation)));
}

DeviceDelivery::DeviceDelivery(SessionPage page, uint32_t rows, DeviceReservation reservation)
    : page_(std::move(page)), rows_(rows), reservation_(std::move(reservation)) {
  for (uint64_t place = 0; place < reservation_.depth(); ++place)
    free_notes_.push_back(shm::kControlBytes + place * NotesBytes(rows));
}

DeviceDelivery::~DeviceDelivery() {
  DropComing();
  for (const Out& out : out_) reservation_.LetGo(out.on_device);
}

void DeviceDelivery::Announce(const shm::ControlEntry& entry, const FullSlot& slot) {
  coming_.push_back({entry, slot, std::nullopt});
  Advance();
}

BatchDelivery::Heard DeviceDelivery::Listen() {
  HearReleases();
  Advance();
  return {.taken = announced_, .released = std::exchange(copied_, {})};
}

void DeviceDelivery::HearReleases() {
  std::erase_if(out_, [this](const Out& out) {
    if (!page_.Released(out.sequence)) return false;
    TakeBack(out);
    ++released_;
    return true;
  });
}

void DeviceDelivery::TakeBack(const Out& out) {
  reservation_.LetGo(out.on_device);
  free_notes_.push_back(out.notes_offset);
  --on_device_;
}

// The consumer closed the session, so it never takes what it had not taken by then.
void DeviceDelivery::DropUntaken() {
  std::erase_if(out_, [this, taken = page_.taken()](const Out& out) {
    if (out.sequence <= taken) return false;
    TakeBack(out);
    return true;
  });
}

// Requests device slots and copies in the order of the batches.
void DeviceDelivery::Advance() {
  for (Coming& batch : coming_) {
    if (batch.on_device) continue;
    if (on_device_ == reservation_.depth()) break;
    batch.on_device = reservation_.Take(batch.slot);
    if (!batch.on_device) break;
    ++on_device_;
  }
  while (!coming_.empty() && coming_.front().on_device &&
         reservation_.Ready(*coming_.front().on_device))
    AnnounceHead();
  SayFinished();
}

void DeviceDelivery::AnnounceHead() {
  const Coming batch = coming_.front();
  coming_.pop_front();
  const DevicePlace place = reservation_.PlaceOf(*batch.on_device);
  shm::ControlEntry entry = batch.entry;
  entry.segment = place.slab;
  entry.offset = place.offset;
  entry.notes_offset = WriteNotes(batch.slot);
  PENSTOCK_FAILPOINT("gpu.batch_before_announced");
  page_.Announce(entry);
  out_.push_back({entry.sequence, *batch.on_device, entry.notes_offset});
  copied_.push_back(entry.sequence);
  announced_ = entry.sequence;
  PENSTOCK_FAILPOINT("gpu.batch_announced");
}

// Copies labels and ids from the host slot, which is still held. A place is always free, because
// there is one for each device slot.
uint64_t DeviceDelivery::WriteNotes(const FullSlot& slot) {
  const uint64_t offset = free_notes_.back();
  free_notes_.pop_back();
  std::byte* notes = page_.notes() + (offset - shm::kControlBytes);
  std::memcpy(notes, slot.data + slot.labels_offset, rows_ * sizeof(int64_t));
  std::memcpy(notes + rows_ * sizeof(int64_t), slot.data + slot.ids_offset,
              rows_ * sizeof(uint64_t));
  return offset;
}

void DeviceDelivery::Finish(shm::SessionState state, const absl::Status& reason) {
  if (!finish_) finish_.emplace(state, reason);
  // The daemon is stopping, and with it the copier: batches not announced by now never will be.
  if (state == shm::SessionState::kClosing) {
    DropComing();
    finish_.emplace(state, reason);
  }
  SayFinished();
}

void DeviceDelivery::SayFinished() {
  if (!finish_) return;
  if (!coming_.empty() && reservation_.status().ok()) return;
  page_.Finish(finish_->first, finish_->second);
}

// Forgets batches copied only for this session; those still being copied are forgotten when their
// copy completes.
void DeviceDelivery::DropComing() {
  for (const Coming& batch : coming_) {
    if (!batch.on_device) continue;
    reservation_.LetGo(*batch.on_device);
    --on_device_;
  }
  coming_.clear();
}

bool DeviceDelivery::Leave() {
  DropComing();
  DropUntaken();
  HearReleases();
  return out_.empty();
}

DeviceDelivery::CopyProgress DeviceDelivery::progress() const {
  return {.announced = announced_,
          .taken = std::min(page_.taken(), announced_),
          .released = released_,
          .on_device = on_device_};
}

}  // namespace penstock::exporting
