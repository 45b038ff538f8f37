// One session, as status and its client are shown it: made of what the session, its feed and the
// core say at one moment. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "server/feed/core/core.h"
#include "server/feed/core/source_health.h"
#include "server/feed/engine/session_table.h"
#include "server/feed/stats/session_phase.h"
#include "server/feed/stats/views.h"
#include "server/workers/supervisor.h"

namespace penstock::feed {

// What session_phase judges by. `view`: the core's; `stall`: of its source, if there is one.
SessionFacts FactsOf(const SessionRecord& session, const SessionView& view, bool source_stalled);
// The phase for people. `stall`: of kStalled.
std::string InWords(SessionPhase phase, const std::optional<SourceHealth::Trouble>& stall,
                    base::TimePoint now);

// All but phase and state.
SessionInfo MakeSessionInfo(uint64_t id, const SessionRecord& session, const SessionView& view);

// The session's own batches. Of device delivery the consumer itself says more than the core, which
// hears that batches were copied.
SessionProgress MakeProgress(const SessionRecord& session, const SessionView& view);
// Adds what workers do: of samples those of its own dataset.
void AddWorkers(const std::vector<workers::WorkerView>& workers, const source::Dataset& dataset,
                base::TimePoint now, SessionProgress& progress);

}  // namespace penstock::feed
