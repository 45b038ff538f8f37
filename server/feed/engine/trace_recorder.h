// Records what happens to samples and batches during a trace. Handles one trace at a time;
// otherwise records nothing.
//
// **Ownership**: owns the trace until it is answered. **Thread safety**: the runner's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/feed/fill/filler.h"
#include "server/feed/sessions/session_table.h"
#include "server/feed/stats/trace.h"

namespace penstock::feed {

struct TraceRequest {
  base::Duration length{};
  std::optional<uint32_t> user = {};  // whose sessions and feeds; unset: all users'
  std::function<bool()> cancelled;    // checked several times a second; true ends the trace early
};

class TraceRecorder {
 public:
  using Traced = std::function<void(absl::StatusOr<Trace>)>;

  explicit TraceRecorder(const SessionTable& sessions) : sessions_(sessions) {}

  // Calls `done` exactly once, with what happened from now on.
  //
  // **Errors**: ResourceExhausted if another trace is being taken. A trace of all users' feeds
  // replaces a trace of one user's, which ends as Aborted.
  void Take(const TraceRequest& request, base::TimePoint now, Traced done);
  // Ends the trace if its time is over or nobody waits for it any more.
  void Tick(base::TimePoint now);
  // Ends the trace, including batches that nobody has released. Not OK: the answer.
  void End(const absl::Status& status, base::TimePoint now);

  // Events. Ignored unless they are being traced.
  void RowsEnded(FillPath fill_path, const FillOutcome& outcome);
  void SlotFull(const SessionRecord& session, const Announcement& announcement,
                const FeedFlow::Filled& filled);
  void BatchReleased(uint64_t id, const SessionRecord& session,
                     const SessionFlow::BatchTimes& batch);

 private:
  struct Tracing {
    TraceLog log;
    TraceRequest request;
    base::TimePoint until;
    Traced done;
  };
  bool Traces(uint32_t user) const;

  const SessionTable& sessions_;
  std::optional<Tracing> tracing_;
};

}  // namespace penstock::feed
