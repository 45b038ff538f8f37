// Converts what a session waits for to the message for its client.
#include <algorithm>

#include "server/app/operator/status_reports.h"

namespace penstock::app {
namespace {

uint64_t WholeMilliseconds(base::Duration time) {
  return static_cast<uint64_t>(std::max<int64_t>(time.count() / 1'000'000, 0));
}

v1::SessionPhase PhaseMessageOf(feed::SessionPhase phase) {
  switch (phase) {
    case feed::SessionPhase::kRunning:
      return v1::SESSION_PHASE_RUNNING;
    case feed::SessionPhase::kWaitingForTrainer:
      return v1::SESSION_PHASE_WAITING_FOR_TRAINER;
    case feed::SessionPhase::kDecoding:
      return v1::SESSION_PHASE_DECODING;
    case feed::SessionPhase::kCopying:
      return v1::SESSION_PHASE_COPYING;
    case feed::SessionPhase::kStalled:
      return v1::SESSION_PHASE_STALLED;
    case feed::SessionPhase::kFinished:
      return v1::SESSION_PHASE_FINISHED;
    case feed::SessionPhase::kEnded:
      return v1::SESSION_PHASE_ENDED;
  }
  return v1::SESSION_PHASE_UNSPECIFIED;
}

std::optional<v1::PythonProgress> PythonMessageOf(
    const std::optional<feed::PythonProgress>& progress) {
  if (!progress) return std::nullopt;
  v1::PythonProgress message;
  message.set_has_host(progress->has_host);
  message.set_cores(progress->cores);
  message.set_has_batch_in_hand(progress->has_batch_in_hand);
  message.set_in_sample(progress->in_sample);
  message.set_sample(progress->sample);
  message.set_worker(progress->worker);
  message.set_worker_pid(static_cast<int32_t>(progress->worker_pid));
  return message;
}

}  // namespace

rpc::Progress ReportProgress(const feed::SessionProgress& progress) {
  return {.phase = PhaseMessageOf(progress.phase),
          .announced = progress.announced,
          .taken = progress.taken,
          .released = progress.released,
          .window = progress.window,
          .decoding = progress.decoding,
          .copying = progress.copying,
          .on_device = progress.on_device,
          .device_depth = progress.device_depth,
          .samples_decoded = progress.samples_decoded,
          .samples_replaced = progress.samples_replaced,
          .workers = progress.workers,
          .workers_running = progress.workers_running,
          .workers_stalled = progress.workers_stalled,
          .workers_busy = progress.workers_busy,
          .samples_per_second = progress.samples_per_second,
          .sessions = progress.sessions,
          .stalled_ms = WholeMilliseconds(progress.stalled),
          .in_hand_ms = WholeMilliseconds(progress.in_hand),
          .stalled_reason = progress.stalled_reason,
          .in_hand = progress.in_hand_path,
          .python = PythonMessageOf(progress.python)};
}

}  // namespace penstock::app
