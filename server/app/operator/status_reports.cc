#include "server/app/operator/status_reports.h"

#include <unistd.h>

#include <algorithm>

#include "common/shm/doorway_wire.h"
#include "server/app/operator/bottleneck_message.h"
#include "server/app/version.h"

namespace penstock::app {
namespace {

void Fill(const feed::EngineView& view, v1::PoolStatus& pool) {
  pool.set_max_bytes(view.pool.max_bytes);
  pool.set_segment_bytes(view.pool.segment_bytes);
  pool.set_segments(view.pool.segments);
  pool.set_reserved_bytes(view.pool.reserved_bytes);
  pool.set_slots(view.pool.slots);
  pool.set_slots_held(view.slots.held);
  pool.set_slots_cached(view.slots.cached);
}

double Seconds(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }

void Fill(const feed::StageSums& sums, v1::StageTimes& stages) {
  stages.set_samples(sums.samples);
  stages.set_read_seconds(Seconds(sums.read));
  stages.set_queue_seconds(Seconds(sums.queue));
  stages.set_decode_seconds(Seconds(sums.decode));
  stages.set_batches(sums.batches);
  stages.set_assemble_seconds(Seconds(sums.assemble));
  stages.set_copies(sums.copies);
  stages.set_copy_seconds(Seconds(sums.copy));
  stages.set_waits(sums.waits);
  stages.set_consumer_seconds(Seconds(sums.consumer));
}

void Fill(const feed::FeedInfo& info, v1::FeedStatus& feed) {
  feed.set_fingerprint(info.fingerprint);
  feed.set_dataset(info.dataset);
  feed.set_user_id(info.user);
  feed.set_sessions(info.sessions);
  feed.set_batches_decoded(info.counts.batches_decoded);
  feed.set_batches_announced(info.counts.batches_announced);
  feed.set_samples_decoded(info.counts.rows_decoded);
  feed.set_samples_replaced(info.counts.rows_replaced);
  Fill(info.stages, *feed.mutable_stages());
  feed.set_occupancy(info.occupancy);
  feed.set_starved(info.starved);
  feed.set_verdict(info.verdict);
  feed.set_bottleneck(ToMessage(info.bottleneck));
}

void Fill(const feed::UserView& view, v1::UserStatus& user) {
  user.set_user_id(view.totals.user);
  user.set_others(view.totals.others);
  user.set_sessions(view.sessions);
  user.set_workers(view.workers);
  user.set_pool_bytes(view.pool_bytes);
  user.set_pool_reserved_bytes(view.reserved_bytes);
  user.set_samples_decoded(view.totals.rows_decoded);
  user.set_batches_announced(view.totals.batches_announced);
  user.set_decode_seconds(Seconds(view.totals.decode));
  user.set_worker_cpu_seconds(Seconds(view.totals.worker_cpu));
}

void Fill(const feed::GpuInfo& info, v1::GpuStatus& gpu) {
  gpu.set_uuid(info.view.uuid);
  gpu.set_name(info.view.name);
  gpu.set_state(info.view.state);
  gpu.set_sessions(info.view.sessions);
  gpu.set_slabs(info.view.slabs);
  gpu.set_slab_bytes(info.view.slab_bytes);
  gpu.set_slab_bytes_max(info.view.slab_bytes_max);
  gpu.set_context_bytes(info.view.context_bytes);
  gpu.set_copies(info.view.copies);
  gpu.set_copied_bytes(info.view.copied_bytes);
  gpu.set_copied_bytes_per_second(info.view.copied_bytes_per_second);
  gpu.set_copies_from_gpus(info.view.copies_from_gpus);
  gpu.set_batches_ahead(info.batches_ahead);
}

v1::Delivery MessageOf(feed::DeliveryKind kind) {
  switch (kind) {
    case feed::DeliveryKind::kHost:
      return v1::DELIVERY_HOST;
    case feed::DeliveryKind::kPinned:
      return v1::DELIVERY_PINNED;
    case feed::DeliveryKind::kDevice:
      return v1::DELIVERY_DEVICE;
  }
  return v1::DELIVERY_UNSPECIFIED;
}

void FillDelivery(const feed::SessionInfo& info, v1::SessionStatus& session) {
  session.set_delivery(MessageOf(info.delivery));
  session.set_delivery_reason(info.delivery_reason);
  session.set_gpu_share(info.gpu_share);
  if (info.delivery != feed::DeliveryKind::kDevice) return;
  session.set_gpu(info.gpu);
  session.set_handle_kind(info.handle == cuda::HandleKind::kIpc ? v1::HANDLE_KIND_IPC
                                                                : v1::HANDLE_KIND_VMM);
  session.set_device_depth(info.device_depth);
  session.set_on_device(info.on_device);
}

bool MaySee(const Opener& viewer, uint32_t user) {
  return viewer.is_operator || viewer.uid == user;
}

uint64_t Milliseconds(base::Duration duration) {
  return static_cast<uint64_t>(std::max<int64_t>(duration.count() / 1'000'000, 0));
}

std::string StateOf(const workers::WorkerView& worker, base::TimePoint now) {
  if (worker.stalled && !worker.in_hand)
    return absl::StrCat("source stalled for ", Milliseconds(now - worker.stalled->since) / 1000,
                        " s");
  switch (worker.state) {
    case workers::WorkerState::kStarting:
      return "starting";
    case workers::WorkerState::kRunning:
      return worker.in_hand ? "decoding" : "idle";
    case workers::WorkerState::kRestarting:
      return absl::StrCat("restarting: ", worker.last_death);
    case workers::WorkerState::kStopped:
      return absl::StrCat("stopped: ", worker.last_death);
    case workers::WorkerState::kRetiring:
      return "retiring";
    case workers::WorkerState::kUnused:
      return "not needed";
  }
  return "";
}

}  // namespace

v1::GetStatusResponse ReportStatus(const feed::Engine& engine, const Opener& viewer,
                                   base::TimePoint now) {
  const feed::EngineView view = engine.views().View();
  v1::GetStatusResponse response;
  response.set_version(kVersion);
  response.set_protocol_version(shm::kProtocolVersion);
  response.set_pid(getpid());
  response.set_serving(view.status.ok());
  // It may name the sample over which a worker died.
  if (!view.status.ok())
    response.set_reason(viewer.is_operator ? std::string(view.status.message())
                                           : "the daemon cannot continue; its operator sees why");
  response.set_draining(view.draining);
  if (view.draining) {
    response.set_serving(false);
    if (view.status.ok()) response.set_reason("draining");
  }
  Fill(view, *response.mutable_pool());
  uint64_t restarts = 0;
  uint32_t running = 0;
  const std::vector<workers::WorkerView> workers = engine.views().Workers(now);
  for (const workers::WorkerView& worker : workers) {
    restarts += worker.restarts;
    const bool is_unused = worker.state == workers::WorkerState::kUnused;
    running += worker.pid > 0 || is_unused ? 1 : 0;
  }
  response.set_workers(static_cast<uint32_t>(workers.size()));
  response.set_workers_running(running);
  response.set_workers_asleep(view.workers_asleep);
  response.set_workers_policy(engine.views().WorkersPolicy());
  response.set_worker_restarts(restarts);
  response.set_forbidden_calls(view.forbidden_calls);
  response.set_sessions(static_cast<uint32_t>(engine.sessions()));
  for (const feed::FeedInfo& info : view.feeds)
    if (MaySee(viewer, info.user)) Fill(info, *response.add_feeds());
  for (const feed::UserView& user : engine.views().Users())
    if (viewer.is_operator || (!user.totals.others && viewer.uid == user.totals.user))
      Fill(user, *response.add_users());
  const feed::MakersView makers = engine.views().Makers();
  if (makers.totals.hosts > 0) *response.mutable_python() = ReportPythonMakers(makers);
  response.set_samples_decoded(view.samples_decoded);
  for (const feed::GpuInfo& info : view.gpus) Fill(info, *response.add_gpus());
  return response;
}

v1::DrainResponse ReportDrain(const feed::Engine& engine) {
  constexpr int kMostShown = 100;
  const std::vector<feed::SessionInfo> left = engine.views().NotDrained();
  v1::DrainResponse response;
  response.set_done(left.empty());
  response.set_sessions_left(static_cast<uint32_t>(left.size()));
  for (const feed::SessionInfo& info : left) {
    if (response.waiting_for_size() == kMostShown) break;
    v1::DrainingSession& session = *response.add_waiting_for();
    session.set_session_id(info.id);
    session.set_name(info.name);
    session.set_dataset(info.dataset);
    session.set_user_id(info.user);
    session.set_pid(info.pid);
    session.set_epoch(info.epoch);
    session.set_batches_left(info.rest_of_epoch);
    session.set_state(info.state);
  }
  return response;
}

v1::ListSessionsResponse ReportSessions(const feed::Engine& engine, const Opener& viewer) {
  v1::ListSessionsResponse response;
  for (const feed::SessionInfo& info : engine.views().Sessions()) {
    if (!MaySee(viewer, info.user)) continue;
    v1::SessionStatus& session = *response.add_sessions();
    session.set_session_id(info.id);
    session.set_name(info.name);
    session.set_client(info.client);
    session.set_user_id(info.user);
    session.set_pid(info.pid);
    session.set_dataset(info.dataset);
    session.set_fingerprint(info.fingerprint);
    session.set_rank(info.rank);
    session.set_world_size(info.world);
    session.set_batch_size(info.batch_size);
    session.set_window(info.window);
    session.set_order(info.order);
    session.set_epoch(info.epoch);
    session.set_consumed(info.consumed);
    session.set_announced(info.announced);
    session.set_taken(info.taken);
    session.set_released(info.released);
    session.set_starved(info.starved);
    FillDelivery(info, session);
    session.set_state(info.state);
  }
  return response;
}

// Hides what a worker reads and why it died from everyone except operators, because both name a
// sample's path.
v1::ListWorkersResponse ReportWorkers(const feed::Engine& engine, const Opener& viewer,
                                      base::TimePoint now) {
  v1::ListWorkersResponse response;
  for (workers::WorkerView& view : engine.views().Workers(now)) {
    if (!viewer.is_operator) {
      if (view.user && *view.user != viewer.uid) continue;
      view.last_death = "its operator sees why";
      if (view.stalled) view.stalled->reason.clear();
    }
    *response.add_workers() = ReportWorker(view, now);
  }
  if (MaySee(viewer, ::geteuid()))
    for (const pyworkers::PyWorkerView& view : engine.views().PythonWorkers())
      *response.add_python_workers() = ReportPythonWorker(view, now);
  return response;
}

v1::WorkerStatus ReportWorker(const workers::WorkerView& view, base::TimePoint now) {
  v1::WorkerStatus worker;
  worker.set_index(view.number);
  worker.set_pid(view.pid);
  worker.set_state(StateOf(view, now));
  if (view.user) worker.set_user_id(*view.user);
  worker.set_samples_decoded(view.decoded);
  worker.set_restarts(view.restarts);
  if (view.in_hand) worker.set_in_hand_ms(Milliseconds(now - view.in_hand->since));
  if (view.stalled) worker.set_reading(view.stalled->reason);
  return worker;
}

v1::ListDatasetsResponse ReportDatasets(const std::vector<DatasetView>& datasets) {
  v1::ListDatasetsResponse response;
  for (const DatasetView& view : datasets) {
    v1::DatasetStatus& dataset = *response.add_datasets();
    dataset.set_name(view.name);
    dataset.set_path(view.path);
    dataset.set_indexed(view.state != nullptr);
    if (view.state == nullptr) continue;
    dataset.set_kind(std::string(view.state->dataset->kind()));
    dataset.set_samples(RangeOf(view).count);
    dataset.set_classes(static_cast<uint32_t>(view.state->dataset->classes().size()));
    dataset.set_digest(view.state->dataset->digest());
    dataset.set_quarantined(BadSamples(view));
  }
  return response;
}

}  // namespace penstock::app
