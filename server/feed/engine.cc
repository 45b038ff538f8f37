#include "server/feed/engine.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/shm/doorway_wire.h"
#include "common/telemetry/log.h"

namespace penstock::feed {
namespace {

template <typename Wire>
Wire MakeWire(shm::DoorwayKind kind) {
  Wire wire = {};
  wire.header = {shm::kDoorwayMagic, shm::kProtocolVersion, kind, 0};
  return wire;
}

std::vector<SlotId> SlotsOf(const pool::Segment& segment) {
  std::vector<SlotId> slots;
  slots.reserve(segment.slots.size());
  for (uint32_t slot : segment.slots) slots.emplace_back(slot);
  return slots;
}

}  // namespace

Engine::Engine(Options options, SendToPeer send)
    : options_(std::move(options)),
      send_(std::move(send)),
      watch_([](int, bool) {}),
      pool_(options_.pool, {.made = [this](const pool::Segment& s) { return SegmentMade(s); },
                            .give_up = [this](const pool::Segment& s) { return GiveUp(s); }}),
      workers_(options_.workers) {}

Engine::~Engine() = default;

absl::Status Engine::Start() {
  PENSTOCK_RETURN_IF_ERROR(pool_.Preallocate());
  return workers_.Start();
}

void Engine::WatchWith(std::function<void(int, bool)> changed) {
  watch_ = std::move(changed);
  watch_(workers_.event_fd(), true);
}

// ---- Sessions come and go. ----

absl::Status Engine::Admit(const OpenRequest& request, uint64_t fingerprint) const {
  PENSTOCK_RETURN_IF_ERROR(workers_.status());
  if (sessions_.size() >= options_.max_sessions)
    return absl::ResourceExhaustedError(
        absl::StrCat("all ", options_.max_sessions,
                     " sessions of this daemon are open; close some or raise server.max_sessions"));
  if (request.expected_fingerprint != 0 && request.expected_fingerprint != fingerprint)
    return absl::FailedPreconditionError(absl::StrCat(
        "the state is of another feed: its fingerprint is ",
        absl::Hex(request.expected_fingerprint), ", this feed's is ", absl::Hex(fingerprint),
        "; the dataset, its order, its seed or the decoding has changed since the state was "
        "saved"));
  return absl::OkStatus();
}

absl::StatusOr<Grant> Engine::Open(const OpenRequest& request, base::TimePoint now) {
  PENSTOCK_RETURN_IF_ERROR(decode::Validate(request.decoding));
  PENSTOCK_RETURN_IF_ERROR(plan::Validate(request.share));
  const FeedSpec spec = {.dataset_digest = request.dataset->dataset->digest(),
                         .samples = request.dataset->dataset->samples(),
                         .order = request.order,
                         .seed = request.seed,
                         .decoding = request.decoding};
  const uint64_t fingerprint = Fingerprint(spec);
  PENSTOCK_RETURN_IF_ERROR(Admit(request, fingerprint));

  std::shared_ptr<Feed> feed = feeds_[fingerprint].lock();
  if (feed == nullptr || !feed->failed.ok()) {
    feed = std::make_shared<Feed>(Feed{fingerprint, spec, request.dataset, absl::OkStatus()});
    feeds_[fingerprint] = feed;
  }
  const uint64_t quarantine_version = feed->dataset->quarantine.version();
  const pool::SlotLayout layout =
      pool::LayOut(decode::RowBytes(request.decoding), request.share.batch_size);
  const uint64_t arena = pool_.ArenaOf(request.user, layout);
  PENSTOCK_RETURN_IF_ERROR(pool_.Reserve(arena, request.window));
  absl::StatusOr<uint64_t> session = Enter(request, std::move(feed), arena, now);
  if (!session.ok()) {
    pool_.Unreserve(arena, request.window, now);
    return session.status();
  }

  plan::Share whole = request.share;
  whole.consumed = 0;
  return Grant{.session = *session,
               .fingerprint = fingerprint,
               .layout = layout,
               .first_epoch_batches = plan::BatchCount(request.share),
               .epoch_batches = plan::BatchCount(whole),
               .quarantine_version = quarantine_version};
}

// Makes the session known to core and consumer. On failure nothing of it is left but the
// reservation.
absl::StatusOr<uint64_t> Engine::Enter(const OpenRequest& request, std::shared_ptr<Feed> feed,
                                       uint64_t arena, base::TimePoint now) {
  const uint64_t id = next_session_++;
  PENSTOCK_ASSIGN_OR_RETURN(exporting::HostDelivery delivery,
                            exporting::HostDelivery::Make(id, request.window));
  const SessionSpec spec = {.user = UserId(request.user),
                            .feed = FeedId(feed->fingerprint),
                            .arena = ArenaId(arena),
                            .share = request.share,
                            .first_epoch = request.first_epoch,
                            .epochs = request.epochs,
                            .window = request.window,
                            .variant = feed->dataset->quarantine.version()};
  PENSTOCK_RETURN_IF_ERROR(core_.OpenSession(SessionId(id), spec, now));

  auto wire = MakeWire<shm::DoorwaySession>(shm::DoorwayKind::kSession);
  wire.session_id = id;
  wire.control_bytes = shm::kControlBytes;
  const absl::Status sent =
      send_(request.peer, &wire, sizeof(wire), {delivery.memory().get(), delivery.event().get()});
  if (!sent.ok()) {
    core_.CloseSession(SessionId(id));
    return base::Annotate(sent, "the session's descriptors could not be sent");
  }
  watch_(delivery.event().get(), true);
  sessions_.emplace(id, Session{.request = request,
                                .arena = arena,
                                .feed = std::move(feed),
                                .delivery = std::move(delivery),
                                .epoch = request.first_epoch,
                                .consumed = request.share.consumed});
  FinishIfDone(id);
  return id;
}

absl::Status Engine::Close(uint64_t peer, uint64_t session, base::TimePoint now) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return absl::OkStatus();  // closing is idempotent
  if (found->second.request.peer != peer)
    return absl::PermissionDeniedError(
        absl::StrCat("session ", session, " belongs to another process"));
  Erase(session, now);
  return absl::OkStatus();
}

void Engine::Erase(uint64_t id, base::TimePoint now) {
  const auto found = sessions_.find(id);
  PENSTOCK_CHECK(found != sessions_.end());
  Session& session = found->second;
  core_.CloseSession(SessionId(id));
  watch_(session.delivery.event().get(), false);
  pool_.Unreserve(session.arena, session.request.window, now);
  sessions_.erase(found);
}

void Engine::PeerDisconnected(uint64_t peer) {
  for (auto& [id, session] : sessions_) {
    if (session.request.peer != peer) continue;
    session.ended = true;
    core_.DetachSession(SessionId(id));
  }
}

void Engine::PeerGone(uint64_t peer, base::TimePoint now) {
  std::vector<uint64_t> theirs;
  for (const auto& [id, session] : sessions_)
    if (session.request.peer == peer) theirs.push_back(id);
  for (uint64_t id : theirs) Erase(id, now);
  segments_sent_.erase(peer);
}

void Engine::QuarantineChanged(const DatasetState& dataset) {
  for (const auto& [id, session] : sessions_)
    if (session.feed->dataset.get() == &dataset)
      core_.SetVariant(FeedId(session.feed->fingerprint), dataset.quarantine.version());
}

void Engine::CloseAll() {
  for (auto& [id, session] : sessions_)
    session.delivery.Finish(shm::SessionState::kClosing,
                            absl::UnavailableError("the daemon is ending"));
}

// Ends one session for a reason. Its consumer keeps what it holds until it closes or is gone.
void Engine::Fail(uint64_t id, const absl::Status& why) {
  Session& session = sessions_.at(id);
  if (session.ended) return;
  session.ended = true;
  PENSTOCK_LOG(kWarning, "session_failed", {"session", id}, {"reason", why.message()});
  session.delivery.Finish(shm::SessionState::kFailed, why);
  core_.DetachSession(SessionId(id));
}

void Engine::FailFeed(const Feed& feed, const absl::Status& why) {
  for (auto& [id, session] : sessions_)
    if (session.feed.get() == &feed) Fail(id, why);
}

// ---- Segments. ----

absl::Status Engine::SegmentMade(const pool::Segment& segment) {
  PENSTOCK_RETURN_IF_ERROR(workers_.AddSegment(segment.id.value(), segment.memory, segment.bytes));
  core_.AddSlots(ArenaId(segment.arena), SlotsOf(segment));
  return absl::OkStatus();
}

bool Engine::GiveUp(const pool::Segment& segment) {
  if (!core_.RemoveSlots(ArenaId(segment.arena), SlotsOf(segment))) return false;
  workers_.RemoveSegment(segment.id.value());
  ForgetSegment(segment.id);
  return true;
}

// Consumers unmap it, or its memory would stay. Who cannot be told is leaving anyway.
void Engine::ForgetSegment(pool::SegmentId id) {
  auto wire = MakeWire<shm::DoorwaySegment>(shm::DoorwayKind::kSegmentGone);
  wire.segment = id.value();
  for (auto& [peer, sent] : segments_sent_)
    if (sent.erase(id.value()) > 0) send_(peer, &wire, sizeof(wire), {}).IgnoreError();
}

absl::Status Engine::SendSegment(const Session& session, pool::SegmentId id) {
  std::set<uint32_t>& sent = segments_sent_[session.request.peer];
  if (sent.contains(id.value())) return absl::OkStatus();
  const pool::Segment* segment = pool_.Find(id);
  PENSTOCK_CHECK(segment != nullptr);
  auto wire = MakeWire<shm::DoorwaySegment>(shm::DoorwayKind::kSegment);
  wire.segment = id.value();
  wire.bytes = segment->bytes;
  PENSTOCK_RETURN_IF_ERROR(
      send_(session.request.peer, &wire, sizeof(wire), {segment->read_only.get()}));
  sent.insert(id.value());
  return absl::OkStatus();
}

// ---- One pass. ----

bool Engine::Pump(base::TimePoint now) {
  bool busy = CollectOutcomes(now);
  busy |= ListenToConsumers(now);
  busy |= SubmitRows();
  busy |= AnnounceReady();
  return busy;
}

bool Engine::CollectOutcomes(base::TimePoint now) {
  const std::vector<workers::Outcome> outcomes = workers_.Collect(now);
  for (const workers::Outcome& outcome : outcomes) {
    const RowTrouble trouble = rows_.End(outcome, core_, pool_);
    if (!trouble.bad_sample.ok())
      PENSTOCK_LOG(kWarning, "sample_replaced", {"reason", trouble.bad_sample.message()});
    if (trouble.quarantine_grew) QuarantineChanged(*trouble.feed->dataset);
    if (!trouble.feed_failed.ok() && trouble.feed->failed.ok()) {
      trouble.feed->failed = trouble.feed_failed;
      FailFeed(*trouble.feed, trouble.feed_failed);
    }
  }
  return !outcomes.empty();
}

bool Engine::ListenToConsumers(base::TimePoint now) {
  bool busy = false;
  for (auto& [id, session] : sessions_) busy |= ListenTo(id, session, now);
  return busy;
}

// Releases are read before the count of taken batches: whoever releases a batch took it before.
bool Engine::ListenTo(uint64_t id, Session& session, base::TimePoint now) {
  std::vector<uint64_t>& outstanding = session.outstanding;
  const auto released = std::stable_partition(
      outstanding.begin(), outstanding.end(),
      [&](uint64_t sequence) { return !session.delivery.Released(sequence); });
  absl::Status status = core_.Taken(SessionId(id), session.delivery.taken(), now);
  for (auto sequence = released; sequence != outstanding.end() && status.ok(); ++sequence)
    status = core_.Released(SessionId(id), *sequence, now);
  const bool busy = released != outstanding.end();
  outstanding.erase(released, outstanding.end());
  if (!status.ok() && !session.ended) Fail(id, status);
  return busy;
}

bool Engine::SubmitRows() {
  bool busy = false;
  for (size_t room = workers_.Capacity(); room > 0; --room) {
    const std::optional<RowTask> task = core_.NextRow();
    if (!task) break;
    busy = true;
    std::shared_ptr<Feed> feed = feeds_.at(task->feed.value()).lock();
    PENSTOCK_CHECK(feed != nullptr);
    absl::StatusOr<workers::WorkItem> item =
        rows_.Begin(*task, feed, pool_.Place(task->slot.value()));
    if (!item.ok()) {
      feed->failed = item.status();
      FailFeed(*feed, item.status());
      core_.RowReturned(*task);
      continue;
    }
    workers_.Submit(*item);
  }
  return busy;
}

bool Engine::AnnounceReady() {
  const std::vector<Announcement> announcements = core_.TakeAnnouncements();
  for (const Announcement& announcement : announcements) Announce(announcement);
  return !announcements.empty();
}

void Engine::Announce(const Announcement& announcement) {
  const uint64_t id = announcement.session.value();
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second.ended) return;
  Session& session = found->second;
  const pool::SlotPlace place = pool_.Place(announcement.slot.value());
  if (session.request.fail_on_bad_sample) {
    const absl::Status bad = StandInIn(*session.feed, announcement.position, place);
    if (!bad.ok()) return Fail(id, bad);
  }
  if (const absl::Status sent = SendSegment(session, place.segment); !sent.ok()) {
    Fail(id, base::Annotate(sent, "a segment could not be sent"));
    return;
  }
  shm::ControlEntry entry = {};
  entry.sequence = announcement.sequence;
  entry.generation = announcement.generation;
  entry.segment = place.segment.value();
  entry.rows = announcement.position.rows;
  entry.offset = place.offset;
  entry.epoch = announcement.position.epoch;
  entry.first = announcement.position.first;
  entry.step = announcement.step;
  entry.consumed = announcement.consumed;
  entry.valid_rows = announcement.valid_rows;
  entry.last_of_epoch = announcement.last_of_epoch ? 1 : 0;
  session.delivery.Announce(entry);
  session.outstanding.push_back(announcement.sequence);
  session.announced = announcement.sequence;
  session.epoch = entry.epoch;
  session.consumed = entry.consumed;
  FinishIfDone(id);
}

// Tells the consumer when no batch comes after the announced ones; at once for a session that was
// resumed at the very end. What the core has announced and we have not yet told of is still to
// come.
void Engine::FinishIfDone(uint64_t id) {
  Session& session = sessions_.at(id);
  const SessionView view = *core_.View(SessionId(id));
  if (view.finished && view.announced == session.announced)
    session.delivery.Finish(shm::SessionState::kFinished, absl::OkStatus());
}

void Engine::Tick(base::TimePoint now) {
  workers_.Tick(now);
  if (!workers_.status().ok())
    for (auto& [id, session] : sessions_) Fail(id, workers_.status());
  core_.Tick(now);
  pool_.Tick(now, options_.keep_idle_segments);
  std::erase_if(feeds_, [](const auto& entry) { return entry.second.expired(); });
}

void Engine::SetAsleep(bool asleep) {
  for (auto& [id, session] : sessions_) session.delivery.SetAsleep(asleep);
}

}  // namespace penstock::feed
