#include "server/feed/engine/session_opener.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/posix/failpoint.h"
#include "server/export/host_delivery.h"
#include "server/feed/engine/wire.h"
#include "server/feed/fill/runs.h"
#include "server/feed/identity/kept_rows.h"

namespace penstock::feed {
namespace {

SessionSpec MakeSessionSpec(const SessionRecord& session) {
  const OpenRequest& request = session.request;
  return {.user = UserId(request.user),
          .feed = session.feed->id,
          .arena = ArenaId(session.arena),
          .fill_path = ToFillPath(session.feed->spec),
          .run = RunOf(session.feed->spec),
          .share = request.share,
          .first_epoch = request.first_epoch,
          .epochs = request.epochs,
          .window = request.window,
          .variant = SlotVariant(*session.feed)};
}

}  // namespace

SessionOpener::SessionOpener(const Parts& parts, const Admission& admission, SendToPeer send,
                             std::function<absl::Status()> status)
    : parts_(parts), admission_(admission), send_(std::move(send)), status_(std::move(status)) {}

// ---- Checks ----

absl::Status SessionOpener::MayOpen(const Opening& opening) const {
  const OpenRequest& request = opening.request;
  PENSTOCK_RETURN_IF_ERROR(status_());
  PENSTOCK_RETURN_IF_ERROR(parts_.losses.MayOpen(request.dataset->name, request.user, now_));
  if (request.canary) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(parts_.drain.MayOpen());
  PENSTOCK_RETURN_IF_ERROR(Admit(admission_, ToApplicant(opening)));
  return CheckFingerprint(request.expected_fingerprint, opening.fingerprint);
}

// Slots of closed sessions whose reads block count too.
Applicant SessionOpener::ToApplicant(const Opening& opening) const {
  const OpenRequest& request = opening.request;
  const SessionTable::Held held = parts_.sessions.HeldBy(request.user);
  Applicant applicant = {.user = request.user,
                         .window_bytes = request.window * opening.layout.promised_bytes(),
                         .sessions = held.sessions,
                         .open_window_bytes = held.window_bytes,
                         .all_sessions = parts_.sessions.trainers(),
                         .pool_bytes = parts_.pool.Used().max_bytes};
  std::set<SlotId> left_behind = parts_.rows.LeftBehind(UserId(request.user), parts_.core);
  if (parts_.made != nullptr)
    left_behind.merge(parts_.made->LeftBehind(UserId(request.user), parts_.core));
  for (const SlotId slot : left_behind) {
    const pool::SlotPlace& place = parts_.pool.Place(slot.value());
    applicant.left_behind_bytes += place.layout.promised_bytes() + place.granted;
  }
  return applicant;
}

// ---- Opening ----

// GPU memory is allocated only after all other checks. The state may change meanwhile, so all
// checks are repeated afterwards.
void SessionOpener::Open(const OpenRequest& request, base::TimePoint now, const Opened& done) {
  now_ = now;
  const absl::StatusOr<Opening> opening = Prepare(request);
  if (!opening.ok()) return done(opening.status());
  if (!opening->request.device) return done(OpenNow(*opening, std::nullopt));
  if (const absl::Status status = MayOpen(*opening); !status.ok()) return done(status);
  parts_.gpus.Reserve(
      {.peer = request.peer,
       .user = request.user,
       .slot_bytes = opening->layout.slot_bytes,
       .request = *opening->request.device},
      [this, opening = *opening, done](absl::StatusOr<exporting::Gpus::ReservedPlace> place) {
        if (!place.ok()) return done(place.status());
        done(OpenNow(opening, *std::move(place)));
      });
}

bool SessionOpener::Collect(base::TimePoint now) {
  now_ = now;
  return parts_.gpus.Collect();
}

absl::StatusOr<session::Grant> SessionOpener::OpenNow(
    const Opening& opening, std::optional<exporting::Gpus::ReservedPlace> place) {
  PENSTOCK_RETURN_IF_ERROR(MayOpen(opening));
  const OpenRequest& request = opening.request;
  std::shared_ptr<Feed> feed = FeedOf(opening);
  const uint64_t arena = parts_.pool.ArenaOf(request.user, opening.layout);
  PENSTOCK_RETURN_IF_ERROR(parts_.pool.Reserve(arena, request.window));

  const uint64_t id = parts_.sessions.NextId();
  session::Grant grant = MakeGrant(opening, id);
  SessionRecord session = {.request = request,
                           .slot_bytes = opening.layout.promised_bytes(),
                           .arena = arena,
                           .feed = std::move(feed),
                           .delivery = nullptr,
                           .handle = {},
                           .epoch_batches = {grant.first_epoch_batches, grant.epoch_batches},
                           .epoch = request.first_epoch,
                           .consumed = request.share.consumed};
  absl::Status status = MakeDelivery(session, id, std::move(place));
  if (status.ok()) status = GrantSlabs(session, grant);
  if (status.ok()) status = GrantHost(session, grant);
  if (status.ok()) status = Enter(session, id);
  if (!status.ok()) {
    if (parts_.hosts != nullptr) parts_.hosts->SessionClosed(id, now_);
    parts_.pool.Unreserve(arena, request.window, now_);
    return status;
  }
  parts_.sessions.Add(id, std::move(session));
  parts_.sessions.FinishIfDone(id);
  PENSTOCK_FAILPOINT("session.opened_not_answered");
  return grant;
}

// A feed that failed is replaced by a new one.
std::shared_ptr<Feed> SessionOpener::FeedOf(const Opening& opening) {
  const OpenRequest& request = opening.request;
  const FeedId id = parts_.feeds.IdOf(UserId(request.user), request.dataset, opening.spec);
  std::weak_ptr<Feed>& known = parts_.feeds.At(id).feed;
  std::shared_ptr<Feed> feed = known.lock();
  if (feed == nullptr || !feed->failed.ok()) known = feed = MakeFeed(opening, id);
  if (!request.canary)
    parts_.statistics.datasets().Watch(id, request.dataset->name,
                                       parts_.core.View(id).value_or(FeedView{}));
  return feed;
}

std::shared_ptr<Feed> SessionOpener::MakeFeed(const Opening& opening, FeedId id) {
  const OpenRequest& request = opening.request;
  auto feed = std::make_shared<Feed>();
  feed->id = id;
  feed->fingerprint = opening.fingerprint;
  feed->spec = opening.spec;
  feed->dataset = request.dataset;
  feed->called = request.dataset_name;
  feed->canary = request.canary;
  if (request.canary) return feed;
  const bool has_images = feed->spec.storage == source::Storage::kEncoded;
  if (parts_.checkpoints != nullptr && has_images && !feed->spec.stored_images)
    feed->shelf = parts_.checkpoints->Open({.user = request.user,
                                            .dataset = request.dataset->dataset->digest(),
                                            .samples = request.dataset->dataset->samples()});
  if (parts_.kept_rows != nullptr && MayKeepRows(feed->spec))
    feed->kept = parts_.kept_rows->Open({.user = request.user,
                                         .files = request.dataset->files,
                                         .rows = RowsFingerprint(feed->spec)});
  if (parts_.kept_images != nullptr && feed->kept == nullptr && MayKeepImages(feed->spec)) {
    std::shared_ptr<kept::RowShelf> shelf =
        parts_.kept_images->Open({.user = request.user,
                                  .files = request.dataset->files,
                                  .rows = ImagesFingerprint(feed->spec)});
    if (shelf != nullptr) feed->images = std::make_shared<kept::ImageShelf>(std::move(shelf));
  }
  feed->account = parts_.losses.AccountOf(request.dataset->name, request.user, now_, feed->called);
  feed->flow = FeedFlow(parts_.statistics.datasets().FlowOf(request.dataset->name));
  return feed;
}

absl::Status SessionOpener::MakeDelivery(SessionRecord& session, uint64_t id,
                                         std::optional<exporting::Gpus::ReservedPlace> place) {
  const uint32_t window = session.request.window;
  const auto& trace = session.request.trace;
  BatchOwner owner = {.session = id, .trace_id = trace ? trace->trace_id : ""};
  if (!place) {
    session.flow = SessionFlow(SessionFlow::BatchMemory::kHost, std::move(owner));
    PENSTOCK_ASSIGN_OR_RETURN(session.delivery, exporting::HostDelivery::Make(id, window));
    return absl::OkStatus();
  }
  PENSTOCK_ASSIGN_OR_RETURN(
      std::unique_ptr<exporting::DeviceDelivery> device,
      exporting::DeviceDelivery::Make(id, window, session.request.share.batch_size,
                                      std::move(place->reservation)));
  session.handle = std::move(place->handle);
  session.device = device.get();
  session.flow = SessionFlow(SessionFlow::BatchMemory::kDevice, std::move(owner));
  session.delivery = std::move(device);
  return absl::OkStatus();
}

absl::Status SessionOpener::GrantSlabs(SessionRecord& session, session::Grant& grant) {
  if (session.device == nullptr) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<exporting::SlabFacts> slabs, SendSlabs(session));
  grant.device = {session.device->reservation().depth(), session.handle, std::move(slabs)};
  return absl::OkStatus();
}

absl::Status SessionOpener::GrantHost(const SessionRecord& session, session::Grant& grant) {
  const FeedSpec& spec = session.feed->spec;
  if (spec.storage != source::Storage::kMade) return absl::OkStatus();
  PENSTOCK_CHECK(parts_.hosts != nullptr && spec.python);
  const OpenRequest& request = session.request;
  PENSTOCK_ASSIGN_OR_RETURN(const pyworkers::HostToken token,
                            parts_.hosts->SessionOpened({.id = grant.session,
                                                         .peer = request.peer,
                                                         .dataset = session.feed->dataset,
                                                         .called = session.feed->called,
                                                         .account = session.feed->account,
                                                         .workers = request.python_workers.count,
                                                         .streams = spec.python->streams,
                                                         .timeout = request.python_workers.timeout,
                                                         .keep_host = request.python_workers.keep},
                                                        now_));
  grant.host = session::HostGrant{.token = token, .max_batch_bytes = spec.python->max_batch_bytes};
  return absl::OkStatus();
}

// Registers the session with core and consumer.
absl::Status SessionOpener::Enter(const SessionRecord& session, uint64_t id) {
  PENSTOCK_RETURN_IF_ERROR(parts_.core.OpenSession(SessionId(id), MakeSessionSpec(session), now_));
  auto wire = MakeWire<shm::DoorwaySession>(shm::DoorwayKind::kSession);
  wire.session_id = id;
  wire.control_bytes = session.delivery->memory_bytes();
  const absl::Status sent =
      send_(session.request.peer, &wire, sizeof(wire),
            {session.delivery->memory().get(), session.delivery->event().get()});
  if (sent.ok()) return sent;
  parts_.core.CloseSession(SessionId(id));
  return base::Annotate(sent, "the session's descriptors could not be sent");
}

void SessionOpener::SessionClosed(uint64_t session, const Feed& feed, base::TimePoint now) {
  if (!feed.spec.python) return;
  if (parts_.hosts != nullptr) parts_.hosts->SessionClosed(session, now);
  const std::optional<FeedView> view = parts_.core.View(feed.id);
  if (!view || view->sessions == 0) parts_.feeds.End(feed.id);
}

// ---- Slabs ----

absl::StatusOr<std::vector<exporting::SlabFacts>> SessionOpener::Slabs(uint64_t peer, uint64_t id) {
  PENSTOCK_ASSIGN_OR_RETURN(SessionRecord* const session, parts_.sessions.FindOf(peer, id));
  if (session->device == nullptr)
    return absl::FailedPreconditionError(
        absl::StrCat("session ", id, " has no device delivery, so it has no slabs"));
  return SendSlabs(*session);
}

absl::StatusOr<std::vector<exporting::SlabFacts>> SessionOpener::SendSlabs(SessionRecord& session) {
  const uint64_t peer = session.request.peer;
  return session.device->reservation().SendSlabs(
      peer, [&](const exporting::SlabFacts& slab, const posix::Fd& descriptor) {
        auto wire = MakeWire<shm::DoorwaySlab>(shm::DoorwayKind::kSlab);
        wire.slab = slab.id;
        wire.bytes = slab.bytes;
        return send_(peer, &wire, sizeof(wire), {descriptor.get()});
      });
}

}  // namespace penstock::feed
