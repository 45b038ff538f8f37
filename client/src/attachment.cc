#include "client/src/attachment.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/src/fork.h"
#include "common/posix/futex.h"

namespace penstock::client {
namespace {

// How long the end of a session may wait for a daemon that does not answer.
constexpr base::Duration kCloseTimeout = std::chrono::milliseconds(500);

absl::Status CheckPage(const shm::ControlPage& page, const Grant& grant) {
  if (page.magic != shm::kControlMagic || page.version != shm::kControlVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the session's control page has version ", page.version, ", this client knows ",
        shm::kControlVersion, "; install the same version of Penstock for daemon and client"));
  }
  if (page.capacity != shm::kControlCapacity || page.session_id != grant.session_id) {
    return absl::InternalError(absl::StrCat("the control page of session ", page.session_id,
                                            " with ", page.capacity, " entries came for session ",
                                            grant.session_id));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Attachment*> Attachment::Make(const Grant& grant, const posix::Fd& control,
                                             posix::Fd event, std::shared_ptr<Link> link) {
  PENSTOCK_RETURN_IF_ERROR(CheckGrant(grant));
  PENSTOCK_ASSIGN_OR_RETURN(const size_t bytes, posix::SizeOf(control));
  if (bytes < shm::kControlBytes) {
    return absl::InternalError(absl::StrCat("the session's control page has ", bytes,
                                            " bytes, it should have ", shm::kControlBytes));
  }
  PENSTOCK_ASSIGN_OR_RETURN(posix::Mapping mapping, posix::Mapping::Map(control, shm::kControlBytes,
                                                                        posix::Access::kReadWrite));
  PENSTOCK_RETURN_IF_ERROR(
      CheckPage(*reinterpret_cast<const shm::ControlPage*>(mapping.data()), grant));
  return new Attachment(grant, std::move(mapping), std::move(event), std::move(link));
}

Attachment::Attachment(const Grant& grant, posix::Mapping control, posix::Fd event,
                       std::shared_ptr<Link> link)
    : grant_(grant),
      generation_(WatchForks()),
      control_(std::move(control)),
      event_(std::move(event)),
      link_(std::move(link)) {}

// A daemon that cannot be told any more frees the session when this process is gone.
Attachment::~Attachment() { (void)Close(); }

void Attachment::LetGo() {
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

absl::Status Attachment::Close() {
  if (abandoned_.exchange(true)) return absl::OkStatus();
  return link_->CloseSession(grant_.session_id, kCloseTimeout);
}

absl::Status Attachment::Failure() const {
  char text[sizeof(page().error)];
  std::memcpy(text, page().error, sizeof(text));
  text[sizeof(text) - 1] = '\0';
  const auto code = static_cast<absl::StatusCode>(page().error_code);
  return absl::Status(code == absl::StatusCode::kOk ? absl::StatusCode::kInternal : code, text);
}

const posix::Mapping* Attachment::FindSegment(uint32_t id) {
  for (const auto& [known, mapping] : segments_) {
    if (known == id) return mapping.get();
  }
  std::shared_ptr<const posix::Mapping> sent = link_->Segment(id);
  if (sent == nullptr) return nullptr;
  return segments_.emplace_back(id, std::move(sent)).second.get();
}

absl::Status Attachment::Pump() {
  const absl::Status status = link_->Pump();
  std::erase_if(segments_,
                [&](const auto& known) { return link_->Segment(known.first) == nullptr; });
  return status;
}

absl::StatusOr<Attachment::Taken> Attachment::Take(uint64_t sequence) {
  shm::ControlEntry entry;
  std::memcpy(&entry, &page().entries[(sequence - 1) % shm::kControlCapacity], sizeof(entry));
  const posix::Mapping* segment = FindSegment(entry.segment);
  if (segment == nullptr) {
    return absl::NotFoundError(absl::StrCat("the daemon announced batch ", sequence, " in segment ",
                                            entry.segment, ", which it has not sent"));
  }
  PENSTOCK_RETURN_IF_ERROR(CheckEntry(entry, sequence, grant_, segment->size()));
  page().taken.store(sequence, std::memory_order_release);

  const std::byte* slot = segment->data() + entry.offset;
  Taken taken;
  taken.consumed = entry.consumed;
  Batch::View& view = taken.view;
  view.epoch = entry.epoch;
  view.step = entry.step;
  view.first = entry.first;
  view.sequence = sequence;
  view.shape = {entry.rows, grant_.height, grant_.width, grant_.channels};
  view.valid_rows = entry.valid_rows;
  view.last_of_epoch = entry.last_of_epoch != 0;
  view.image_bytes = entry.rows * grant_.row_bytes;
  view.images = reinterpret_cast<const uint8_t*>(slot);
  view.labels = reinterpret_cast<const int64_t*>(slot + grant_.labels_offset);
  view.sample_ids = reinterpret_cast<const uint64_t*>(slot + grant_.ids_offset);
  return taken;
}

// Either the daemon, which says that it sleeps and looks once more, sees this word; or we see that
// it sleeps. Both sides store, then load, in one order (seq_cst).
void Attachment::Release(uint64_t sequence) {
  page().released[(sequence - 1) % shm::kControlCapacity].store(sequence,
                                                                std::memory_order_seq_cst);
  if (page().daemon_asleep.load(std::memory_order_seq_cst) != 0) posix::Ring(event_);
}

void Attachment::Sleep(uint32_t bell, base::Duration timeout) {
  page().consumer_asleep.store(1, std::memory_order_seq_cst);
  posix::FutexWait(page().bell, bell, timeout);
  page().consumer_asleep.store(0, std::memory_order_relaxed);
}

}  // namespace penstock::client
