#include "server/app/operator/metrics_snapshot.h"

#include <algorithm>
#include <set>

#include "common/base/check.h"
#include "common/base/fault.h"

namespace penstock::app {
namespace {

// The index of a name in one of the snapshot's lists.
template <size_t N>
size_t PlaceOf(absl::string_view name, const std::array<absl::string_view, N>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  PENSTOCK_CHECK(found != names.end());
  return static_cast<size_t>(found - names.begin());
}

absl::string_view DeliveryOf(feed::DeliveryKind kind) {
  switch (kind) {
    case feed::DeliveryKind::kHost:
      return "host";
    case feed::DeliveryKind::kPinned:
      return "pinned";
    case feed::DeliveryKind::kDevice:
      return "device";
  }
  return "host";
}

absl::string_view NameOf(feed::SessionPhase phase) {
  switch (phase) {
    case feed::SessionPhase::kRunning:
      return "running";
    case feed::SessionPhase::kWaitingForTrainer:
      return "waiting_for_trainer";
    case feed::SessionPhase::kDecoding:
      return "decoding";
    case feed::SessionPhase::kCopying:
      return "copying";
    case feed::SessionPhase::kStalled:
      return "stalled";
    case feed::SessionPhase::kFinished:
      return "finished";
    case feed::SessionPhase::kEnded:
      return "ended";
  }
  return "ended";
}

absl::string_view NameOf(const workers::WorkerView& worker) {
  if (worker.stalled && !worker.in_hand) return "stalled";
  switch (worker.state) {
    case workers::WorkerState::kStarting:
      return "starting";
    case workers::WorkerState::kRunning:
      return worker.in_hand ? "decoding" : "idle";
    case workers::WorkerState::kRestarting:
      return "restarting";
    case workers::WorkerState::kStopped:
      return "stopped";
    case workers::WorkerState::kRetiring:
      return "retiring";
    case workers::WorkerState::kUnused:
      return "unused";
  }
  return "stopped";
}

absl::string_view NameOf(const pyworkers::PyWorkerView& worker) {
  switch (worker.state) {
    case pyworkers::PlaceState::kAsked:
    case pyworkers::PlaceState::kEntered:
      return "starting";
    case pyworkers::PlaceState::kReady:
      return worker.in_hand ? "making" : "idle";
    case pyworkers::PlaceState::kEmpty:
    case pyworkers::PlaceState::kDead:
      return "waiting";
  }
  return "waiting";
}

void AddPool(const feed::EngineView& view, status::Snapshot& snapshot) {
  snapshot.segments = view.pool.segments;
  snapshot.segment_bytes = view.pool.segment_bytes;
  const feed::SlotCounts& slots = view.slots;
  const uint64_t taken = uint64_t{slots.held} + slots.filling + slots.cached;
  snapshot.slots[PlaceOf("held", status::kSlotStates)] = slots.held;
  snapshot.slots[PlaceOf("filling", status::kSlotStates)] = slots.filling;
  snapshot.slots[PlaceOf("cached", status::kSlotStates)] = slots.cached;
  snapshot.slots[PlaceOf("free", status::kSlotStates)] =
      slots.slots - std::min<uint64_t>(taken, slots.slots);
}

status::StageTotals& StageOf(absl::string_view name, status::DatasetFigures& counts) {
  return counts.stages[PlaceOf(name, status::kStages)];
}

double ToSeconds(base::Duration time) { return std::chrono::duration<double>(time).count(); }

status::TimesFacts ToTimes(const feed::TimeHistogram& times) {
  status::TimesFacts facts = {.sum_seconds = ToSeconds(times.sum())};
  for (const auto limit : feed::TimeHistogram::kLimits) facts.limits.push_back(ToSeconds(limit));
  for (size_t i = 0; i < times.buckets().size(); ++i) {
    status::TimesFacts::Bucket& bucket = facts.buckets.emplace_back();
    bucket.count = times.buckets()[i];
    const feed::TimeExemplar& example = times.exemplars()[i];
    if (example.session != 0)
      bucket.example = {.session = example.session,
                        .trace_id = example.trace_id,
                        .seconds = ToSeconds(example.took)};
  }
  return facts;
}

void AddTotals(const feed::TotalsView& totals, status::Snapshot& snapshot) {
  AddCounts(totals.by_dataset, snapshot);
  snapshot.worker_restarts = totals.worker_restarts;
  snapshot.forbidden_calls = totals.forbidden_calls;
  snapshot.max_sessions = totals.max_sessions;
  snapshot.stalls += totals.stalled_runs;
  snapshot.longest_stall = std::max(snapshot.longest_stall, totals.longest_stall);
}

void AddGpu(const feed::GpuInfo& gpu, status::Snapshot& snapshot) {
  snapshot.gpus.push_back({.uuid = gpu.view.uuid,
                           .name = gpu.view.name,
                           .serving = gpu.view.state == "serving",
                           .sessions = gpu.view.sessions,
                           .batches_ahead = gpu.batches_ahead,
                           .slab_bytes = gpu.view.slab_bytes,
                           .slab_bytes_max = gpu.view.slab_bytes_max,
                           .context_bytes = gpu.view.context_bytes,
                           .copies = gpu.view.copies,
                           .copied_bytes = gpu.view.copied_bytes,
                           .copies_from_gpus = gpu.view.copies_from_gpus});
}

}  // namespace

void AddSession(const feed::SessionInfo& session, status::Snapshot& snapshot) {
  const size_t delivery = PlaceOf(DeliveryOf(session.delivery), status::kDeliveries);
  ++snapshot.sessions[delivery][PlaceOf(NameOf(session.phase), status::kSessionStates)];
  snapshot.window += session.window;
  snapshot.ready += session.announced - std::min(session.taken, session.announced);
  snapshot.held += session.taken - std::min(session.released, session.taken);
}

void AddCounts(const std::map<std::string, feed::DatasetTotals>& totals,
               status::Snapshot& snapshot) {
  for (const auto& [dataset, total] : totals) {
    const feed::StageSums& sums = total.flow.stages;
    status::DatasetFigures& counts = snapshot.counts[dataset];
    counts.batches_decoded = total.counts.batches_decoded;
    counts.batches_announced = total.counts.batches_announced;
    counts.samples_decoded = total.counts.rows_decoded;
    counts.samples_replaced = total.counts.rows_replaced;
    StageOf("read", counts) = {sums.samples, sums.read};
    StageOf("queue", counts) = {sums.samples, sums.queue};
    StageOf("decode", counts) = {sums.samples, sums.decode};
    StageOf("assemble", counts) = {sums.batches, sums.assemble};
    StageOf("copy", counts) = {sums.copies, sums.copy};
    StageOf("consumer", counts) = {sums.waits, sums.consumer};
    const feed::FlowTimes& times = total.flow.times;
    counts.times = {ToTimes(times.read), ToTimes(times.decode), ToTimes(times.hand_over),
                    ToTimes(times.copy), ToTimes(times.ready),  ToTimes(times.trainer)};
    counts.sessions_open = total.flow.open;
    counts.sessions_filled = total.flow.filled;
    counts.sessions_starved = total.flow.starved;
  }
}

void AddWorkers(const std::vector<workers::WorkerView>& workers, base::TimePoint now,
                status::Snapshot& snapshot) {
  double busy = 0;
  for (const workers::WorkerView& worker : workers) {
    ++snapshot.workers[PlaceOf(NameOf(worker), status::kWorkerStates)];
    busy += worker.utilisation;
    if (!worker.stalled) continue;
    ++snapshot.stalls;
    snapshot.longest_stall = std::max(snapshot.longest_stall, now - worker.stalled->since);
  }
  snapshot.workers_busy = workers.empty() ? 0 : busy / static_cast<double>(workers.size());
}

void AddPython(const feed::MakersView& makers, status::Snapshot& snapshot) {
  status::PythonFacts& python = snapshot.python;
  python = {.hosts = makers.hosts,
            .busy = makers.busy,
            .batches = makers.totals.made,
            .raised = makers.totals.raised,
            .lost = makers.totals.lost,
            .deaths = makers.totals.deaths,
            .making = makers.totals.making,
            .granted_bytes = makers.granted_bytes,
            .refused = makers.refused};
  for (const pyworkers::PyWorkerView& worker : makers.workers)
    ++python.workers[PlaceOf(NameOf(worker), status::kPythonWorkerStates)];
}

// Several names for ranges of a dataset count as one dataset. A dataset without a configured name
// is not named.
void AddDatasets(const std::vector<DatasetView>& datasets, status::Snapshot& snapshot) {
  std::set<const feed::DatasetState*> seen;
  for (const DatasetView& view : datasets) {
    if (view.state == nullptr || !seen.insert(view.state.get()).second) continue;
    status::DatasetFacts& facts = snapshot.datasets.emplace_back();
    facts.name = feed::DatasetCounts::NameOf(view.state->name);
    facts.samples = view.state->dataset->samples();
    for (const auto& [fault, count] : view.state->quarantine.by_fault())
      facts.bad[std::string(base::FaultName(fault))] = count;
  }
}

void AddUsers(const std::vector<feed::UserView>& users, status::Snapshot& snapshot) {
  for (const feed::UserView& user : users)
    snapshot.users.push_back({.user = user.totals.user,
                              .others = user.totals.others,
                              .sessions = user.sessions,
                              .pool_bytes = user.pool_bytes,
                              .reserved_bytes = user.reserved_bytes,
                              .workers = user.workers,
                              .samples_decoded = user.totals.rows_decoded,
                              .worker_cpu = user.totals.worker_cpu});
}

status::Snapshot TakeSnapshot(feed::Engine& engine, const std::vector<DatasetView>& datasets,
                              base::TimePoint now) {
  status::Snapshot snapshot;
  const feed::EngineView view = engine.views().View();
  AddPool(view, snapshot);
  snapshot.feeds = static_cast<uint32_t>(view.feeds.size());
  for (const feed::SessionInfo& session : engine.views().Sessions()) AddSession(session, snapshot);
  AddWorkers(engine.views().Workers(now), now, snapshot);
  snapshot.workers[PlaceOf("asleep", status::kWorkerStates)] = view.workers_asleep;
  AddPython(engine.views().Makers(), snapshot);
  AddTotals(engine.Totals(now), snapshot);
  for (const feed::GpuInfo& gpu : view.gpus) AddGpu(gpu, snapshot);
  AddDatasets(datasets, snapshot);
  AddUsers(engine.views().Users(), snapshot);
  return snapshot;
}

}  // namespace penstock::app
