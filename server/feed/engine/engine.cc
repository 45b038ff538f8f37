#include "server/feed/engine/engine.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/telemetry/log.h"
#include "server/feed/engine/wire.h"

namespace penstock::feed {
namespace {

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
      workers_(options_.workers),
      losses_({.budget = options_.workers.budget, .back_off = options_.workers.back_off}),
      row_copiers_(options_.row_copiers),
      gpus_(options_.gpus) {
  if (options_.auto_workers) demand_.emplace(*options_.auto_workers);
}

Engine::~Engine() = default;

absl::Status Engine::Start() {
  PENSTOCK_RETURN_IF_ERROR(pool_.Preallocate());
  PENSTOCK_RETURN_IF_ERROR(row_copiers_.Start());
  return workers_.Start();
}

void Engine::WatchWith(std::function<void(int, bool)> changed) {
  watch_ = std::move(changed);
  watch_(workers_.event_fd(), true);
  watch_(row_copiers_.event().get(), true);
  gpus_.WatchWith(watch_);
}

void Engine::QuarantineChanged(const DatasetState& dataset) {
  for (const auto& [id, session] : sessions_)
    if (session.feed->dataset.get() == &dataset)
      core_.SetVariant(session.feed->id, dataset.quarantine.version());
}

void Engine::CloseAll() {
  rows_.SaveQuarantines(now_, true);
  EndTrace(absl::UnavailableError("the daemon is ending"));
  gpus_.CancelAll(absl::UnavailableError("the daemon is ending"));
  for (auto& [id, session] : sessions_)
    session.delivery->Finish(shm::SessionState::kClosing,
                             absl::UnavailableError("the daemon is ending"));
}

// Ends one session for a reason. Its consumer keeps what it holds until it closes or is gone.
void Engine::Fail(uint64_t id, const absl::Status& why) {
  Session& session = sessions_.at(id);
  if (session.ended) return;
  session.ended = true;
  PENSTOCK_LOG(kWarning, "session_failed", {"session", id}, {"reason", why.message()});
  session.delivery->Finish(shm::SessionState::kFailed, why);
  core_.DetachSession(SessionId(id));
}

void Engine::FailFeed(const Feed& feed, const absl::Status& why) {
  for (auto& [id, session] : sessions_)
    if (session.feed.get() == &feed) Fail(id, why);
}

// ---- Segments. ----

absl::Status Engine::SegmentMade(const pool::Segment& segment) {
  PENSTOCK_RETURN_IF_ERROR(
      workers_.AddSegment(segment.id.value(), segment.user, segment.memory, segment.bytes));
  core_.AddSlots(ArenaId(segment.arena), SlotsOf(segment));
  return absl::OkStatus();
}

bool Engine::GiveUp(const pool::Segment& segment) {
  if (!core_.RemoveSlots(ArenaId(segment.arena), SlotsOf(segment))) return false;
  workers_.RemoveSegment(segment.id.value());
  gpus_.ForgetSegment(segment.id.value());
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
  if (!session.delivery->reads_pool()) return absl::OkStatus();
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
  now_ = now;
  EndDrained();
  bool busy = CollectOutcomes(now);
  busy |= CollectRuns();
  busy |= gpus_.Collect();
  busy |= ListenToConsumers(now);
  busy |= SubmitRows();
  busy |= SubmitRuns();
  busy |= NoteRows();
  busy |= AnnounceReady();
  return busy;
}

bool Engine::CollectOutcomes(base::TimePoint now) {
  const std::vector<workers::Outcome> outcomes = workers_.Collect(now);
  NoteDeaths(now);
  for (const workers::Outcome& outcome : outcomes) {
    const RowTrouble trouble = rows_.End(outcome, core_, pool_);
    NoteEnded(outcome, trouble);
    if (outcome.kind == workers::OutcomeKind::kDone) losses_.WentWell(trouble.feed->account);
    if (!trouble.bad_sample.ok())
      PENSTOCK_LOG(kWarning, "sample_replaced", {"reason", trouble.bad_sample.message()});
    if (trouble.quarantine_grew) QuarantineChanged(*trouble.feed->dataset);
    if (outcome.kind == workers::OutcomeKind::kSourceFailed) {
      ReadFailed(trouble, trouble.read, outcome.status);
    } else if (outcome.kind == workers::OutcomeKind::kLost) {
      trouble.feed->dataset->source.Dropped(trouble.read);
    } else {
      ReadCameBack(*trouble.feed, trouble.read);
    }
    if (!trouble.feed_failed.ok()) FailFeedOnce(trouble.feed, trouble.feed_failed);
  }
  return !outcomes.empty();
}

bool Engine::ListenToConsumers(base::TimePoint now) {
  bool busy = false;
  for (auto& [id, session] : sessions_) busy |= ListenTo(id, session, now);
  busy |= std::erase_if(leaving_, [](Leaving& leaving) { return leaving.delivery->Leave(); }) > 0;
  return busy;
}

bool Engine::ListenTo(uint64_t id, Session& session, base::TimePoint now) {
  const exporting::Delivery::Heard heard = session.delivery->Listen();
  NoteConsumer(id, session, heard);
  absl::Status status = core_.Taken(SessionId(id), heard.taken, now);
  for (uint64_t sequence : heard.released)
    if (status.ok()) status = core_.Released(SessionId(id), sequence, now);
  if (!status.ok() && !session.ended) Fail(id, status);
  return !heard.released.empty();
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
  const pool::SlotPlace& place = pool_.Place(announcement.slot.value());
  if (session.request.fail_on_bad_sample) {
    const absl::Status bad = StandInIn(*session.feed, announcement.position, place);
    if (!bad.ok()) return Fail(id, bad);
  }
  if (const absl::Status sent = SendSegment(session, place.segment); !sent.ok()) {
    Fail(id, base::Annotate(sent, "a segment could not be sent"));
    return;
  }
  if (!session.request.canary) ++user_counts_.Of(session.request.user).batches_announced;
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
  const pool::Segment* segment = pool_.Find(place.segment);
  PENSTOCK_CHECK(segment != nullptr);
  NoteFull(session, announcement);
  session.delivery->Announce(entry, {.slot = announcement.slot.value(),
                                     .generation = announcement.generation,
                                     .segment = entry.segment,
                                     .offset = place.offset,
                                     .data = place.data,
                                     .labels_offset = place.layout.labels_offset,
                                     .ids_offset = place.layout.ids_offset,
                                     .slot_bytes = place.layout.slot_bytes,
                                     .memory = &segment->memory,
                                     .memory_bytes = segment->bytes,
                                     .epoch = entry.epoch,
                                     .first = entry.first});
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
    session.delivery->Finish(shm::SessionState::kFinished, absl::OkStatus());
}

void Engine::Tick(base::TimePoint now) {
  workers_.Tick(now);
  now_ = now;
  LookAtSources();
  gpus_.Tick(now);
  decoding_rate_.Update(now, rows_.decoded());
  LookAround(now);
  if (tracing_ && (now >= tracing_->until || tracing_->request.cancelled()))
    EndTrace(absl::OkStatus());
  if (const absl::Status lost = status(); !lost.ok())
    for (auto& [id, session] : sessions_) Fail(id, lost);
  CloseThoseThatLeft(now);
  core_.Tick(now);
  pool_.Tick(now, options_.keep_idle_segments);
  rows_.SaveQuarantines(now);
  SettleCounts();
  for (const auto& [id, session] : sessions_) losses_.Touch(session.feed->account, now);
  PruneFeeds();
}

absl::Status Engine::status() const {
  PENSTOCK_RETURN_IF_ERROR(workers_.status());
  PENSTOCK_RETURN_IF_ERROR(losses_.status());
  return gpus_.status();
}

bool Engine::MustBePolled() const {
  if (!leaving_.empty()) return true;
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [](const auto& entry) { return entry.second.delivery->MustBePolled(); });
}

void Engine::SetAsleep(bool asleep) {
  for (auto& [id, session] : sessions_) session.delivery->SetAsleep(asleep);
}

}  // namespace penstock::feed
