// One session as seen by status and by its client, from the state of the session, its feed and the
// core at one moment. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "server/feed/core/core.h"
#include "server/feed/core/source_health.h"
#include "server/feed/sessions/session_table.h"
#include "server/feed/stats/session_phase.h"
#include "server/feed/stats/views.h"
#include "server/workers/supervisor.h"

namespace penstock::feed {

// The input of session_phase. `view`: the core's; `source_stalled`: for its source.
SessionFacts MakeFacts(const SessionRecord& session, const SessionView& view, bool source_stalled);
// The phase as text. `stall`: for kStalled.
std::string InWords(SessionPhase phase, const std::optional<SourceHealth::Trouble>& stall,
                    base::TimePoint now);

// Everything except phase and state.
SessionInfo MakeSessionInfo(uint64_t id, const SessionRecord& session, const SessionView& view);

// The session's own batches. For device delivery, the consumer's reports say more than the core,
// which only knows that batches were copied.
SessionProgress MakeProgress(const SessionRecord& session, const SessionView& view);
// Adds what workers do. Only samples of the session's dataset that its own user's workers decode
// are named: another user may use samples of it that this one may not know of.
void AddWorkers(const std::vector<workers::WorkerView>& workers, const SessionRecord& session,
                base::TimePoint now, SessionProgress& progress);

}  // namespace penstock::feed
