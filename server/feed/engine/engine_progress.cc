// What a session waits for, as far as the daemon knows: its own batches, the workers that all
// sessions share, and of samples those of its own dataset.
#include "server/feed/engine/engine.h"

namespace penstock::feed {
namespace {

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

absl::StatusOr<SessionProgress> Engine::Progress(uint64_t peer, uint64_t id,
                                                 base::TimePoint now) const {
  const auto found = sessions_.find(id);
  if (found == sessions_.end())
    return absl::NotFoundError(absl::StrCat("session ", id, " is not open"));
  const Session& session = found->second;
  PENSTOCK_RETURN_IF_ERROR(CheckOwner(peer, id, session));

  const SessionView view = core_.View(SessionId(id)).value_or(SessionView{});
  const FeedView feed = core_.View(session.feed->id).value_or(FeedView{});
  SessionProgress progress = {.announced = view.announced,
                              .taken = view.taken,
                              .released = view.released,
                              .window = view.window,
                              .decoding = view.filling,
                              .samples_decoded = feed.rows_decoded,
                              .samples_replaced = feed.rows_replaced,
                              .samples_per_second = decoding_rate_.per_second(),
                              .sessions = static_cast<uint32_t>(sessions()),
                              .stalled_reason = {},
                              .in_hand_path = {}};
  if (session.device != nullptr) {
    const exporting::DeviceDelivery::Progress device = session.device->progress();
    progress.copying = static_cast<uint32_t>(view.announced - device.announced);
    progress.announced = device.announced;
    progress.taken = device.taken;
    progress.released = device.released;
    progress.on_device = device.on_device;
    progress.device_depth = session.device->reservation().depth();
  }
  AddWorkers(workers_.View(now), *session.feed->dataset->dataset, now, progress);
  if (const auto stall = StallOf(*session.feed, now)) {
    progress.stalled = now - stall->since;
    progress.stalled_reason = stall->reason;
  }
  return progress;
}

}  // namespace penstock::feed
