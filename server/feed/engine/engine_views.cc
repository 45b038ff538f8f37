// What status shows of the engine: counts and names, copied at one moment.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/feed/engine/engine.h"
#include "server/feed/engine/samples.h"

namespace penstock::feed {
namespace {

// The client's words, then ours.
std::string ReasonOf(const std::string& delivery, const std::string& handle) {
  return absl::StrCat(delivery, delivery.empty() || handle.empty() ? "" : "; ", handle);
}

}  // namespace

size_t Engine::sessions() const {
  return static_cast<size_t>(
      std::count_if(sessions_.begin(), sessions_.end(),
                    [](const auto& entry) { return !entry.second.request.canary; }));
}

Vitals Engine::GetVitals() const {
  const pool::Usage pool = pool_.Used();
  return {.sessions = sessions(),
          .workers = workers_.count(),
          .workers_running = workers_.running(),
          .reserved_bytes = pool.reserved_bytes,
          .pool_bytes = pool.max_bytes,
          .draining = draining_,
          .not_drained = static_cast<uint64_t>(
              std::count_if(sessions_.begin(), sessions_.end(), [](const auto& entry) {
                return !entry.second.ended && !entry.second.request.canary;
              }))};
}

EngineView Engine::View() const {
  EngineView view;
  view.pool = pool_.Used();
  view.samples_decoded = rows_.decoded();
  view.samples_replaced = rows_.replaced();
  view.workers_asleep = workers_.asleep();
  view.status = status();
  view.draining = draining_;
  for (exporting::GpuView& gpu : gpus_.View()) view.gpus.push_back({std::move(gpu), 0});
  for (const auto& [id, session] : sessions_) {
    if (session.device == nullptr) continue;
    const std::string uuid = session.device->reservation().gpu().uuid().ToString();
    const exporting::DeviceDelivery::Progress progress = session.device->progress();
    for (GpuInfo& gpu : view.gpus)
      if (gpu.view.uuid == uuid)
        gpu.batches_ahead += static_cast<uint32_t>(progress.announced - progress.taken);
  }
  view.slots = core_.CountAll();
  for (const auto& [number, entry] : feeds_.entries()) {
    const std::shared_ptr<Feed> feed = entry.feed.lock();
    const std::optional<FeedView> counts = core_.View(FeedId(number));
    if (feed == nullptr || !counts || feed->canary) continue;
    view.feeds.push_back({.fingerprint = feed->fingerprint,
                          .dataset = feed->called,
                          .user = entry.user.value(),
                          .counts = *counts});
    AddFlow(*feed, view.feeds.back());
    for (const auto& [id, session] : sessions_)
      if (session.feed == feed) ++view.feeds.back().sessions;
  }
  return view;
}

// As the slots themselves say; of rows that are not filled yet, what was there before.
std::vector<uint64_t> Engine::SamplesInSlots(const DatasetState* dataset) const {
  absl::flat_hash_set<FeedId> feeds;
  uint64_t all = 0;
  for (const auto& [number, entry] : feeds_.entries()) {
    const std::shared_ptr<const DatasetState> state = entry.dataset.lock();
    if (state == nullptr || state.get() != dataset) continue;
    feeds.insert(FeedId(number));
    all = state->dataset->samples();
  }
  absl::flat_hash_set<uint64_t> samples;
  core_.ForEachSlot([&](SlotId slot, FeedId feed) {
    if (!feeds.contains(feed)) return;
    const pool::SlotPlace& place = pool_.Place(slot.value());
    for (uint64_t at = place.layout.ids_offset; at + sizeof(uint64_t) <= place.layout.slot_bytes;
         at += sizeof(uint64_t)) {
      uint64_t sample = 0;
      std::memcpy(&sample, place.data + at, sizeof(sample));
      if (sample < all) samples.insert(sample);
    }
  });
  return {samples.begin(), samples.end()};
}

TotalsView Engine::Totals(base::TimePoint now) {
  SettleCounts();
  TotalsView view{.by_dataset = dataset_counts_.all(),
                  .worker_restarts = workers_.restarts(),
                  .max_sessions = options_.admission.max_sessions};
  view.stalled_runs = static_cast<uint32_t>(held_.size());
  if (const auto since = held_.oldest_since()) view.longest_stall = now - *since;
  for (const copy::RowCopiers::Stall& stall : row_copiers_.Stalls(now)) {
    ++view.stalled_runs;
    view.longest_stall = std::max(view.longest_stall, now - stall.since);
  }
  return view;
}

// A feed's number stays as long as somebody may still find its slots.
void Engine::PruneFeeds() {
  if (!feeds_.HasIdle()) return;
  absl::flat_hash_set<FeedId> in_slots;
  core_.ForEachSlot([&](SlotId, FeedId feed) { in_slots.insert(feed); });
  feeds_.Prune(in_slots);
}

// A feed is forgotten when nobody has it any more, and its counts with it.
void Engine::SettleCounts() {
  for (const auto& [number, entry] : feeds_.entries()) {
    const FeedId id(number);
    dataset_counts_.Settle(id, core_.View(id).value_or(FeedView{}));
    if (entry.feed.expired()) dataset_counts_.Forget(id);
  }
}

// What the core hears of device delivery is that batches were copied; the consumer's own words say
// more.
SessionInfo Engine::InfoOf(uint64_t id, const Session& session) const {
  const SessionView view = core_.View(SessionId(id)).value_or(SessionView{});
  const OpenRequest& request = session.request;
  SessionInfo info = {.id = id,
                      .name = request.name,
                      .client = request.client,
                      .dataset = request.dataset_name,
                      .order = OrderWords(session.feed->spec),
                      .state = {},
                      .user = request.user,
                      .pid = request.pid,
                      .fingerprint = session.feed->fingerprint,
                      .rank = request.share.rank,
                      .world = request.share.world,
                      .batch_size = request.share.batch_size,
                      .window = view.window,
                      .epoch = session.epoch,
                      .consumed = session.consumed,
                      .announced = view.announced,
                      .taken = view.taken,
                      .released = view.released,
                      .delivery = request.delivery == session::Delivery::kPinned
                                      ? DeliveryKind::kPinned
                                      : DeliveryKind::kHost,
                      .delivery_reason = ReasonOf(request.delivery_reason, session.handle.reason),
                      .gpu = {}};
  if (session.device != nullptr) {
    const exporting::DeviceDelivery::Progress progress = session.device->progress();
    info.announced = progress.announced;
    info.taken = progress.taken;
    info.released = progress.released;
    info.delivery = DeliveryKind::kDevice;
    info.gpu = session.device->reservation().gpu().uuid().ToString();
    info.handle = session.handle.kind;
    info.device_depth = session.device->reservation().depth();
    info.on_device = progress.on_device;
  }
  info.phase = PhaseOf(session, view, info.announced > info.taken);
  info.state = InWords(info.phase, *session.feed);
  return info;
}

// `ready`: batches wait for the consumer.
SessionPhase Engine::PhaseOf(const Session& session, const SessionView& view, bool ready) const {
  if (session.ended) return SessionPhase::kEnded;
  if (view.finished) return SessionPhase::kFinished;
  if (ready) return SessionPhase::kRunning;
  if (view.announced - view.released >= view.window) return SessionPhase::kWaitingForTrainer;
  if (StallOf(*session.feed, now_)) return SessionPhase::kStalled;
  return session.feed->spec.storage == source::Storage::kEncoded ? SessionPhase::kDecoding
                                                                 : SessionPhase::kCopying;
}

std::string Engine::InWords(SessionPhase phase, const Feed& feed) const {
  switch (phase) {
    case SessionPhase::kRunning:
      return "running";
    case SessionPhase::kWaitingForTrainer:
      return "waiting for the trainer";
    case SessionPhase::kDecoding:
      return "decoding";
    case SessionPhase::kCopying:
      return "copying";
    case SessionPhase::kFinished:
      return "finished";
    case SessionPhase::kEnded:
      return "ended";
    case SessionPhase::kStalled:
      break;
  }
  const auto stall = *StallOf(feed, now_);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now_ - stall.since);
  return absl::StrCat("source stalled for ", seconds.count(), " s: ", stall.reason);
}

std::vector<SessionInfo> Engine::Sessions() const {
  std::vector<SessionInfo> infos;
  for (const auto& [id, session] : sessions_)
    if (!session.request.canary) infos.push_back(InfoOf(id, session));
  return infos;
}

std::vector<UserView> Engine::Users() const {
  std::vector<UserView> views;
  for (const UserTotals& totals : user_counts_.all()) views.push_back({.totals = totals});
  // Those beyond the limit are counted with the last entry, as their totals are.
  const auto view_of = [&](uint32_t user) -> UserView* {
    for (UserView& view : views)
      if (view.totals.user == user && !view.totals.others) return &view;
    return views.empty() || !views.back().totals.others ? nullptr : &views.back();
  };
  for (const auto& [id, session] : sessions_)
    if (UserView* view = session.request.canary ? nullptr : view_of(session.request.user))
      ++view->sessions;
  for (const workers::Supervisor::Served& worker : workers_.WhoIsServed())
    if (UserView* view = view_of(worker.user)) ++view->workers;
  for (const auto& [user, used] : pool_.UsedByUser())
    if (UserView* view = view_of(user)) {
      view->pool_bytes += used.segment_bytes;
      view->reserved_bytes += used.reserved_bytes;
    }
  return views;
}

absl::StatusOr<uint32_t> Engine::SetWorkers(uint32_t count) {
  if (count == 0) return absl::InvalidArgumentError("0 workers; wanted 1 to 1024");
  const uint32_t before = workers_.count();
  PENSTOCK_RETURN_IF_ERROR(workers_.SetCount(count));
  demand_.reset();  // whoever says a number means it
  return before;
}

std::vector<workers::WorkerView> Engine::Workers(base::TimePoint now) const {
  return workers_.View(now);
}

}  // namespace penstock::feed
