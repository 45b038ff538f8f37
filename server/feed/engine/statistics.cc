#include "server/feed/engine/statistics.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "common/posix/process.h"
#include "server/feed/fill/runs.h"

namespace penstock::feed {
namespace {

SlotFill ToSlotFill(const RowTask& task) { return {task.slot.value(), task.generation}; }

// The fraction of the time of `of` threads or processes that was used.
double ShareOf(base::Duration spent, base::Duration since, uint32_t of) {
  const double there_was = static_cast<double>(since.count()) * of;
  return of == 0 ? 0.0 : std::min(1.0, static_cast<double>(spent.count()) / there_was);
}

}  // namespace

// ---- Events ----

void Statistics::RowsEnded(FillPath fill_path, const FillOutcome& outcome) {
  if (!outcome.times) return;
  const FillTimes& times = *outcome.times;
  (fill_path == FillPath::kWorkers ? read_ : copied_) += times.read;
  if (outcome.end != FillEnd::kDone) return;
  if (!outcome.feed->canary) {
    UserTotals& user = user_counts_.Of(outcome.task.user.value());
    user.rows_decoded += outcome.task.rows;
    user.decode += times.decode;
  }
  outcome.feed->flow.Ended({.fill = ToSlotFill(outcome.task),
                            .rows = outcome.task.rows,
                            .given = times.given,
                            .ended = times.ended,
                            .read = times.read,
                            .decode = times.decode});
}

std::optional<FeedFlow::Filled> Statistics::SlotFull(SessionRecord& session,
                                                     const Announcement& announcement,
                                                     base::TimePoint now) {
  const SlotFill fill = {announcement.slot.value(), announcement.generation};
  session.flow.Full({.sequence = announcement.sequence,
                     .fill = fill,
                     .epoch = announcement.position.epoch,
                     .first = announcement.position.first,
                     .step = announcement.step,
                     .full = now});
  if (!session.request.canary)
    session.feed->flow.TrainerWaited(TakeTrainerWait(session, announcement.session.value(), now),
                                     session.flow.owner());
  const std::optional<FeedFlow::Filled> filled = session.feed->flow.Full(fill);
  if (filled) session.feed->flow.HandedOver(now - filled->ended);
  return filled;
}

// How long its consumer had been asleep, as the looks saw it; zero if it is awake. This batch wakes
// it.
base::Duration Statistics::TakeTrainerWait(const SessionRecord& session, uint64_t id,
                                           base::TimePoint now) {
  const auto found = asleep_since_.find(id);
  if (found == asleep_since_.end()) return {};
  const base::TimePoint since = found->second;
  asleep_since_.erase(found);
  return session.delivery->LookAtConsumer().asleep ? now - since : base::Duration::zero();
}

void Statistics::Announced(const SessionRecord& session) {
  if (!session.request.canary) ++user_counts_.Of(session.request.user).batches_announced;
}

// A consumer that takes a batch doesn't notify, so it is noticed in the next pass, at most a tick
// later.
void Statistics::Heard(SessionRecord& session, const exporting::BatchDelivery::Heard& heard,
                       base::TimePoint now, Released released) {
  FeedFlow& feed = session.feed->flow;
  const auto note = [&](uint64_t sequence) {
    if (const auto batch = session.flow.Released(sequence, now)) released(*batch);
  };
  if (session.device == nullptr) {
    session.flow.Taken(heard.taken, now, feed);
    for (uint64_t sequence : heard.released) note(sequence);
    return;
  }
  const exporting::DeviceDelivery::CopyProgress progress = session.device->progress();
  session.flow.Ready(progress.announced, now, feed);
  session.flow.Taken(progress.taken, now, feed);
  // Only the number is known; assumes that they return in order.
  while (!session.flow.batches().empty()) {
    const SessionFlow::BatchTimes& oldest = session.flow.batches().front();
    if (oldest.sequence > progress.released || oldest.taken == base::TimePoint()) break;
    note(oldest.sequence);
  }
}

// ---- Looks ----

std::optional<Statistics::Look> Statistics::LookAround(const SessionTable& sessions,
                                                       workers::Supervisor& workers,
                                                       const pyworkers::Hosts& hosts,
                                                       base::TimePoint now) {
  const bool first = looked_at_ == base::TimePoint();
  const base::Duration since = now - std::exchange(looked_at_, now);
  if (first || since <= base::Duration::zero()) return std::nullopt;
  NoteWorkerCpu(workers);
  LookAtPython(hosts, since, now);
  const FeedFlow::Look daemon = LookAtWorkers(workers, since);
  Look look{.workers_busy = workers_busy_.mean(), .workers_lately = workers_lately_.mean()};
  const std::map<uint64_t, base::TimePoint> asleep_before = std::exchange(asleep_since_, {});
  std::map<uint64_t, Recent> starved = std::exchange(starved_, {});
  for (const auto& [id, session] : sessions.all()) {
    const SessionView view = sessions.ViewOf(id);
    if (session.ended || view.finished) continue;
    if (session.delivery->LookAtConsumer().asleep) {
      const auto before = asleep_before.find(id);
      asleep_since_.emplace(id, before == asleep_before.end() ? now : before->second);
    }
    FeedFlow::Look& of_feed = look.feeds.try_emplace(session.feed.get(), daemon).first->second;
    if (const auto found = python_.find(session.feed->dataset.get()); found != python_.end())
      of_feed.workers = found->second.busy;
    const bool starves = LookAtSession(session, view, of_feed);
    starved[id].Add(starves ? 1 : 0, since);
    starved_.insert(starved.extract(id));
  }
  for (auto& [feed, of_feed] : look.feeds) feed->flow.Seen(of_feed, since);
  return look;
}

// A worker's process serves one user, who is charged for everything since the last look.
void Statistics::NoteWorkerCpu(workers::Supervisor& workers) {
  const auto note = [this](const workers::Supervisor::Served& worker, base::Duration used) {
    const auto number = static_cast<uint32_t>(worker.pid);
    worker_cpu_.Decoded(number, worker.user, std::chrono::milliseconds(1));
    worker_cpu_.Look(number, worker.pid, used, [&](uint32_t user, base::Duration time) {
      user_counts_.Of(user).worker_cpu += time;
    });
  };
  for (const auto& [worker, used] : workers.TakeDismissed()) note(worker, used);
  const std::vector<workers::Supervisor::Served> served = workers.WhoIsServed();
  for (const workers::Supervisor::Served& worker : served)
    if (const auto used = posix::CpuTimeOf(worker.pid)) note(worker, *used);
  worker_cpu_.Keep([&](uint32_t number) {
    return std::any_of(served.begin(), served.end(), [number](const auto& worker) {
      return static_cast<uint32_t>(worker.pid) == number;
    });
  });
}

FeedFlow::Look Statistics::LookAtWorkers(const workers::Supervisor& workers, base::Duration since) {
  const FeedFlow::Look look = {.workers = workers.utilisation(),
                               .readers = ShareOf(read_, since, workers.count()),
                               .row_copiers = ShareOf(copied_, since, row_copiers_)};
  workers_busy_.Add(look.workers, since);
  workers_lately_.Add(look.workers, since);
  read_ = copied_ = {};
  return look;
}

// Workers that are not ready are not busy.
void Statistics::LookAtPython(const pyworkers::Hosts& hosts, base::Duration since,
                              base::TimePoint now) {
  const std::map<pyworkers::DatasetRef, PythonLook> before = std::exchange(python_, {});
  base::Duration spent{};
  uint32_t workers = 0;
  for (const auto& [dataset, supply] : hosts.supplies()) {
    PythonLook& look = python_[dataset];
    look.making = supply->Totals(now).making;
    const auto known = before.find(dataset);
    if (known == before.end()) continue;
    const base::Duration more =
        std::max(base::Duration::zero(), look.making - known->second.making);
    look.busy = ShareOf(more, since, supply->ready());
    spent += more;
    workers += supply->ready();
  }
  python_busy_.Add(ShareOf(spent, since, workers), since);
}

bool Statistics::LookAtSession(const SessionRecord& session, const SessionView& view,
                               FeedFlow::Look& look) const {
  const exporting::BatchDelivery::Waiting consumer = session.delivery->LookAtConsumer();
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
  return consumer.asleep;
}

// A feed is forgotten, together with its counts, when nobody uses it.
void Statistics::Settle(const FeedBook& feeds) {
  for (const auto& [number, entry] : feeds.entries()) {
    const FeedId id(number);
    dataset_counts_.Settle(id, core_.View(id).value_or(FeedView{}));
    if (entry.feed.expired()) dataset_counts_.Forget(id);
  }
}

// ---- Figures ----

double Statistics::StarvedOf(uint64_t session) const {
  const auto found = starved_.find(session);
  return found == starved_.end() ? 0 : found->second.mean();
}

FlowFigures Statistics::ToFigures(const Feed& feed, uint32_t workers,
                                  const std::optional<SourceHealth::Trouble>& stall,
                                  base::TimePoint now) const {
  const FillPath fill_path = ToFillPath(feed.spec);
  return {.has_data = feed.flow.starved.has_data() && feed.flow.sums().waits > 0,
          .fill_path = fill_path,
          .starved = feed.flow.starved.mean(),
          .starving = feed.flow.starving.mean(),
          .copying = feed.flow.copying.mean(),
          .workers = workers,
          .workers_busy = feed.flow.workers.mean(),
          .readers_busy =
              (fill_path == FillPath::kWorkers ? feed.flow.readers : feed.flow.row_copiers).mean(),
          .stalled = stall ? now - stall->since : base::Duration::zero(),
          .stalled_reason = stall ? stall->reason : ""};
}

}  // namespace penstock::feed
