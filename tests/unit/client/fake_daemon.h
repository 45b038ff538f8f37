// The daemon's side of one session, written by the test into real shared memory. It announces
// whatever the test says, valid or not.
//
// **Thread safety**: one thread, except that any thread may call Die, Announce and Wake.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "client/src/gpu/slabs.h"
#include "client/src/session/attachment.h"
#include "client/src/session/session_core.h"
#include "common/base/mutex.h"
#include "common/posix/futex.h"

namespace penstock::client {

inline constexpr uint32_t kSegmentId = 7;
inline constexpr uint32_t kSlots = 4;
inline constexpr uint64_t kNotesBytes = 64;  // of one batch: 4 labels and 4 ids

// 4 rows of 2 × 2 × 3 bytes.
inline Grant SmallGrant() {
  Grant grant;
  grant.session_id = 42;
  grant.fingerprint = 0xFEED;
  grant.batch_size = 4;
  grant.row_bytes = 12;
  grant.height = 2;
  grant.width = 2;
  grant.channels = 3;
  grant.labels_offset = 48;
  grant.ids_offset = 80;
  grant.slot_bytes = 112;
  grant.samples = grant.epoch_samples = 100;
  grant.classes = 10;
  grant.first_epoch_batches = 25;
  grant.epoch_batches = 25;
  grant.window = kSlots;
  return grant;
}

class FakeLink final : public Link {
 public:
  absl::Status Pump() override {
    ++pumps;
    for (auto& [id, mapping] : on_their_way) segments[id] = mapping;
    on_their_way.clear();
    if (dead) return absl::UnavailableError("the peer has closed the socket");
    return absl::OkStatus();
  }
  std::shared_ptr<const posix::Mapping> Segment(uint32_t id) override {
    const auto found = segments.find(id);
    return found == segments.end() ? nullptr : found->second;
  }
  std::shared_ptr<PrivateViews> Views(uint32_t id) override {
    const auto found = views.find(id);
    return found == views.end() ? nullptr : found->second;
  }
  absl::StatusOr<std::shared_ptr<const PinnedSegment>> Pin(uint32_t id, Gpu& gpu) override {
    std::shared_ptr<const posix::Mapping> mapping = Segment(id);
    if (mapping == nullptr) return std::shared_ptr<const PinnedSegment>();
    return pins.Pin(id, std::move(mapping), gpu);
  }
  std::shared_ptr<const Gpu::Memory> Slab(uint32_t id) override { return slabs.Find(id); }
  absl::Status FetchSlabs(uint64_t, Gpu& gpu) override {
    ++fetches;
    for (const SlabOffer& offer : offers) PENSTOCK_RETURN_IF_ERROR(slabs.Open(offer, gpu));
    return absl::OkStatus();
  }
  absl::StatusOr<Progress> GetProgress(uint64_t, base::Duration timeout) override {
    const base::MutexLock lock(asked_mutex);
    asked_for.push_back(timeout);
    return progress;
  }
  absl::Status ReportUndecodable(uint64_t, std::span<const uint64_t> samples,
                                 base::Duration timeout) override {
    const base::MutexLock lock(asked_mutex);
    reports.emplace_back(samples.begin(), samples.end());
    report_timeout = timeout;
    return reporting;
  }
  // Waits for this many reports, which another thread makes, and returns them.
  std::vector<std::vector<uint64_t>> AwaitReports(size_t count) {
    const base::TimePoint deadline = base::Now() + std::chrono::seconds(20);
    for (;; std::this_thread::yield()) {
      const base::MutexLock lock(asked_mutex);
      if (reports.size() >= count || base::Now() > deadline) return reports;
    }
  }
  absl::Status CloseSession(uint64_t session_id, base::Duration) override {
    closed.push_back(session_id);
    return absl::OkStatus();
  }

  std::atomic<bool> dead{false};
  std::atomic<int> pumps{0};
  std::map<uint32_t, std::shared_ptr<const posix::Mapping>> segments, on_their_way;
  std::map<uint32_t, std::shared_ptr<PrivateViews>> views;
  std::vector<uint64_t> closed;
  // The answer to GetProgress, and the timeout of each call.
  absl::StatusOr<Progress> progress = Progress();
  base::Mutex asked_mutex;  // another thread may ask for a session's statistics
  std::vector<base::Duration> asked_for;
  // The answer to ReportUndecodable, the samples of each call, and the timeout of the last one.
  absl::Status reporting;
  std::vector<std::vector<uint64_t>> reports;
  base::Duration report_timeout{};
  // For device delivery: the slabs that FetchSlabs opens, and the number of calls.
  std::vector<SlabOffer> offers;
  int fetches = 0;
  Slabs slabs{[](uint32_t) { return absl::NotFoundError("no descriptor came"); }};
  Pins pins;
};

class FakeDaemon {
 public:
  explicit FakeDaemon(const Grant& grant = SmallGrant()) : grant_(grant) {
    constexpr size_t kBytes = shm::kControlBytes + kSlots * kNotesBytes;
    control_ = posix::MakeMemory("page", kBytes).value();
    page_ = posix::Mapping::Map(control_, kBytes, posix::Access::kReadWrite).value();
    page().magic = shm::kControlMagic;
    page().version = shm::kControlVersion;
    page().capacity = shm::kControlCapacity;
    page().session_id = grant_.session_id;
    page().state.store(static_cast<uint32_t>(shm::SessionState::kOpen));
    event_ = posix::MakeEvent().value();

    const size_t bytes = kSlots * grant_.slot_bytes;
    memory_ = posix::MakeMemory("segment", bytes).value();
    slots_ = posix::Mapping::Map(memory_, bytes, posix::Access::kReadWrite).value();
    link->segments[kSegmentId] = ReadOnly();
    link->views[kSegmentId] = std::make_shared<PrivateViews>(posix::ReadOnlyView(memory_).value());
  }

  shm::ControlPage& page() { return *reinterpret_cast<shm::ControlPage*>(page_.data()); }
  const posix::Fd& event() const { return event_; }
  const posix::Fd& control() const { return control_; }
  const posix::Fd& memory() const { return memory_; }  // the segment

  std::byte* slots() { return slots_.data(); }

  std::shared_ptr<const posix::Mapping> ReadOnly() {
    return std::make_shared<const posix::Mapping>(
        posix::Mapping::Map(memory_, slots_.size(), posix::Access::kReadOnly).value());
  }

  // **Requires**: `gpu`, unless the grant's delivery is host.
  absl::StatusOr<Opened> Attach(const std::shared_ptr<Gpu>& gpu = nullptr) {
    const absl::StatusOr<Attachment*> made =
        Attachment::Make(grant_, control_, event_.Duplicate().value(), link, gpu);
    if (!made.ok()) return made.status();
    Opened opened{AttachmentHold(*made)};
    if (grant_.delivery != Delivery::kPinned) return opened;
    (*made)->Hold();
    const absl::StatusOr<PinnedStage*> stage =
        PinnedStage::Make(AttachmentHold(*made), gpu, grant_.device_depth, makers);
    if (!stage.ok()) return stage.status();
    opened.stage = LeaseOwnerHold<PinnedStage>(*stage);
    return opened;
  }

  // The entry for batch `sequence` of a whole epoch; `sequence` is also the slot's content.
  shm::ControlEntry Entry(uint64_t sequence) const {
    shm::ControlEntry entry{};
    entry.sequence = sequence;
    entry.segment = kSegmentId;
    entry.rows = 4;
    entry.valid_rows = 4;
    entry.offset = (sequence - 1) % kSlots * grant_.slot_bytes;
    entry.first = (sequence - 1) * 4;
    entry.step = sequence - 1;
    entry.consumed = sequence * 4;
    if (grant_.delivery == Delivery::kDevice) {
      entry.notes_offset = shm::kControlBytes + (sequence - 1) % kSlots * kNotesBytes;
    }
    return entry;
  }

  // Announces the entry unchanged, and wakes all waiters.
  void Announce(const shm::ControlEntry& entry) {
    const uint64_t before = page().announced.load();
    if (entry.offset <= slots_.size() - grant_.slot_bytes) {
      Fill(slots_.data() + entry.offset, entry.sequence);
      if (slab != nullptr) Fill(slab + entry.offset, entry.sequence);
    }
    if (entry.notes_offset >= shm::kControlBytes &&
        entry.notes_offset <= page_.size() - kNotesBytes) {
      Note(page_.data() + entry.notes_offset, page_.data() + entry.notes_offset + kNotesBytes / 2,
           entry.sequence);
    }
    page().entries[before % shm::kControlCapacity] = entry;
    page().announced.store(before + 1, std::memory_order_release);
    Wake();
  }
  void AnnounceNext() { Announce(Entry(page().announced.load() + 1)); }

  void End(shm::SessionState state, absl::StatusCode code = {}, const std::string& text = "") {
    page().error_code = static_cast<uint32_t>(code);
    text.copy(page().error, sizeof(page().error));
    page().state.store(static_cast<uint32_t>(state), std::memory_order_release);
    Wake();
  }

  void Wake() {
    page().wakeup.fetch_add(1);
    if (page().consumer_asleep.load() != 0) posix::FutexWake(page().wakeup);
  }

  const std::shared_ptr<FakeLink> link = std::make_shared<FakeLink>();
  RowMakers makers = {};      // shared with the stages; for undecoded rows
  std::byte* slab = nullptr;  // for device delivery: also contains the slots

 private:
  void Fill(std::byte* slot, uint64_t number) {
    std::memset(slot, static_cast<int>(number), grant_.labels_offset);
    Note(slot + grant_.labels_offset, slot + grant_.ids_offset, number);
  }

  void Note(std::byte* labels, std::byte* ids, uint64_t number) {
    for (uint64_t row = 0; row < grant_.batch_size; ++row) {
      const int64_t label = static_cast<int64_t>(10 * number + row);
      const uint64_t id = 100 * number + row;
      std::memcpy(labels + 8 * row, &label, 8);
      std::memcpy(ids + 8 * row, &id, 8);
    }
  }

  Grant grant_;
  posix::Fd control_, event_, memory_;
  posix::Mapping page_, slots_;
};

// What a session asked for when it reopened, and the answers.
struct Reopening {
  std::vector<State> asked;
  std::vector<uint64_t> epochs;
  std::vector<absl::Status> refusals;  // the answers to the first attempts
  FakeDaemon* daemon = nullptr;        // answers the attempts after these
  std::shared_ptr<Gpu> gpu = {};       // shared with the session; null: host memory
};

class FakeOpener final : public Opener {
 public:
  explicit FakeOpener(Reopening* reopening) : reopening_(reopening) {}

  absl::StatusOr<Opened> Open(const std::optional<State>& state, uint64_t epochs,
                              base::TimePoint) override {
    reopening_->asked.push_back(state.value_or(State()));
    reopening_->epochs.push_back(epochs);
    if (!reopening_->refusals.empty()) {
      const absl::Status refusal = reopening_->refusals.front();
      reopening_->refusals.erase(reopening_->refusals.begin());
      return refusal;
    }
    return reopening_->daemon->Attach(reopening_->gpu);
  }
  absl::StatusOr<uint64_t> Quarantined() override { return 3; }

 private:
  Reopening* const reopening_;
};

}  // namespace penstock::client
