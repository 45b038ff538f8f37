// How the daemon is emptied: nobody comes in any more, and each session ends with its epoch.
#include <algorithm>

#include "common/telemetry/log.h"
#include "server/feed/engine/engine.h"

namespace penstock::feed {
namespace {

absl::Status Draining() {
  return absl::UnavailableError(
      "the daemon is draining: this epoch was the last that it fed; go on from the session's state "
      "once it serves again");
}

}  // namespace

void Engine::SetDraining(bool draining) {
  if (draining != draining_)
    PENSTOCK_LOG(kInfo, draining ? "draining" : "draining_cancelled", {"sessions", sessions()});
  draining_ = draining;
  for (auto& [id, session] : sessions_) {
    const uint64_t taken = TakenOf(id, session);
    session.drained_at = taken + RestOfEpoch(session.epoch_batches, taken);
  }
  EndDrained();
}

uint64_t Engine::TakenOf(uint64_t id, const Session& session) const {
  if (session.device != nullptr) return session.device->progress().taken;
  return core_.View(SessionId(id)).value_or(SessionView{}).taken;
}

// Batches of the next epoch that were announced already may still be taken: they are complete.
void Engine::EndDrained() {
  if (!draining_) return;
  for (auto& [id, session] : sessions_) {
    if (session.ended || session.request.canary) continue;
    if (TakenOf(id, session) < session.drained_at) continue;
    session.ended = true;
    PENSTOCK_LOG(kInfo, "session_drained", {"session", id},
                 {"dataset", session.request.dataset_name});
    session.delivery->Finish(shm::SessionState::kClosing, Draining());
    core_.DetachSession(SessionId(id));
  }
}

std::vector<SessionInfo> Engine::NotDrained() const {
  std::vector<SessionInfo> left;
  for (const auto& [id, session] : sessions_) {
    if (session.ended || session.request.canary) continue;
    left.push_back(InfoOf(id, session));
    left.back().rest_of_epoch =
        session.drained_at - std::min(session.drained_at, TakenOf(id, session));
  }
  return left;
}

}  // namespace penstock::feed
