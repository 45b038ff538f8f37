#include "server/feed/stats/session_phase.h"

namespace penstock::feed {

// Checks from the trainer backwards: the session waits for whoever must act next.
SessionPhase PhaseOf(const SessionFacts& facts) {
  if (facts.ended) return SessionPhase::kEnded;
  if (facts.finished) return SessionPhase::kFinished;
  if (facts.ready > 0) return SessionPhase::kRunning;
  if (facts.to_copy > 0)
    return facts.on_device >= facts.device_depth ? SessionPhase::kWaitingForTrainer
                                                 : SessionPhase::kCopying;
  if (facts.held >= facts.window) return SessionPhase::kWaitingForTrainer;
  if (facts.source_stalled) return SessionPhase::kStalled;
  return facts.fill_path == FillPath::kWorkers || facts.fill_path == FillPath::kPython
             ? SessionPhase::kDecoding
             : SessionPhase::kCopying;
}

}  // namespace penstock::feed
