#include "server/feed/engine/trace_recorder.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::feed {

// A trainer that takes one trace after another must not keep an operator from taking one.
void TraceRecorder::Take(const TraceRequest& request, base::TimePoint now, Traced done) {
  if (tracing_ && tracing_->request.user && !request.user)
    End(absl::AbortedError("an operator is taking a trace; try again when it has ended"), now);
  if (tracing_)
    return done(absl::ResourceExhaustedError(
        "a trace is already being taken; try again when it has ended"));
  tracing_.emplace(Tracing{.log = TraceLog(now),
                           .request = request,
                           .until = now + request.length,
                           .done = std::move(done)});
}

void TraceRecorder::Tick(base::TimePoint now) {
  if (tracing_ && (now >= tracing_->until || tracing_->request.cancelled()))
    End(absl::OkStatus(), now);
}

void TraceRecorder::End(const absl::Status& status, base::TimePoint now) {
  if (!tracing_) return;
  if (status.ok())
    for (const auto& [id, session] : sessions_.all())
      for (const SessionFlow::BatchTimes& batch : session.flow.batches())
        BatchReleased(id, session, batch);
  const Traced done = std::move(tracing_->done);
  Trace trace = tracing_->log.End(now);
  tracing_.reset();
  if (status.ok()) {
    done(std::move(trace));
  } else {
    done(status);
  }
}

bool TraceRecorder::Traces(uint32_t user) const {
  return tracing_ && tracing_->request.user.value_or(user) == user;
}

// Rows that were returned untouched have no times.
void TraceRecorder::RowsEnded(FillPath fill_path, const FillOutcome& outcome) {
  if (outcome.kept || !outcome.times || outcome.times->ended == base::TimePoint()) return;
  if (!Traces(outcome.task.user.value())) return;
  const FillTimes& times = *outcome.times;
  tracing_->log.NameFeed(outcome.feed->id.value(), outcome.feed->called);
  tracing_->log.Add(TraceRows{.feed = outcome.feed->id.value(),
                              .fill = {outcome.task.slot.value(), outcome.task.generation},
                              .carried = fill_path == FillPath::kRowCopiers,
                              .done = outcome.end == FillEnd::kDone,
                              .rows = outcome.task.rows,
                              .sample = outcome.sample,
                              .worker = outcome.worker,
                              .given = times.given,
                              .read_begin = times.read_begin,
                              .read_end = times.read_end,
                              .decode_begin = times.ended - times.decode,
                              .ended = times.ended});
}

void TraceRecorder::SlotFull(const SessionRecord& session, const Announcement& announcement,
                             const FeedFlow::Filled& filled) {
  if (!Traces(session.request.user)) return;
  tracing_->log.NameFeed(session.feed->id.value(), session.feed->called);
  tracing_->log.Add(TraceFill{.feed = session.feed->id.value(),
                              .fill = {announcement.slot.value(), announcement.generation},
                              .epoch = announcement.position.epoch,
                              .first = announcement.position.first,
                              .begun = filled.begun,
                              .ended = filled.ended});
}

void TraceRecorder::BatchReleased(uint64_t id, const SessionRecord& session,
                                  const SessionFlow::BatchTimes& batch) {
  if (!Traces(session.request.user)) return;
  tracing_->log.NameSession(
      id, absl::StrCat(session.request.name, session.request.name.empty() ? "" : " ", "(",
                       session.request.dataset_name, ")"));
  if (const auto& context = session.request.trace)
    tracing_->log.NoteContext(
        id, absl::StrCat("trace_id=", context->trace_id, " parent_id=", context->parent_id));
  tracing_->log.Add(TraceBatch{.session = id, .device = session.device != nullptr, .batch = batch});
}

}  // namespace penstock::feed
