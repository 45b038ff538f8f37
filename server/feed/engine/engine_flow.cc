// Where the time goes: what engine.cc does is noted with its times, and the ticks look how busy
// everybody is.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/posix/cpu_time.h"
#include "common/telemetry/log.h"
#include "server/feed/engine/engine.h"

namespace penstock::feed {
namespace {

constexpr base::Duration kAskEvery = std::chrono::seconds(1);

SlotFill FillOf(const RowTask& task) { return {task.slot.value(), task.generation}; }

void Add(const StageSums& from, StageSums& to) {
  to.samples += from.samples;
  to.read += from.read;
  to.queue += from.queue;
  to.decode += from.decode;
  to.batches += from.batches;
  to.assemble += from.assemble;
  to.copies += from.copies;
  to.copy += from.copy;
  to.waits += from.waits;
  to.consumer += from.consumer;
}

}  // namespace

void Engine::NoteUser(const RowTrouble& row, uint64_t rows, base::Duration decode) {
  if (row.feed->canary) return;
  UserTotals& user = user_counts_.Of(row.task.user.value());
  user.rows_decoded += rows;
  user.decode += decode;
}

void Engine::NoteEnded(const workers::Outcome& outcome, const RowTrouble& row) {
  const workers::Times& times = outcome.times;
  const base::Duration read = times.read_end - times.read_begin - times.held_up;
  load_.read += read;
  now_ = std::max(now_, times.ended);  // what follows from it is later
  if (Traces(row.task.user.value())) TraceEnded(outcome, row);
  if (outcome.kind != workers::OutcomeKind::kDone) return;
  NoteUser(row, 1, times.decode);
  row.feed->flow.Ended({.fill = FillOf(row.task),
                        .given = times.given,
                        .ended = times.ended,
                        .read = read,
                        .decode = times.decode});
}

void Engine::NoteCarried(const copy::Outcome& outcome, const RowTrouble& run) {
  const base::Duration read = outcome.ended - outcome.begun;
  load_.carried += read;
  now_ = std::max(now_, outcome.ended);
  if (Traces(run.task.user.value())) TraceCarried(outcome, run);
  if (!outcome.status.ok()) return;
  NoteUser(run, run.task.rows, {});
  run.feed->flow.Ended({.fill = FillOf(run.task),
                        .rows = run.task.rows,
                        .given = outcome.given,
                        .ended = outcome.ended,
                        .read = read});
}

void Engine::NoteFull(Session& session, const Announcement& announcement) {
  const SlotFill fill = {announcement.slot.value(), announcement.generation};
  const std::optional<FeedFlow::Filled> filled = session.feed->flow.Full(fill);
  if (filled && Traces(session.request.user)) TraceFull(session, announcement, *filled);
  session.flow.Full({.sequence = announcement.sequence,
                     .fill = fill,
                     .epoch = announcement.position.epoch,
                     .first = announcement.position.first,
                     .step = announcement.step,
                     .full = now_});
}

// A consumer that takes a batch rings nothing: it is noticed at the next pass, a tick later at
// most.
void Engine::NoteConsumer(uint64_t id, Session& session, const exporting::Delivery::Heard& heard) {
  FeedFlow& feed = session.feed->flow;
  if (session.device == nullptr) {
    session.flow.Taken(heard.taken, now_, feed);
    for (uint64_t sequence : heard.released) NoteReleased(id, session, sequence);
    return;
  }
  const exporting::DeviceDelivery::Progress progress = session.device->progress();
  session.flow.Ready(progress.announced, now_, feed);
  session.flow.Taken(progress.taken, now_, feed);
  // How many, not which: they are taken to come back in order.
  while (!session.flow.batches().empty()) {
    const SessionFlow::Batch& oldest = session.flow.batches().front();
    if (oldest.sequence > progress.released || oldest.taken == base::TimePoint()) break;
    NoteReleased(id, session, oldest.sequence);
  }
}

void Engine::NoteReleased(uint64_t id, Session& session, uint64_t sequence) {
  const std::optional<SessionFlow::Batch> batch = session.flow.Released(sequence, now_);
  if (batch && Traces(session.request.user)) TraceReleased(id, session, *batch);
}

// ---- Ticks. ----

void Engine::LookAround(base::TimePoint now) {
  const bool first = load_.looked_at == base::TimePoint();
  const base::Duration since = now - std::exchange(load_.looked_at, now);
  if (first || since <= base::Duration::zero()) return;
  NoteWorkerCpu();
  const FeedFlow::Look daemon = LookAtWorkers(since);
  std::map<Feed*, FeedFlow::Look> feeds;
  for (const auto& [id, session] : sessions_) {
    const SessionView view = core_.View(SessionId(id)).value_or(SessionView{});
    if (!session.ended && !view.finished)
      LookAtSession(session, view, feeds.try_emplace(session.feed.get(), daemon).first->second);
  }
  for (auto& [feed, look] : feeds) feed->flow.Seen(look, since);
  if (demand_ && now - demand_asked_ >= kAskEvery) AskForWorkers(feeds, now);
}

// A worker's process serves one user: all that it used since the last look is that one's.
void Engine::NoteWorkerCpu() {
  const auto note = [this](const workers::Supervisor::Served& worker, base::Duration used) {
    const auto number = static_cast<uint32_t>(worker.pid);
    worker_cpu_.Decoded(number, worker.user, std::chrono::milliseconds(1));
    worker_cpu_.Look(number, worker.pid, used, [&](uint32_t user, base::Duration time) {
      user_counts_.Of(user).worker_cpu += time;
    });
  };
  for (const auto& [worker, used] : workers_.TakeDismissed()) note(worker, used);
  const std::vector<workers::Supervisor::Served> served = workers_.WhoIsServed();
  for (const workers::Supervisor::Served& worker : served)
    if (const auto used = posix::CpuTimeOf(worker.pid)) note(worker, *used);
  worker_cpu_.Keep([&](uint32_t number) {
    return std::any_of(served.begin(), served.end(), [number](const auto& worker) {
      return static_cast<uint32_t>(worker.pid) == number;
    });
  });
}

FeedFlow::Look Engine::LookAtWorkers(base::Duration since) {
  const auto share = [since](base::Duration spent, uint32_t of) {
    const double there_was = static_cast<double>(since.count()) * of;
    return of == 0 ? 0.0 : std::min(1.0, static_cast<double>(spent.count()) / there_was);
  };
  const FeedFlow::Look look = {.workers = workers_.utilisation(),
                               .readers = share(load_.read, workers_.count()),
                               .row_copiers = share(load_.carried, options_.row_copiers.count)};
  load_.workers.Add(look.workers, since);
  load_.read = load_.carried = {};
  return look;
}

void Engine::LookAtSession(const Session& session, const SessionView& view,
                           FeedFlow::Look& look) const {
  const exporting::Delivery::Waiting consumer = session.delivery->LookAtConsumer();
  uint64_t ready = consumer.ready, headroom = view.window;
  bool copying = false;
  if (session.device != nullptr) {
    const uint64_t coming = view.announced - session.device->progress().announced;
    ready += coming;
    headroom += session.device->reservation().depth();
    copying = coming > 0;
  }
  ++look.sessions;
  look.occupancy += std::min(1.0, static_cast<double>(ready) / static_cast<double>(headroom));
  look.starved += consumer.asleep ? 1 : 0;
  look.copying += consumer.asleep && copying ? 1 : 0;
}

void Engine::AskForWorkers(const std::map<Feed*, FeedFlow::Look>& feeds, base::TimePoint now) {
  demand_asked_ = now;
  WorkerDemand::Seen seen = {.workers = workers_.count(), .busy = load_.workers.mean()};
  for (const auto& [feed, look] : feeds) {
    const FlowFigures figures = FiguresOf(*feed);
    seen.anybody_starves |= figures.has_data && figures.starved >= kStarves;
    seen.more_wanted = std::max(seen.more_wanted, Judge(figures).more_workers);
  }
  const std::optional<WorkerDemand::Change> change = demand_->Ask(seen, now);
  if (!change) return;
  if (const absl::Status set = workers_.SetCount(change->workers); !set.ok()) {
    PENSTOCK_LOG(kWarning, "workers_not_changed", {"from", seen.workers}, {"to", change->workers},
                 {"reason", set.message()});
    return;
  }
  PENSTOCK_LOG(kInfo, "workers_changed", {"from", seen.workers}, {"to", change->workers},
               {"reason", change->reason});
}

std::string Engine::WorkersPolicy() const {
  if (!demand_) return "fixed";
  return absl::StrCat("auto, 1 to ", demand_->options().most);
}

FlowFigures Engine::FiguresOf(const Feed& feed) const {
  const FillPath fill_path = FillPathOf(feed.spec);
  FlowFigures figures = {
      .has_data = feed.flow.starved.has_data() && feed.flow.sums().waits > 0,
      .fill_path = fill_path,
      .starved = feed.flow.starved.mean(),
      .copying = feed.flow.copying.mean(),
      .workers = workers_.count(),
      .workers_busy = feed.flow.workers.mean(),
      .readers_busy =
          (fill_path == FillPath::kWorkers ? feed.flow.readers : feed.flow.row_copiers).mean(),
      .stalled_reason = {}};
  if (const auto stall = StallOf(feed, now_)) {
    figures.stalled = now_ - stall->since;
    figures.stalled_reason = stall->reason;
  }
  return figures;
}

void Engine::AddFlow(const Feed& feed, FeedInfo& info) const {
  Add(feed.flow.sums(), info.stages);
  if (!info.verdict.empty() && feed.flow.starved.mean() < info.starved) return;
  info.occupancy = feed.flow.occupancy.mean();
  info.starved = feed.flow.starved.mean();
  info.verdict = Judge(FiguresOf(feed)).words;
}

}  // namespace penstock::feed
