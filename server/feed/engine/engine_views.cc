#include "server/feed/engine/engine_views.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "server/feed/fill/runs.h"
#include "server/feed/sessions/session_info.h"

namespace penstock::feed {

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
                  .samples_decoded = of_.rows.decoded() + of_.made.samples(),
                  .samples_replaced = of_.rows.replaced(),
                  .feeds = {},
                  .gpus = GpuInfos(),
                  .workers_asleep = of_.workers.asleep(),
                  .forbidden_calls = of_.workers.forbidden_calls(),
                  .status = of_.status,
                  .draining = of_.drain.active()};
  std::vector<FlowFigures> figures;
  for (const auto& [number, entry] : of_.feeds.entries()) {
    const std::shared_ptr<Feed> feed = entry.feed.lock();
    const std::optional<FeedView> counts = of_.core.View(FeedId(number));
    if (feed == nullptr || !counts || feed->canary) continue;
    view.feeds.push_back(MakeInfo(entry, *feed, *counts));
    figures.push_back(ToFigures(*feed));
  }
  std::vector<FlowVerdict> verdicts = JudgeTogether(std::move(figures));
  for (size_t i = 0; i < verdicts.size(); ++i) {
    view.feeds[i].verdict = std::move(verdicts[i].words);
    view.feeds[i].bottleneck = verdicts[i].bottleneck;
  }
  return view;
}

FeedInfo EngineViews::MakeInfo(const FeedBook::Entry& entry, const Feed& feed,
                               const FeedView& counts) const {
  FeedInfo info{.fingerprint = feed.fingerprint,
                .dataset = feed.called,
                .user = entry.user.value(),
                .counts = counts,
                .stages = feed.flow.sums(),
                .occupancy = feed.flow.occupancy.mean(),
                .starved = feed.flow.starved.mean()};
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
    const exporting::DeviceDelivery::CopyProgress progress = session.device->progress();
    for (GpuInfo& gpu : gpus)
      if (gpu.view.uuid == uuid)
        gpu.batches_ahead += static_cast<uint32_t>(progress.announced - progress.taken);
  }
  return gpus;
}

TotalsView EngineViews::Totals(base::TimePoint now) const {
  TotalsView view{.by_dataset = of_.statistics.datasets().all(),
                  .worker_restarts = of_.workers.restarts(),
                  .forbidden_calls = of_.workers.forbidden_calls(),
                  .max_sessions = of_.max_sessions};
  view.stalled_runs = static_cast<uint32_t>(of_.dispatch.held().size());
  if (const auto since = of_.dispatch.held().oldest_since()) view.longest_stall = now - *since;
  for (const copy::RowCopiers::StalledCopy& stall : of_.row_copiers.Stalls(now)) {
    ++view.stalled_runs;
    view.longest_stall = std::max(view.longest_stall, now - stall.since);
  }
  return view;
}

// ---- Sessions ----

SessionInfo EngineViews::MakeInfo(uint64_t id, const SessionRecord& session) const {
  SessionInfo info = MakeSessionInfo(id, session, of_.sessions.ViewOf(id));
  info.starved = of_.statistics.StarvedOf(id);
  info.phase = PhaseOf(id, session);
  info.state = InWords(info.phase, of_.dispatch.StallOf(*session.feed, of_.now), of_.now);
  if (info.phase == SessionPhase::kDecoding && ToFillPath(session.feed->spec) == FillPath::kPython)
    info.state = HasHost(*session.feed)
                     ? "making batches in Python"
                     : "waiting for the host of the dataset to be forked by its trainer";
  return info;
}

SessionPhase EngineViews::PhaseOf(uint64_t id, const SessionRecord& session) const {
  const bool stalled = of_.dispatch.StallOf(*session.feed, of_.now).has_value();
  return feed::PhaseOf(MakeFacts(session, of_.sessions.ViewOf(id), stalled));
}

bool EngineViews::AnyWaitsForItsSource(const Feed& feed) const {
  const auto& all = of_.sessions.all();
  return std::any_of(all.begin(), all.end(), [&](const auto& entry) {
    return entry.second.feed.get() == &feed &&
           PhaseOf(entry.first, entry.second) == SessionPhase::kStalled;
  });
}

const pyworkers::DatasetSupply* EngineViews::SupplyOf(const Feed& feed) const {
  const auto found = of_.hosts.supplies().find(feed.dataset.get());
  return found == of_.hosts.supplies().end() ? nullptr : found->second.get();
}

bool EngineViews::HasHost(const Feed& feed) const {
  const pyworkers::DatasetSupply* supply = SupplyOf(feed);
  return supply != nullptr && supply->has_host();
}

MakersView EngineViews::Makers() const {
  MakersView makers = {.totals = of_.hosts.Totals(of_.now),
                       .workers = of_.hosts.View(),
                       .busy = of_.statistics.python_busy(),
                       .granted_bytes = of_.pool.Used().granted_bytes,
                       .refused = of_.hosts.refused()};
  for (const auto& [dataset, supply] : of_.hosts.supplies())
    makers.hosts += supply->has_host() ? 1 : 0;
  return makers;
}

// The batch in hand that made no progress for longest is what a session waits for.
void EngineViews::AddPython(const Feed& feed, base::TimePoint now,
                            SessionProgress& progress) const {
  PythonProgress& python = progress.python.emplace();
  python.cores = of_.cores;
  progress.workers_busy = feed.flow.workers.mean();
  const pyworkers::DatasetSupply* supply = SupplyOf(feed);
  if (supply == nullptr) return;
  python.has_host = supply->has_host();
  progress.workers = supply->workers();
  progress.workers_running = supply->ready();
  std::vector<pyworkers::PyWorkerView> workers;
  supply->View(workers);
  for (const pyworkers::PyWorkerView& worker : workers) {
    if (!worker.in_hand) continue;
    const auto sample = of_.made.SampleOf(feed, worker.in_hand->item, worker.in_hand->row);
    const base::Duration time = now - worker.in_hand->progress;
    if (!sample || (python.has_batch_in_hand && time <= progress.in_hand)) continue;
    progress.in_hand = time;
    python.has_batch_in_hand = true;
    python.worker = worker.place;
    python.worker_pid = worker.pid;
    python.sample = *sample;
    python.in_sample = worker.in_hand->row.has_value();
  }
}

// A stall delays nobody while batches are still ready.
FlowFigures EngineViews::ToFigures(const Feed& feed) const {
  auto stall = of_.dispatch.StallOf(feed, of_.now);
  if (stall && !AnyWaitsForItsSource(feed)) stall.reset();
  if (ToFillPath(feed.spec) != FillPath::kPython) {
    FlowFigures figures = of_.statistics.ToFigures(feed, of_.workers.count(), stall, of_.now);
    if (feed.dataset->dataset->is_remote()) figures.store = of_.store_flow();
    figures.cores = of_.cores;
    return figures;
  }
  const pyworkers::DatasetSupply* supply = SupplyOf(feed);
  FlowFigures figures =
      of_.statistics.ToFigures(feed, supply == nullptr ? 0 : supply->workers(), stall, of_.now);
  figures.making = {.has_host = HasHost(feed),
                    .ready = supply == nullptr ? 0 : supply->ready(),
                    .occupancy = feed.flow.occupancy.mean()};
  figures.cores = of_.cores;
  return figures;
}

std::vector<SessionInfo> EngineViews::Sessions() const {
  std::vector<SessionInfo> infos;
  for (const auto& [id, session] : of_.sessions.all())
    if (!session.request.canary) infos.push_back(MakeInfo(id, session));
  return infos;
}

std::vector<SessionInfo> EngineViews::NotDrained() const {
  std::vector<SessionInfo> left;
  for (const auto& [id, session] : of_.sessions.all()) {
    if (!Drain::WaitsFor(session)) continue;
    left.push_back(MakeInfo(id, session));
    left.back().rest_of_epoch = of_.drain.RestOf(id, session);
  }
  return left;
}

absl::StatusOr<SessionProgress> EngineViews::Progress(uint64_t peer, uint64_t id,
                                                      base::TimePoint now) const {
  PENSTOCK_ASSIGN_OR_RETURN(const SessionRecord* session, of_.sessions.FindOf(peer, id));
  const FeedView feed = of_.core.View(session->feed->id).value_or(FeedView{});
  SessionProgress progress = MakeProgress(*session, of_.sessions.ViewOf(id));
  progress.samples_decoded = feed.rows_decoded;
  progress.samples_replaced = feed.rows_replaced;
  progress.samples_per_second = of_.statistics.rows_per_second();
  progress.sessions = static_cast<uint32_t>(of_.sessions.trainers());
  progress.phase = PhaseOf(id, *session);
  if (ToFillPath(session->feed->spec) == FillPath::kPython) {
    AddPython(*session->feed, now, progress);
  } else {
    AddWorkers(of_.workers.View(now), *session, now, progress);
  }
  if (const auto stall = of_.dispatch.StallOf(*session->feed, now)) {
    progress.stalled = now - stall->since;
    progress.stalled_reason = stall->reason;
  }
  return progress;
}

// ---- Users and slots ----

std::vector<UserView> EngineViews::Users() const {
  std::vector<UserView> views;
  for (const UserTotals& totals : of_.statistics.users().all()) views.push_back({.totals = totals});
  // Users beyond the limit share the last entry, like their totals.
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

// Read from the slots; rows that are not yet filled give their previous content.
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
    // Not beyond: the system allocates pages even for reads of a sparse slot's empty part.
    const uint64_t end = place.layout.promised_bytes();
    for (uint64_t at = place.layout.ids_offset; at + sizeof(uint64_t) <= end;
         at += sizeof(uint64_t)) {
      uint64_t sample = 0;
      std::memcpy(&sample, place.data + at, sizeof(sample));
      if (sample < all) samples.insert(sample);
    }
  });
  return {samples.begin(), samples.end()};
}

}  // namespace penstock::feed
