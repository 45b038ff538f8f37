#include "server/feed/engine/engine_views.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "server/feed/engine/samples.h"

namespace penstock::feed {
namespace {

// The client's words, then ours.
std::string ReasonOf(const std::string& delivery, const std::string& handle) {
  return absl::StrCat(delivery, delivery.empty() || handle.empty() ? "" : "; ", handle);
}

// Where it is delivered to, and what the consumer itself says: what the core hears of device
// delivery is that batches were copied.
void AddDevice(const SessionRecord& session, SessionInfo& info) {
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

void AddDevice(const SessionRecord& session, SessionProgress& progress) {
  const exporting::DeviceDelivery::Progress device = session.device->progress();
  progress.copying = static_cast<uint32_t>(progress.announced - device.announced);
  progress.announced = device.announced;
  progress.taken = device.taken;
  progress.released = device.released;
  progress.on_device = device.on_device;
  progress.device_depth = session.device->reservation().depth();
}

void AddWorkers(const std::vector<workers::WorkerView>& workers, const source::Dataset& dataset,
                base::TimePoint now, SessionProgress& progress) {
  for (const workers::WorkerView& worker : workers) {
    ++progress.workers;
    progress.workers_running += worker.state == workers::WorkerState::kRunning ||
                                        worker.state == workers::WorkerState::kUnused
                                    ? 1
                                    : 0;
    progress.workers_stalled += worker.stalled ? 1 : 0;
    progress.workers_busy += worker.utilisation / static_cast<double>(workers.size());
    if (const auto& in_hand = worker.in_hand;
        in_hand && in_hand->dataset == &dataset && now - in_hand->since > progress.in_hand) {
      progress.in_hand = now - in_hand->since;
      progress.in_hand_path = dataset.path(in_hand->sample);
    }
  }
}

}  // namespace

Vitals EngineViews::GetVitals() const {
  const pool::Usage pool = of_.pool.Used();
  const auto& sessions = of_.sessions.all();
  return {.sessions = of_.sessions.trainers(),
          .workers = of_.workers.count(),
          .workers_running = of_.workers.running(),
          .reserved_bytes = pool.reserved_bytes,
          .pool_bytes = pool.max_bytes,
          .draining = of_.drain.active(),
          .not_drained = static_cast<uint64_t>(
              std::count_if(sessions.begin(), sessions.end(),
                            [](const auto& entry) { return Drain::WaitsFor(entry.second); }))};
}

EngineView EngineViews::View() const {
  EngineView view{.pool = of_.pool.Used(),
                  .slots = of_.core.CountAll(),
                  .samples_decoded = of_.rows.decoded(),
                  .samples_replaced = of_.rows.replaced(),
                  .feeds = {},
                  .gpus = GpuInfos(),
                  .workers_asleep = of_.workers.asleep(),
                  .status = of_.status,
                  .draining = of_.drain.active()};
  for (const auto& [number, entry] : of_.feeds.entries()) {
    const std::shared_ptr<Feed> feed = entry.feed.lock();
    const std::optional<FeedView> counts = of_.core.View(FeedId(number));
    if (feed == nullptr || !counts || feed->canary) continue;
    view.feeds.push_back(InfoOf(entry, *feed, *counts));
  }
  return view;
}

FeedInfo EngineViews::InfoOf(const FeedBook::Entry& entry, const Feed& feed,
                             const FeedView& counts) const {
  const FlowFigures figures = of_.statistics.FiguresOf(
      feed, of_.workers.count(), of_.dispatch.StallOf(feed, of_.now), of_.now);
  FeedInfo info{.fingerprint = feed.fingerprint,
                .dataset = feed.called,
                .user = entry.user.value(),
                .counts = counts,
                .stages = feed.flow.sums(),
                .occupancy = feed.flow.occupancy.mean(),
                .starved = feed.flow.starved.mean(),
                .verdict = Judge(figures).words};
  for (const auto& [id, session] : of_.sessions.all())
    if (session.feed.get() == &feed) ++info.sessions;
  return info;
}

std::vector<GpuInfo> EngineViews::GpuInfos() const {
  std::vector<GpuInfo> gpus;
  for (exporting::GpuView& gpu : of_.gpus.View()) gpus.push_back({std::move(gpu), 0});
  for (const auto& [id, session] : of_.sessions.all()) {
    if (session.device == nullptr) continue;
    const std::string uuid = session.device->reservation().gpu().uuid().ToString();
    const exporting::DeviceDelivery::Progress progress = session.device->progress();
    for (GpuInfo& gpu : gpus)
      if (gpu.view.uuid == uuid)
        gpu.batches_ahead += static_cast<uint32_t>(progress.announced - progress.taken);
  }
  return gpus;
}

TotalsView EngineViews::Totals(base::TimePoint now) const {
  TotalsView view{.by_dataset = of_.statistics.datasets().all(),
                  .worker_restarts = of_.workers.restarts(),
                  .max_sessions = of_.max_sessions};
  view.stalled_runs = static_cast<uint32_t>(of_.dispatch.held().size());
  if (const auto since = of_.dispatch.held().oldest_since()) view.longest_stall = now - *since;
  for (const copy::RowCopiers::Stall& stall : of_.row_copiers.Stalls(now)) {
    ++view.stalled_runs;
    view.longest_stall = std::max(view.longest_stall, now - stall.since);
  }
  return view;
}

// ---- Sessions. ----

SessionInfo EngineViews::InfoOf(uint64_t id, const SessionRecord& session) const {
  const SessionView view = of_.sessions.ViewOf(id);
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
  if (session.device != nullptr) AddDevice(session, info);
  info.phase = PhaseOf(session, view, info.announced > info.taken);
  info.state = InWords(info.phase, *session.feed);
  return info;
}

// `ready`: batches wait for the consumer.
SessionPhase EngineViews::PhaseOf(const SessionRecord& session, const SessionView& view,
                                  bool ready) const {
  if (session.ended) return SessionPhase::kEnded;
  if (view.finished) return SessionPhase::kFinished;
  if (ready) return SessionPhase::kRunning;
  if (view.announced - view.released >= view.window) return SessionPhase::kWaitingForTrainer;
  if (of_.dispatch.StallOf(*session.feed, of_.now)) return SessionPhase::kStalled;
  return session.feed->spec.storage == source::Storage::kEncoded ? SessionPhase::kDecoding
                                                                 : SessionPhase::kCopying;
}

std::string EngineViews::InWords(SessionPhase phase, const Feed& feed) const {
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
  const auto stall = *of_.dispatch.StallOf(feed, of_.now);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(of_.now - stall.since);
  return absl::StrCat("source stalled for ", seconds.count(), " s: ", stall.reason);
}

std::vector<SessionInfo> EngineViews::Sessions() const {
  std::vector<SessionInfo> infos;
  for (const auto& [id, session] : of_.sessions.all())
    if (!session.request.canary) infos.push_back(InfoOf(id, session));
  return infos;
}

std::vector<SessionInfo> EngineViews::NotDrained() const {
  std::vector<SessionInfo> left;
  for (const auto& [id, session] : of_.sessions.all()) {
    if (!Drain::WaitsFor(session)) continue;
    left.push_back(InfoOf(id, session));
    left.back().rest_of_epoch = of_.drain.RestOf(id, session);
  }
  return left;
}

absl::StatusOr<SessionProgress> EngineViews::Progress(uint64_t peer, uint64_t id,
                                                      base::TimePoint now) const {
  PENSTOCK_ASSIGN_OR_RETURN(const SessionRecord* session, of_.sessions.FindOf(peer, id));
  const SessionView view = of_.sessions.ViewOf(id);
  const FeedView feed = of_.core.View(session->feed->id).value_or(FeedView{});
  SessionProgress progress = {.announced = view.announced,
                              .taken = view.taken,
                              .released = view.released,
                              .window = view.window,
                              .decoding = view.filling,
                              .samples_decoded = feed.rows_decoded,
                              .samples_replaced = feed.rows_replaced,
                              .samples_per_second = of_.statistics.rows_per_second(),
                              .sessions = static_cast<uint32_t>(of_.sessions.trainers()),
                              .stalled_reason = {},
                              .in_hand_path = {}};
  if (session->device != nullptr) AddDevice(*session, progress);
  AddWorkers(of_.workers.View(now), *session->feed->dataset->dataset, now, progress);
  if (const auto stall = of_.dispatch.StallOf(*session->feed, now)) {
    progress.stalled = now - stall->since;
    progress.stalled_reason = stall->reason;
  }
  return progress;
}

// ---- Users and slots. ----

std::vector<UserView> EngineViews::Users() const {
  std::vector<UserView> views;
  for (const UserTotals& totals : of_.statistics.users().all()) views.push_back({.totals = totals});
  // Those beyond the limit are counted with the last entry, as their totals are.
  const auto view_of = [&](uint32_t user) -> UserView* {
    for (UserView& view : views)
      if (view.totals.user == user && !view.totals.others) return &view;
    return views.empty() || !views.back().totals.others ? nullptr : &views.back();
  };
  for (const auto& [id, session] : of_.sessions.all())
    if (UserView* view = session.request.canary ? nullptr : view_of(session.request.user))
      ++view->sessions;
  for (const workers::Supervisor::Served& worker : of_.workers.WhoIsServed())
    if (UserView* view = view_of(worker.user)) ++view->workers;
  for (const auto& [user, used] : of_.pool.UsedByUser())
    if (UserView* view = view_of(user)) {
      view->pool_bytes += used.segment_bytes;
      view->reserved_bytes += used.reserved_bytes;
    }
  return views;
}

// As the slots themselves say; of rows that are not filled yet, what was there before.
std::vector<uint64_t> EngineViews::SamplesInSlots(const DatasetState* dataset) const {
  absl::flat_hash_set<FeedId> feeds;
  uint64_t all = 0;
  for (const auto& [number, entry] : of_.feeds.entries()) {
    const std::shared_ptr<const DatasetState> state = entry.dataset.lock();
    if (state == nullptr || state.get() != dataset) continue;
    feeds.insert(FeedId(number));
    all = state->dataset->samples();
  }
  absl::flat_hash_set<uint64_t> samples;
  of_.core.ForEachSlot([&](SlotId slot, FeedId feed) {
    if (!feeds.contains(feed)) return;
    const pool::SlotPlace& place = of_.pool.Place(slot.value());
    for (uint64_t at = place.layout.ids_offset; at + sizeof(uint64_t) <= place.layout.slot_bytes;
         at += sizeof(uint64_t)) {
      uint64_t sample = 0;
      std::memcpy(&sample, place.data + at, sizeof(sample));
      if (sample < all) samples.insert(sample);
    }
  });
  return {samples.begin(), samples.end()};
}

}  // namespace penstock::feed
