#include "server/app/canary.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/posix/fd.h"
#include "common/shm/doorway_wire.h"
#include "common/telemetry/log.h"
#include "server/app/canary_picture.h"

namespace penstock::app {
namespace {

constexpr std::chrono::seconds kSoon(10);  // after this, a warning is logged
// A worker serves one user, so while users take turns there may be none for a moment.
constexpr std::chrono::seconds kBetweenUsers(2);

std::shared_ptr<feed::DatasetState> MakeState() {
  return std::make_shared<feed::DatasetState>(feed::DatasetState{.name = "canary",
                                                                 .dataset = MakeCanaryDataset(),
                                                                 .quarantine = {},
                                                                 .policy = feed::FaultPolicy(1)});
}

// `seed`: different each time, because decoded samples are cached and would come through without a
// worker.
feed::OpenRequest RequestFor(std::shared_ptr<feed::DatasetState> dataset, uint64_t seed) {
  feed::OpenRequest request;
  request.peer = Canary::kPeer;
  request.user = ::geteuid();
  request.pid = ::getpid();
  request.client = request.name = request.dataset_name = "canary";
  request.dataset = std::move(dataset);
  request.feed.seed = seed;
  request.feed.decoding = CanaryDecoding();
  request.epochs = 1;
  request.window = 1;
  request.fail_on_bad_sample = true;
  request.canary = true;
  return request;
}

template <typename Wire>
absl::StatusOr<Wire> As(const void* message, size_t bytes) {
  if (bytes != sizeof(Wire))
    return absl::InternalError(
        absl::StrCat("unexpected message size: got ", bytes, ", expected ", sizeof(Wire)));
  Wire wire;
  std::memcpy(&wire, message, sizeof(wire));
  return wire;
}

// The descriptor still belongs to its owner.
absl::StatusOr<posix::Mapping> MapTheirs(int descriptor, uint64_t bytes, posix::Access access) {
  posix::Fd theirs(descriptor);
  absl::StatusOr<posix::Mapping> mapping = posix::Mapping::Map(theirs, bytes, access);
  theirs.Release();
  return mapping;
}

}  // namespace

absl::Status Canary::Receive(const void* message, size_t bytes, const std::vector<int>& fds) {
  if (bytes < sizeof(shm::DoorwayHeader)) return absl::InternalError("a message without a header");
  shm::DoorwayHeader header;
  std::memcpy(&header, message, sizeof(header));
  if (header.kind == shm::DoorwayKind::kSession) {
    PENSTOCK_ASSIGN_OR_RETURN(const auto wire, As<shm::DoorwaySession>(message, bytes));
    PENSTOCK_ASSIGN_OR_RETURN(memory_,
                              MapTheirs(fds.at(0), wire.control_bytes, posix::Access::kReadWrite));
  } else if (header.kind == shm::DoorwayKind::kSegment) {
    PENSTOCK_ASSIGN_OR_RETURN(const auto wire, As<shm::DoorwaySegment>(message, bytes));
    PENSTOCK_ASSIGN_OR_RETURN(segments_[wire.segment],
                              MapTheirs(fds.at(0), wire.bytes, posix::Access::kReadOnly));
  } else if (header.kind == shm::DoorwayKind::kSegmentGone) {
    PENSTOCK_ASSIGN_OR_RETURN(const auto wire, As<shm::DoorwaySegment>(message, bytes));
    segments_.erase(wire.segment);
  }
  return absl::OkStatus();
}

void Canary::Step(feed::Engine& engine, base::TimePoint now) {
  if (engine.views().GetVitals().workers_running > 0) {
    worker_ran_at_ = now;
  } else if (now - worker_ran_at_ > kBetweenUsers) {
    Again();
  }
  if (came_through_.load() || now < try_at_) return;
  if (!session_) {
    const absl::Status opened = Open(engine, now);
    if (!opened.ok()) Complain(opened, now);
    return;
  }
  const std::optional<absl::Status> verdict = Look();
  if (!verdict) {
    if (now - opened_at_ < kSoon || complained_) return;
    complained_ = true;
    PENSTOCK_LOG(kWarning, "not_ready", {"reason", "the canary's batch does not come"},
                 {"workers_running", engine.views().GetVitals().workers_running});
    return;
  }
  End(engine, now);
  if (!verdict->ok()) return Complain(Blame(*verdict), now);
  back_off_.Reset();
  came_through_.store(true);
}

absl::Status Canary::Open(feed::Engine& engine, base::TimePoint now) {
  absl::StatusOr<session::Grant> answer = absl::InternalError("the engine gave no answer");
  dataset_ = MakeState();  // a new state forgets earlier problems with its sample
  engine.Open(RequestFor(dataset_, ++opened_), now,
              [&answer](absl::StatusOr<session::Grant> grant) { answer = std::move(grant); });
  PENSTOCK_RETURN_IF_ERROR(answer.status());
  session_ = *std::move(answer);
  opened_at_ = now;
  complained_ = false;
  return absl::OkStatus();
}

std::optional<absl::Status> Canary::Look() const {
  if (page().announced.load(std::memory_order_acquire) > 0) return Judge(page().entries[0]);
  const auto state = static_cast<shm::SessionState>(page().state.load(std::memory_order_acquire));
  if (state == shm::SessionState::kOpen) return std::nullopt;
  if (state == shm::SessionState::kFailed)
    return absl::Status(static_cast<absl::StatusCode>(page().error_code), page().error);
  return absl::UnavailableError("its session ended without a batch");
}

absl::Status Canary::Judge(const shm::ControlEntry& entry) const {
  const auto segment = segments_.find(entry.segment);
  if (segment == segments_.end())
    return absl::DataLossError(absl::StrCat("segment ", entry.segment, " was never sent"));
  const pool::SlotLayout& layout = session_->layout;
  const std::span<const std::byte> bytes = segment->second.bytes();
  if (entry.offset > bytes.size() || bytes.size() - entry.offset < layout.slot_bytes)
    return absl::DataLossError("its slot lies outside its segment");
  const std::span<const std::byte> slot = bytes.subspan(entry.offset, layout.slot_bytes);
  int64_t label = 0;
  std::memcpy(&label, slot.data() + layout.labels_offset, sizeof(label));
  if (entry.valid_rows != 1 || label != kCanaryLabel)
    return absl::DataLossError(absl::StrCat("a batch of ", entry.valid_rows, " rows with label ",
                                            label, " came; wanted 1 and ", kCanaryLabel));
  return CheckCanaryPicture(slot.first(layout.blocks[0].row_bytes));
}

// Leaves like a trainer: releases what it took, closes, and disconnects.
void Canary::End(feed::Engine& engine, base::TimePoint now) {
  page().taken.store(page().announced.load(std::memory_order_acquire), std::memory_order_release);
  page().released[0].store(1, std::memory_order_release);
  engine.Close(kPeer, session_->session, now).IgnoreError();
  engine.PeerGone(kPeer, now);
  session_.reset();
  memory_ = {};
  segments_.clear();
}

std::string Canary::Reason() const {
  if (came_through()) return "";
  base::MutexLock lock(mutex_);
  return absl::StrCat("no batch of the daemon's own has come through",
                      trouble_.empty() ? " yet" : ": ", trouble_);
}

absl::Status Canary::Blame(const absl::Status& why) const {
  const source::BadSample* bad = dataset_->quarantine.Find(0);
  if (bad == nullptr) return why;
  return absl::DataLossError(absl::StrCat(
      "the workers refuse the daemon's own picture (16 x 16 pixels): ", base::FaultName(bad->fault),
      "; see limits in the configuration"));
}

void Canary::Complain(const absl::Status& why, base::TimePoint now) {
  try_at_ = now + back_off_.Next();
  base::MutexLock lock(mutex_);
  trouble_ = std::string(why.message());
  PENSTOCK_LOG(kWarning, "not_ready", {"reason", absl::StrCat("the canary: ", trouble_)});
}

}  // namespace penstock::app
