// Records what happens to samples and batches during a trace. Bounded: events beyond the limit are
// counted and dropped.
// **Ownership**: owned by the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "server/feed/stats/flow.h"

namespace penstock::feed {

// A sample decoded by a worker, or a run of rows copied by a row copier.
struct TraceRows {
  uint64_t feed = 0;  // FeedId
  SlotFill fill;
  bool carried = false;
  bool done = true;     // false: it failed and is tried again
  uint32_t rows = 1;    // for a run
  uint64_t sample = 0;  // for a worker's row
  uint32_t worker = 0;
  // In this order.
  base::TimePoint given{}, read_begin{}, read_end{}, decode_begin{}, ended{};
};

struct TraceFill {
  uint64_t feed = 0;
  SlotFill fill;
  uint64_t epoch = 0, first = 0;  // the batch's position
  base::TimePoint begun{}, ended{};
};

// One session's batch; times after the end of the trace are zero.
struct TraceBatch {
  uint64_t session = 0;
  bool device = false;
  SessionFlow::BatchTimes batch;
};

struct Trace {
  base::TimePoint begun{}, ended{};
  std::vector<TraceRows> rows;
  std::vector<TraceFill> fills;
  std::vector<TraceBatch> batches;
  std::map<uint64_t, std::string> feeds;     // names by FeedId
  std::map<uint64_t, std::string> sessions;  // names by number
  // By number, of sessions that were opened in a distributed trace: "trace_id=… parent_id=…".
  std::map<uint64_t, std::string> contexts;
  uint64_t dropped = 0;
};

class TraceLog {
 public:
  static constexpr size_t kMost = 200'000;

  explicit TraceLog(base::TimePoint begun, size_t most = kMost) : most_(most) {
    trace_.begun = begun;
  }

  void Add(const TraceRows& rows) { AddTo(trace_.rows, rows); }
  void Add(const TraceFill& fill) { AddTo(trace_.fills, fill); }
  void Add(const TraceBatch& batch) { AddTo(trace_.batches, batch); }
  void NameFeed(uint64_t feed, const std::string& name) { trace_.feeds.try_emplace(feed, name); }
  void NameSession(uint64_t session, const std::string& name) {
    trace_.sessions.try_emplace(session, name);
  }

  void NoteContext(uint64_t session, const std::string& context) {
    trace_.contexts.try_emplace(session, context);
  }

  // Returns everything and empties the log.
  Trace End(base::TimePoint ended) {
    trace_.ended = ended;
    return std::move(trace_);
  }

 private:
  template <typename Event>
  void AddTo(std::vector<Event>& events, const Event& event) {
    const size_t held = trace_.rows.size() + trace_.fills.size() + trace_.batches.size();
    if (held >= most_) {
      ++trace_.dropped;
    } else {
      events.push_back(event);
    }
  }

  const size_t most_;
  Trace trace_;
};

}  // namespace penstock::feed
