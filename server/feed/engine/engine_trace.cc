// While a trace is taken: what happens to samples and batches is written down.
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/feed/engine/engine.h"

namespace penstock::feed {

// An operator must not be kept out by a trainer that takes one trace after the other.
void Engine::TakeTrace(const TraceRequest& request, base::TimePoint now, Traced done) {
  if (tracing_ && tracing_->request.user && !request.user)
    EndTrace(absl::AbortedError("an operator takes a trace; try again once it has ended"));
  if (tracing_)
    return done(absl::ResourceExhaustedError(
        "a trace is being taken already; try again once it has ended"));
  tracing_.emplace(Tracing{.log = TraceLog(now),
                           .request = request,
                           .until = now + request.length,
                           .done = std::move(done)});
}

bool Engine::Traces(uint32_t user) const {
  return tracing_ && tracing_->request.user.value_or(user) == user;
}

void Engine::TraceEnded(const workers::Outcome& outcome, const RowTrouble& row) {
  const workers::Times& times = outcome.times;
  if (times.ended == base::TimePoint()) return;  // it was given back untouched
  tracing_->log.NameFeed(row.feed->id.value(), row.feed->called);
  tracing_->log.Add(TraceRows{.feed = row.feed->id.value(),
                              .fill = {row.task.slot.value(), row.task.generation},
                              .done = outcome.kind == workers::OutcomeKind::kDone,
                              .sample = row.sample,
                              .worker = outcome.worker,
                              .given = times.given,
                              .read_begin = times.read_begin,
                              .read_end = times.read_end,
                              .decode_begin = times.ended - times.decode,
                              .ended = times.ended});
}

void Engine::TraceCarried(const copy::Outcome& outcome, const RowTrouble& run) {
  tracing_->log.NameFeed(run.feed->id.value(), run.feed->called);
  tracing_->log.Add(TraceRows{.feed = run.feed->id.value(),
                              .fill = {run.task.slot.value(), run.task.generation},
                              .carried = true,
                              .done = outcome.status.ok(),
                              .rows = run.task.rows,
                              .given = outcome.given,
                              .read_begin = outcome.begun,
                              .read_end = outcome.ended,
                              .decode_begin = outcome.ended,
                              .ended = outcome.ended});
}

void Engine::TraceFull(const Session& session, const Announcement& announcement,
                       const FeedFlow::Filled& filled) {
  tracing_->log.NameFeed(session.feed->id.value(), session.feed->called);
  tracing_->log.Add(TraceFill{.feed = session.feed->id.value(),
                              .fill = {announcement.slot.value(), announcement.generation},
                              .epoch = announcement.position.epoch,
                              .first = announcement.position.first,
                              .begun = filled.begun,
                              .ended = filled.ended});
}

void Engine::TraceReleased(uint64_t id, const Session& session, const SessionFlow::Batch& batch) {
  tracing_->log.NameSession(
      id, absl::StrCat(session.request.name, session.request.name.empty() ? "" : " ", "(",
                       session.request.dataset_name, ")"));
  tracing_->log.Add(TraceBatch{.session = id, .device = session.device != nullptr, .batch = batch});
}

// With what is under way: batches that nobody has released.
void Engine::EndTrace(const absl::Status& status) {
  if (!tracing_) return;
  if (status.ok())
    for (const auto& [id, session] : sessions_)
      for (const SessionFlow::Batch& batch : session.flow.batches())
        if (Traces(session.request.user)) TraceReleased(id, session, batch);
  const Traced done = std::move(tracing_->done);
  Trace trace = tracing_->log.End(now_);
  tracing_.reset();
  if (status.ok()) {
    done(std::move(trace));
  } else {
    done(status);
  }
}

}  // namespace penstock::feed
