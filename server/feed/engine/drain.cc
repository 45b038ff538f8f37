#include "server/feed/engine/drain.h"

#include <algorithm>
#include <vector>

#include "common/posix/failpoint.h"
#include "common/telemetry/log.h"

namespace penstock::feed {
namespace {

absl::Status LastEpoch() {
  return absl::UnavailableError(
      "the daemon is draining and has ended this session with its epoch; resume from the session's "
      "state "
      "when it serves again");
}

}  // namespace

void Drain::Set(bool draining, const session::AskedBy& asked_by) {
  if (draining != active_)
    PENSTOCK_LOG(kInfo, draining ? "draining" : "draining_cancelled", {"user", asked_by.user},
                 {"pid", asked_by.pid}, {"sessions", sessions_.trainers()});
  active_ = draining;
  if (draining) PENSTOCK_FAILPOINT("drain.begun");
  ends_at_.clear();
  for (const auto& [id, session] : sessions_.all()) {
    const uint64_t taken = sessions_.TakenOf(id, session);
    ends_at_[id] = taken + RestOfEpoch(session.epoch_batches, taken);
  }
  Tick();
}

absl::Status Drain::MayOpen() const {
  if (!active_) return absl::OkStatus();
  return absl::UnavailableError(
      "the daemon is draining and opens no sessions; try again when it serves");
}

// Batches of the next epoch that were already announced may still be taken, because they are
// complete.
void Drain::Tick() {
  if (!active_) return;
  for (const auto& [id, session] : sessions_.all()) {
    if (!WaitsFor(session) || sessions_.TakenOf(id, session) < EndOf(id)) continue;
    PENSTOCK_LOG(kInfo, "session_drained", {"session", id},
                 {"dataset", session.request.dataset_name});
    PENSTOCK_FAILPOINT("drain.session_ends");
    sessions_.End(id, LastEpoch());
  }
}

uint64_t Drain::RestOf(uint64_t id, const SessionRecord& session) const {
  const uint64_t end = EndOf(id);
  return end - std::min(end, sessions_.TakenOf(id, session));
}

uint64_t Drain::EndOf(uint64_t id) const {
  const auto found = ends_at_.find(id);
  return found == ends_at_.end() ? 0 : found->second;
}

}  // namespace penstock::feed
