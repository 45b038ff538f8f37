#include "client/src/session/attachment.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/src/core/fork.h"
#include "common/base/mutex.h"
#include "common/posix/futex.h"
#include "common/shm/python_slot.h"

namespace penstock::client {
namespace {

// How long the end of a session waits for a daemon that does not answer.
constexpr base::Duration kCloseTimeout = std::chrono::milliseconds(500);

// How long the last holder of a device session waits for releases that the GPU has yet to write,
// and how often it looks.
constexpr base::Duration kWordsTimeout = std::chrono::milliseconds(400);
constexpr base::Duration kWordsPause = std::chrono::microseconds(50);

constexpr size_t kPage = 4096;

absl::Status CheckPage(const shm::ControlPage& page, const Grant& grant) {
  if (page.magic != shm::kControlMagic || page.version != shm::kControlVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the session's control page: unsupported version: got ", page.version, ", expected ",
        shm::kControlVersion, "; install the same version of Penstock for daemon and client"));
  }
  if (page.capacity != shm::kControlCapacity || page.session_id != grant.session_id) {
    return absl::InternalError(absl::StrCat(
        "the session's control page: got session ", page.session_id, " with ", page.capacity,
        " entries, expected session ", grant.session_id, " with ", shm::kControlCapacity));
  }
  return absl::OkStatus();
}

}  // namespace

// Attachments that ended while streams still had releases to write, and work to run before that
// which reads the slabs. They stay mapped until that is done; the next attachment that begins or
// ends checks. Global, because no owner is left.
class Attachment::Unwritten {
 public:
  static Unwritten& Get() {
    static Unwritten& unwritten = *new Unwritten;  // never destroyed: streams outlive main
    return unwritten;
  }
  void Add(Attachment* ended) {
    const base::MutexLock lock(mutex_);
    ended_.push_back(ended);
  }
  void Sweep() {
    std::vector<Attachment*> done;
    {
      const base::MutexLock lock(mutex_);
      const auto first = std::partition(ended_.begin(), ended_.end(), [](const Attachment* ended) {
        return ForkedSince(ended->generation()) || !ended->AllWordsAreThere();
      });
      done.assign(first, ended_.end());
      ended_.erase(first, ended_.end());
    }
    for (const Attachment* attachment : done) delete attachment;
  }

 private:
  base::Mutex mutex_;
  std::vector<Attachment*> ended_ PENSTOCK_GUARDED_BY(mutex_);
};

absl::StatusOr<Attachment*> Attachment::Make(const Grant& grant, const posix::Fd& control,
                                             posix::Fd event, std::shared_ptr<Link> link,
                                             std::shared_ptr<Gpu> gpu) {
  PENSTOCK_RETURN_IF_ERROR(CheckGrant(grant));
  PENSTOCK_ASSIGN_OR_RETURN(const size_t bytes, posix::SizeOf(control));
  if (bytes < shm::kControlBytes) {
    return absl::InternalError(absl::StrCat("the session's control page: wrong size: got ", bytes,
                                            " bytes, expected at least ", shm::kControlBytes));
  }
  PENSTOCK_ASSIGN_OR_RETURN(posix::Mapping mapping,
                            posix::Mapping::Map(control, bytes, posix::Access::kReadWrite));
  PENSTOCK_RETURN_IF_ERROR(
      CheckPage(*reinterpret_cast<const shm::ControlPage*>(mapping.data()), grant));
  LeaseOwnerHold<Attachment> made(
      new Attachment(grant, std::move(mapping), std::move(event), std::move(link), std::move(gpu)));
  if (const absl::Status status = made->RegisterPage(); !status.ok()) {
    made->Abandon();  // our caller closes the session
    return status;
  }
  made->Hold();  // for the caller
  return made.get();
}

Attachment::Attachment(const Grant& grant, posix::Mapping control, posix::Fd event,
                       std::shared_ptr<Link> link, std::shared_ptr<Gpu> gpu)
    : LeaseOwner(std::move(gpu)),
      grant_(grant),
      control_(std::move(control)),
      event_(std::move(event)),
      link_(std::move(link)) {}

absl::Status Attachment::RegisterPage() {
  if (!OnDevice()) return absl::OkStatus();
  Unwritten::Get().Sweep();
  constexpr size_t kWhole = (shm::kControlBytes + kPage - 1) / kPage * kPage;
  PENSTOCK_ASSIGN_OR_RETURN(registered_,
                            gpu()->Register(control_.data(), kWhole, Gpu::Access::kReadWrite));
  PENSTOCK_ASSIGN_OR_RETURN(
      device_words_,
      registered_->DeviceAddress(reinterpret_cast<const std::byte*>(page().released)));
  return absl::OkStatus();
}

// Whether every batch that was taken has been released. Those before the last kControlCapacity
// have, because their places have been reused.
bool Attachment::AllWordsAreThere() const {
  const uint64_t first = taken_ - std::min<uint64_t>(taken_, shm::kControlCapacity) + 1;
  for (uint64_t sequence = first; sequence <= taken_; ++sequence) {
    const auto& word = page().released[(sequence - 1) % shm::kControlCapacity];
    if (word.load(std::memory_order_acquire) != sequence) return false;
  }
  return true;
}

void Attachment::End() {
  // Also of a session that was abandoned: a daemon that said it was stopping may serve again, and
  // would keep the session as long as this process lives.
  page().left.store(1, std::memory_order_release);
  (void)Close();
  if (!OnDevice()) {
    delete this;
    return;
  }
  const base::TimePoint deadline = base::Now() + kWordsTimeout;
  while (!AllWordsAreThere() && base::Now() < deadline) {
    std::this_thread::sleep_for(kWordsPause);
  }
  Unwritten::Get().Add(this);
  Unwritten::Get().Sweep();
}

absl::Status Attachment::Close() {
  if (abandoned_.exchange(true)) return absl::OkStatus();
  page().left.store(1, std::memory_order_release);  // seen by a daemon that the call does not reach
  return link_->CloseSession(grant_.session_id, kCloseTimeout);
}

absl::Status Attachment::Failure() const {
  char text[sizeof(page().error)];
  std::memcpy(text, page().error, sizeof(text));
  text[sizeof(text) - 1] = '\0';
  const auto code = static_cast<absl::StatusCode>(page().error_code);
  return absl::Status(code == absl::StatusCode::kOk ? absl::StatusCode::kInternal : code, text);
}

absl::StatusOr<Attachment::Region> Attachment::FetchRegion(uint32_t id) {
  if (OnDevice()) {
    std::shared_ptr<const Gpu::Memory> slab = link_->Slab(id);
    if (slab == nullptr) return Region();
    return Region{id, slab->data(), slab->bytes(), slab};
  }
  if (grant_.delivery == Delivery::kPinned && !grant_.synthetic) {
    PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<const PinnedSegment> pinned, link_->Pin(id, *gpu()));
    if (pinned == nullptr) return Region();
    return Region{id, pinned->mapping->data(), pinned->mapping->size(), pinned};
  }
  std::shared_ptr<const posix::Mapping> segment = link_->Segment(id);
  if (segment == nullptr) return Region();
  Region region{id, segment->data(), segment->size(), segment};
  if (grant_.made) region.views = link_->Views(id);
  return region;
}

absl::StatusOr<const Attachment::Region*> Attachment::FindRegion(uint32_t id) {
  for (const Region& region : regions_) {
    if (region.id == id) return &region;
  }
  PENSTOCK_ASSIGN_OR_RETURN(Region region, FetchRegion(id));
  if (region.data == nullptr) {
    return absl::NotFoundError(absl::StrCat("the daemon announced a batch in ",
                                            OnDevice() ? "slab " : "segment ", id,
                                            ", but never sent it"));
  }
  return &regions_.emplace_back(std::move(region));
}

absl::Status Attachment::Pump() {
  const absl::Status status = link_->Pump();
  if (!OnDevice()) {
    std::erase_if(regions_,
                  [&](const Region& region) { return link_->Segment(region.id) == nullptr; });
  }
  return status;
}

absl::Status Attachment::LookAgain() {
  if (OnDevice()) return link_->FetchSlabs(grant_.session_id, *gpu());
  const absl::Status status = Pump();
  return status.ok() ? status : absl::UnavailableError(status.message());
}

// `slot` is device memory for device delivery; labels and ids ("notes") then come after the page.
void Attachment::Fill(const shm::ControlEntry& entry, const std::byte* slot,
                      Batch::View& view) const {
  view.epoch = entry.epoch;
  view.step = entry.step;
  view.first = entry.first;
  view.sequence = entry.sequence;
  view.shape = {entry.rows, grant_.height, grant_.width, grant_.channels};
  view.valid_rows = entry.valid_rows;
  view.last_of_epoch = entry.last_of_epoch != 0;
  view.image_bytes = entry.rows * grant_.row_elements();
  view.tensors = grant_.tensors;
  const std::byte* labels = slot + grant_.labels_offset;
  const std::byte* ids = slot + grant_.ids_offset;
  if (OnDevice()) {
    view.on_device = true;
    view.device_images = reinterpret_cast<const uint8_t*>(slot);
    view.device_labels = reinterpret_cast<const int64_t*>(labels);
    labels = control_.data() + entry.notes_offset;
    ids = labels + sizeof(int64_t) * grant_.batch_size;
  } else if (grant_.synthetic) {
    view.on_device = gpu() != nullptr;
    view.synthetic = &*grant_.synthetic;
  } else if (!grant_.made) {
    view.images = reinterpret_cast<const uint8_t*>(slot);
  }
  view.labels = reinterpret_cast<const int64_t*>(labels);
  view.sample_ids = reinterpret_cast<const uint64_t*>(ids);
}

// The header is copied before it is checked, because its worker can still write to it. What follows
// it is checked by whoever reads it.
absl::Status Attachment::ShowMade(const shm::ControlEntry& entry, const Region& region,
                                  Batch::View& view) const {
  const MadeBatches& made = *grant_.made;
  const uint64_t from = entry.offset + made.data_offset;
  shm::PythonSlotHeader header;
  std::memcpy(&header, region.data + from, sizeof(header));
  const absl::Status status = shm::CheckPythonSlot(header, made.max_batch_bytes);
  if (!status.ok()) return base::Annotate(status, absl::StrCat("batch ", entry.sequence));
  view.made = region.data + from;
  view.made_bytes = header.total_bytes;
  view.made_most = made.max_batch_bytes;
  view.made_from = from;
  view.views = region.views.get();
  return absl::OkStatus();
}

absl::StatusOr<Attachment::Taken> Attachment::Take(uint64_t sequence) {
  shm::ControlEntry entry;
  std::memcpy(&entry, &page().entries[(sequence - 1) % shm::kControlCapacity], sizeof(entry));
  PENSTOCK_ASSIGN_OR_RETURN(const Region* region, FindRegion(entry.segment));
  PENSTOCK_RETURN_IF_ERROR(CheckEntry(entry, sequence, grant_, region->bytes));
  if (OnDevice()) PENSTOCK_RETURN_IF_ERROR(CheckNotes(entry, grant_, control_.size()));
  Taken taken;
  if (grant_.made) PENSTOCK_RETURN_IF_ERROR(ShowMade(entry, *region, taken.view));
  page().taken.store(sequence, std::memory_order_release);
  taken_ = sequence;
  taken.consumed = entry.consumed;
  Fill(entry, region->data + entry.offset, taken.view);
  return taken;
}

// Wakes the daemon if it sleeps. The daemon sets `daemon_asleep`, then looks once more; we store
// the release, then read `daemon_asleep`. With one order for all four (seq_cst), either it sees our
// release or we see that it sleeps.
void Attachment::Release(uint64_t sequence) {
  page().released[(sequence - 1) % shm::kControlCapacity].store(sequence,
                                                                std::memory_order_seq_cst);
  if (page().daemon_asleep.load(std::memory_order_seq_cst) != 0) posix::NotifyEvent(event_);
}

// Two places stay free for batches that come, if the window is large enough. One stays free anyway.
bool Attachment::MayLend() const {
  const uint32_t held = holders() - 1;
  const uint32_t most = grant_.window <= 1 ? 0 : std::max(grant_.window, 3u) - 2;
  return held <= most;
}

absl::Status Attachment::ReleaseBehind(uint64_t sequence, Stream stream) {
  const uint64_t place = (sequence - 1) % shm::kControlCapacity;
  // The GPU writes 8 bytes, just as a store to an atomic of that size does.
  uint64_t* const word = reinterpret_cast<uint64_t*>(&page().released[place]);
  return gpu()->WriteWhenReached({word, device_words_ + place * sizeof(uint64_t), sequence},
                                 stream);
}

void Attachment::Sleep(uint32_t wakeup, base::Duration timeout) {
  posix::FutexWait(page().wakeup, wakeup, timeout);
}

}  // namespace penstock::client
