// Writes down what happens to samples and batches while somebody takes a trace. One trace at a
// time; while none is taken, nothing is kept.
//
// **Ownership**: owns the trace until it is answered.
// **Thread safety**: the runner's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/feed/engine/session_table.h"
#include "server/feed/fill/filler.h"
#include "server/feed/stats/trace.h"

namespace penstock::feed {

struct TraceRequest {
  base::Duration length{};
  std::optional<uint32_t> user = {};  // whose sessions and feeds; nothing: everybody's
  std::function<bool()> cancelled;    // asked several times a second: it ends early then
};

class TraceRecorder {
 public:
  using Traced = std::function<void(absl::StatusOr<Trace>)>;

  explicit TraceRecorder(const SessionTable& sessions) : sessions_(sessions) {}

  // Calls `done` exactly once: with what happened from now on.
  //
  // **Errors**: ResourceExhausted while another is being taken; but one of everybody's feeds ends
  // one of a single user's, which is answered Aborted.
  void Take(const TraceRequest& request, base::TimePoint now, Traced done);
  // Ends the trace if its time is up, or nobody waits for it any more.
  void Tick(base::TimePoint now);
  // Ends the trace, with what is under way: batches that nobody has released. Not OK: the answer.
  void End(const absl::Status& status, base::TimePoint now);

  // What happened. Ignored unless it is being traced.
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
