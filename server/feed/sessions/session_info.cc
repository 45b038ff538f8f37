#include "server/feed/sessions/session_info.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "server/feed/fill/runs.h"
#include "server/feed/identity/samples.h"

namespace penstock::feed {
namespace {

// Joins the client's reason for the delivery and the daemon's reason for the handle.
std::string ReasonOf(const std::string& delivery, const std::string& handle) {
  return absl::StrCat(delivery, delivery.empty() || handle.empty() ? "" : "; ", handle);
}

// Adds the delivery's GPU and the consumer's report, because the core knows only that batches were
// copied.
void AddDevice(const SessionRecord& session, SessionInfo& info) {
  const exporting::DeviceDelivery::CopyProgress progress = session.device->progress();
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
  const exporting::DeviceDelivery::CopyProgress device = session.device->progress();
  progress.copying = static_cast<uint32_t>(progress.announced - device.announced);
  progress.announced = device.announced;
  progress.taken = device.taken;
  progress.released = device.released;
  progress.on_device = device.on_device;
  progress.device_depth = session.device->reservation().depth();
}

}  // namespace

SessionFacts MakeFacts(const SessionRecord& session, const SessionView& view, bool source_stalled) {
  SessionFacts facts = {.ended = session.ended,
                        .finished = view.finished,
                        .ready = view.announced - view.taken,
                        .held = view.announced - view.released,
                        .window = view.window,
                        .source_stalled = source_stalled,
                        .fill_path = ToFillPath(session.feed->spec)};
  if (session.device == nullptr) return facts;
  const exporting::DeviceDelivery::CopyProgress progress = session.device->progress();
  facts.ready = progress.announced - progress.taken;
  facts.to_copy = view.announced - progress.announced;
  facts.on_device = progress.on_device;
  facts.device_depth = session.device->reservation().depth();
  return facts;
}

std::string InWords(SessionPhase phase, const std::optional<SourceHealth::Trouble>& stall,
                    base::TimePoint now) {
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
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - stall->since);
  return absl::StrCat("source stalled for ", seconds.count(), " s: ", stall->reason);
}

// Of all samples, 0 to 1.
double ShareOf(const decode::Undecoded& undecoded) {
  constexpr double kWhole = 1.0 / UINT32_MAX;
  return undecoded.place_bytes == 0 ? 0 : undecoded.share * kWhole;
}

SessionInfo MakeSessionInfo(uint64_t id, const SessionRecord& session, const SessionView& view) {
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
                      .gpu_share = ShareOf(session.feed->spec.decoding.undecoded),
                      .gpu = {}};
  if (session.device != nullptr) AddDevice(session, info);
  return info;
}

SessionProgress MakeProgress(const SessionRecord& session, const SessionView& view) {
  SessionProgress progress = {.announced = view.announced,
                              .taken = view.taken,
                              .released = view.released,
                              .window = view.window,
                              .decoding = view.filling,
                              .stalled_reason = {},
                              .in_hand_path = {}};
  if (session.device != nullptr) AddDevice(session, progress);
  return progress;
}

void AddWorkers(const std::vector<workers::WorkerView>& workers, const SessionRecord& session,
                base::TimePoint now, SessionProgress& progress) {
  const source::Dataset& dataset = *session.feed->dataset->dataset;
  for (const workers::WorkerView& worker : workers) {
    ++progress.workers;
    progress.workers_running += worker.state == workers::WorkerState::kRunning ||
                                        worker.state == workers::WorkerState::kUnused
                                    ? 1
                                    : 0;
    progress.workers_stalled += worker.stalled ? 1 : 0;
    progress.workers_busy += worker.utilisation / static_cast<double>(workers.size());
    if (worker.user != session.request.user) continue;
    if (const auto& in_hand = worker.in_hand;
        in_hand && in_hand->dataset == &dataset && now - in_hand->since > progress.in_hand) {
      progress.in_hand = now - in_hand->since;
      progress.in_hand_path = dataset.path(in_hand->sample);
    }
  }
}

}  // namespace penstock::feed
