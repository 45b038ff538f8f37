// How sessions come and go.
#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/units.h"
#include "common/telemetry/log.h"
#include "server/export/host_delivery.h"
#include "server/feed/engine/engine.h"
#include "server/feed/engine/wire.h"

namespace penstock::feed {
// ---- Opening. ----

absl::Status Engine::Admit(const Opening& opening) const {
  const OpenRequest& request = opening.request;
  PENSTOCK_RETURN_IF_ERROR(status());
  PENSTOCK_RETURN_IF_ERROR(losses_.MayOpen(request.dataset->name, request.user, now_));
  if (request.canary) return absl::OkStatus();
  if (draining_)
    return absl::UnavailableError(
        "the daemon is draining and takes no new session; try again once it serves");
  PENSTOCK_RETURN_IF_ERROR(AdmitUser(opening));
  if (sessions() >= options_.admission.max_sessions)
    return absl::ResourceExhaustedError(
        absl::StrCat("all ", options_.admission.max_sessions,
                     " sessions of this daemon are open; close some or raise server.max_sessions"));
  if (request.expected_fingerprint != 0 && request.expected_fingerprint != opening.fingerprint)
    return absl::FailedPreconditionError(absl::StrCat(
        "the state is of another feed: its fingerprint is ",
        absl::Hex(request.expected_fingerprint), ", this feed's is ",
        absl::Hex(opening.fingerprint),
        "; the dataset, its order, its seed or the decoding has changed since the state was "
        "saved"));
  return absl::OkStatus();
}

// What one user may have, whatever others leave.
absl::Status Engine::AdmitUser(const Opening& opening) const {
  const OpenRequest& request = opening.request;
  uint64_t sessions = 0, bytes = request.window * opening.layout.slot_bytes;
  for (const auto& [id, session] : sessions_) {
    if (session.request.user != request.user || session.request.canary) continue;
    ++sessions;
    bytes += session.request.window * session.slot_bytes;
  }
  // What was closed while its reads did not come back is the user's, too.
  uint64_t left_behind = 0;
  for (const SlotId slot : rows_.LeftBehind(UserId(request.user), core_))
    left_behind += pool_.Place(slot.value()).layout.slot_bytes;
  bytes += left_behind;
  if (sessions >= options_.admission.max_sessions_per_user)
    return absl::ResourceExhaustedError(
        absl::StrCat("user ", request.user, " has ", sessions,
                     " sessions open, all that limits.max_sessions_per_user allows; close some"));
  const double share = static_cast<double>(bytes) / static_cast<double>(options_.pool.max_bytes);
  if (options_.admission.max_pool_per_user < 1 && share > options_.admission.max_pool_per_user)
    return absl::ResourceExhaustedError(absl::StrCat(
        "the windows of user ", request.user, " would take ", base::FormatBytes(bytes),
        " of the pool's ", base::FormatBytes(options_.pool.max_bytes), ", more than the ",
        options_.admission.max_pool_per_user * 100,
        "% of limits.max_pool_per_user; open with smaller windows, or close sessions",
        left_behind == 0 ? ""
                         : absl::StrCat("; ", base::FormatBytes(left_behind),
                                        " of it are of closed sessions whose reads do not come "
                                        "back: see to their storage")));
  return absl::OkStatus();
}

// Memory on a GPU is asked for only once nothing else speaks against the session; and while it is
// made, things may change, so that all is looked at again.
void Engine::Open(const OpenRequest& request, base::TimePoint now, Opened done) {
  now_ = now;
  const absl::StatusOr<Opening> opening = Prepare(request);
  if (!opening.ok()) return done(opening.status());
  if (!opening->request.device) return done(OpenNow(*opening, std::nullopt, now));
  if (const absl::Status status = Admit(*opening); !status.ok()) return done(status);
  gpus_.Reserve({.peer = request.peer,
                 .user = request.user,
                 .slot_bytes = opening->layout.slot_bytes,
                 .request = *opening->request.device},
                [this, opening = *opening, done](absl::StatusOr<exporting::Gpus::Place> place) {
                  if (!place.ok()) return done(place.status());
                  done(OpenNow(opening, *std::move(place), now_));
                });
}

absl::StatusOr<session::Grant> Engine::OpenNow(const Opening& opening,
                                               std::optional<exporting::Gpus::Place> place,
                                               base::TimePoint now) {
  PENSTOCK_RETURN_IF_ERROR(Admit(opening));
  const OpenRequest& request = opening.request;

  const FeedId feed_id = feeds_.IdOf(UserId(request.user), request.dataset, opening.spec);
  std::weak_ptr<Feed>& known = feeds_.At(feed_id).feed;
  std::shared_ptr<Feed> feed = known.lock();
  if (feed == nullptr || !feed->failed.ok()) {
    feed = std::make_shared<Feed>(
        Feed{.id = feed_id,
             .fingerprint = opening.fingerprint,
             .spec = opening.spec,
             .dataset = request.dataset,
             .called = request.dataset_name,
             .failed = absl::OkStatus(),
             .account = request.canary ? 0
                                       : losses_.AccountOf(request.dataset->name, request.user, now,
                                                           request.dataset_name),
             .canary = request.canary,
             .flow = request.canary ? FeedFlow()
                                    : FeedFlow(dataset_counts_.FlowOf(request.dataset->name))});
    known = feed;
  }
  if (!request.canary)
    dataset_counts_.Watch(feed_id, request.dataset->name, core_.View(feed_id).value_or(FeedView{}));
  const uint64_t arena = pool_.ArenaOf(request.user, opening.layout);
  PENSTOCK_RETURN_IF_ERROR(pool_.Reserve(arena, request.window));

  const uint64_t id = next_session_++;
  session::Grant grant = MakeGrant(opening, id);
  Session session = {.request = request,
                     .slot_bytes = opening.layout.slot_bytes,
                     .arena = arena,
                     .feed = std::move(feed),
                     .delivery = nullptr,
                     .handle = {},
                     .epoch_batches = {grant.first_epoch_batches, grant.epoch_batches},
                     .epoch = request.first_epoch,
                     .consumed = request.share.consumed};
  absl::Status status = MakeDelivery(session, id, std::move(place));
  if (status.ok() && session.device != nullptr) {
    absl::StatusOr<std::vector<exporting::SlabFacts>> slabs = SendSlabs(session);
    status = slabs.status();
    if (slabs.ok())
      grant.device = {session.device->reservation().depth(), session.handle, *std::move(slabs)};
  }
  if (status.ok()) status = Enter(session, id, now);
  if (!status.ok()) {
    pool_.Unreserve(arena, request.window, now);
    return status;
  }
  watch_(session.delivery->event().get(), true);
  sessions_.emplace(id, std::move(session));
  FinishIfDone(id);
  return grant;
}

absl::Status Engine::MakeDelivery(Session& session, uint64_t id,
                                  std::optional<exporting::Gpus::Place> place) {
  const uint32_t window = session.request.window;
  if (!place) {
    PENSTOCK_ASSIGN_OR_RETURN(session.delivery, exporting::HostDelivery::Make(id, window));
    return absl::OkStatus();
  }
  PENSTOCK_ASSIGN_OR_RETURN(
      std::unique_ptr<exporting::DeviceDelivery> device,
      exporting::DeviceDelivery::Make(id, window, session.request.share.batch_size,
                                      std::move(place->reservation)));
  session.handle = std::move(place->handle);
  session.device = device.get();
  session.flow = SessionFlow(SessionFlow::FillPath::kDevice);
  session.delivery = std::move(device);
  return absl::OkStatus();
}

// Makes the session known to core and consumer. On failure nothing of it is left.
absl::Status Engine::Enter(Session& session, uint64_t id, base::TimePoint now) {
  const OpenRequest& request = session.request;
  const SessionSpec spec = {.user = UserId(request.user),
                            .feed = session.feed->id,
                            .arena = ArenaId(session.arena),
                            .fill_path = FillPathOf(session.feed->spec),
                            .run = RunOf(session.feed->spec),
                            .share = request.share,
                            .first_epoch = request.first_epoch,
                            .epochs = request.epochs,
                            .window = request.window,
                            .variant = session.feed->dataset->quarantine.version()};
  PENSTOCK_RETURN_IF_ERROR(core_.OpenSession(SessionId(id), spec, now));

  auto wire = MakeWire<shm::DoorwaySession>(shm::DoorwayKind::kSession);
  wire.session_id = id;
  wire.control_bytes = session.delivery->memory_bytes();
  const absl::Status sent =
      send_(request.peer, &wire, sizeof(wire),
            {session.delivery->memory().get(), session.delivery->event().get()});
  if (!sent.ok()) {
    core_.CloseSession(SessionId(id));
    return base::Annotate(sent, "the session's descriptors could not be sent");
  }
  return absl::OkStatus();
}

// ---- Slabs. ----

absl::StatusOr<std::vector<exporting::SlabFacts>> Engine::Slabs(uint64_t peer, uint64_t id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end())
    return absl::NotFoundError(absl::StrCat("session ", id, " is not open"));
  PENSTOCK_RETURN_IF_ERROR(CheckOwner(peer, id, found->second));
  if (found->second.device == nullptr)
    return absl::FailedPreconditionError(
        absl::StrCat("session ", id, " has no device delivery, and so no slabs"));
  return SendSlabs(found->second);
}

absl::StatusOr<std::vector<exporting::SlabFacts>> Engine::SendSlabs(Session& session) {
  const uint64_t peer = session.request.peer;
  return session.device->reservation().SendSlabs(
      peer, [&](const exporting::SlabFacts& slab, const posix::Fd& descriptor) {
        auto wire = MakeWire<shm::DoorwaySlab>(shm::DoorwayKind::kSlab);
        wire.slab = slab.id;
        wire.bytes = slab.bytes;
        return send_(peer, &wire, sizeof(wire), {descriptor.get()});
      });
}

// ---- Leaving. ----

absl::Status Engine::CheckOwner(uint64_t peer, uint64_t id, const Session& session) const {
  if (session.request.peer == peer) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("session ", id, " belongs to another process"));
}

absl::Status Engine::Close(uint64_t peer, uint64_t id, base::TimePoint now) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return absl::OkStatus();  // closing is idempotent
  PENSTOCK_RETURN_IF_ERROR(CheckOwner(peer, id, found->second));
  std::unique_ptr<exporting::Delivery> delivery = Erase(id, now);
  if (!delivery->Leave()) leaving_.push_back({peer, std::move(delivery)});
  return absl::OkStatus();
}

// A consumer's CloseSession may be lost, when we were slow to answer or it was cut off; what it
// said on its page is not. It has until the next look to say so in the usual way.
void Engine::CloseThoseThatLeft(base::TimePoint now) {
  std::vector<std::pair<uint64_t, uint64_t>> left;  // peer, session
  for (auto& [id, session] : sessions_) {
    if (!session.delivery->LookAtConsumer().left) continue;
    if (std::exchange(session.left, true)) left.emplace_back(session.request.peer, id);
  }
  for (const auto& [peer, id] : left) {
    PENSTOCK_LOG(kInfo, "session_closed", {"session", id}, {"reason", "its consumer left it"});
    Close(peer, id, now).IgnoreError();
  }
}

// What is left of it: its delivery.
std::unique_ptr<exporting::Delivery> Engine::Erase(uint64_t id, base::TimePoint now) {
  const auto found = sessions_.find(id);
  PENSTOCK_CHECK(found != sessions_.end());
  Session& session = found->second;
  core_.CloseSession(SessionId(id));
  watch_(session.delivery->event().get(), false);
  pool_.Unreserve(session.arena, session.request.window, now);
  std::unique_ptr<exporting::Delivery> delivery = std::move(session.delivery);
  sessions_.erase(found);
  return delivery;
}

void Engine::PeerDisconnected(uint64_t peer) {
  for (auto& [id, session] : sessions_) {
    if (session.request.peer != peer) continue;
    session.ended = true;
    core_.DetachSession(SessionId(id));
  }
}

bool Engine::Holds(uint64_t peer) const {
  const auto is_theirs = [peer](const auto& entry) { return entry.second.request.peer == peer; };
  return std::any_of(sessions_.begin(), sessions_.end(), is_theirs) ||
         std::any_of(leaving_.begin(), leaving_.end(),
                     [peer](const Leaving& leaving) { return leaving.peer == peer; }) ||
         gpus_.Knows(peer);
}

// Only now nothing of its GPU work can run any more: what it held there is free.
void Engine::PeerGone(uint64_t peer, base::TimePoint now) {
  std::vector<uint64_t> theirs;
  for (const auto& [id, session] : sessions_)
    if (session.request.peer == peer) theirs.push_back(id);
  for (uint64_t id : theirs) Erase(id, now);
  std::erase_if(leaving_, [peer](const Leaving& leaving) { return leaving.peer == peer; });
  gpus_.ForgetPeer(peer);
  segments_sent_.erase(peer);
}

}  // namespace penstock::feed
