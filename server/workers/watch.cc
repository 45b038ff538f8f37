// What the supervisor does about workers that end, hang or lie, and about items that end.
#include <algorithm>

#include "common/base/check.h"
#include "server/workers/post.h"
#include "server/workers/supervisor.h"

namespace penstock::workers {

void Supervisor::CollectPost(Post& post, base::TimePoint now, std::vector<Outcome>& outcomes) {
  if (post.crew == nullptr) return;
  Crew& crew = *post.crew;
  const size_t before = outcomes.size();
  if (CollectCrew(crew, now, outcomes) && posix::IsGone(crew.worker->pidfd())) {
    if (const std::optional<Burial> burial = Bury(crew, now, outcomes))
      AfterDeath(post, *burial, now);
  }
  Charge(post, before, outcomes);
  if (!crew.IsFree()) return;
  post.gives_way = false;
  post.busy_since.reset();
}

// Whether there is a worker.
bool Supervisor::CollectCrew(Crew& crew, base::TimePoint now, std::vector<Outcome>& outcomes) {
  const size_t before = outcomes.size();
  if (crew.worker) posix::Drain(crew.worker->link().done_event());
  bool sound = crew.lane->Collect(now, outcomes);
  // Announce the sleep, then look once more: a completion in between rings nobody.
  crew.lane->AnnounceSleep();
  sound = crew.lane->Collect(now, outcomes) && sound;
  crew.Ended(outcomes, before);
  if (outcomes.size() > before) crew.free_since = now;
  if (!crew.worker) return false;
  if (!crew.ready_at && crew.worker->link().ready()) crew.ready_at = now;
  if (crew.verdict == Verdict::kNone && (!sound || crew.lane->IsCrowded())) {
    crew.verdict = sound ? Verdict::kCrowded : Verdict::kBroken;
    crew.worker->Kill();
  }
  return true;
}

// What the outcomes from there on cost: the time for which the post was taken by them, which is
// paid by the first.
void Supervisor::Charge(Post& post, size_t from, std::vector<Outcome>& outcomes) {
  if (outcomes.size() == from) return;
  const base::TimePoint now = base::Now();
  // What was read aside took no post until it was read.
  outcomes[from].times.taken =
      post.busy_since ? now - *post.busy_since : outcomes[from].times.decode;
  post.busy_since = now;
  const auto items = static_cast<int64_t>(outcomes.size() - from);
  uint64_t done = 0;
  for (size_t i = from; i < outcomes.size(); ++i) {
    outcomes[i].worker = post.number;
    done += outcomes[i].kind == OutcomeKind::kDone ? 1 : 0;
  }
  post.decoded += done;
  if (done > 0) post.back_off.Reset();
  base::Duration& mean = users_[post.crew->user].item;
  const base::Duration each = outcomes[from].times.taken / items;
  mean = mean == base::Duration::zero() ? each : mean + (each - mean) / 4;
}

std::optional<Supervisor::Burial> Supervisor::Bury(Crew& crew, base::TimePoint now,
                                                   std::vector<Outcome>& outcomes) {
  const std::optional<posix::Exit> exit = crew.worker->Reap();
  if (!exit) return std::nullopt;
  Unwatch(crew.worker->link().done_event());
  Unwatch(crew.worker->pidfd());
  const size_t first = outcomes.size();
  crew.lane->Collect(now, outcomes);  // what it still finished
  Burial burial{.reason = Describe(crew.verdict, *exit),
                .how = Describe(crew.verdict, *exit),
                .was_ready = crew.ready_at || crew.worker->link().ready(),
                .blameless = IsBlameless(crew.verdict),
                .account = crew.last_account};
  if (const int error = crew.worker->StartError(); error != 0)
    burial.reason = std::string(base::ErrnoStatus(error, "it could not be started").message());
  const size_t in_hand = outcomes.size();  // comes first
  const auto oldest = crew.lane->OldestAtWorker();
  if (oldest && oldest->started)
    absl::StrAppend(&burial.reason, " with sample ", oldest->sample, " (",
                    oldest->dataset->path(oldest->sample), ") in hand");
  crew.lane->Detach(EndOf(crew.verdict, *exit), outcomes);
  for (const Crew::Given& each : crew.given)
    if (oldest && oldest->started && each.id == outcomes[in_hand].id) burial.account = each.account;
  crew.Ended(outcomes, first);
  if (!burial.was_ready || burial.blameless) burial.account = 0;
  deaths_.push_back({crew.number, crew.worker->pid(), burial.reason, crew.user, burial.account});
  crew.worker.reset();
  crew.verdict = Verdict::kNone;
  return burial;
}

// Whoever pays for the death also waits before the next attempt: the post need not.
void Supervisor::AfterDeath(Post& post, const Burial& burial, base::TimePoint now) {
  post.last_death = burial.reason;
  post.died = true;
  post.failed_starts = burial.was_ready ? 0 : post.failed_starts + 1;
  if (burial.blameless || burial.account != 0) return;
  ScheduleRestart(post, now, burial.how);
}

// Everybody is told of it, so that `reason` names no sample.
void Supervisor::ScheduleRestart(Post& post, base::TimePoint now, const std::string& reason) {
  if (MayTryAgain(post, now)) {
    post.closed_until = now + post.back_off.Next();
    return;
  }
  post.stopped = true;
  status_ = absl::UnavailableError(absl::StrCat(
      "workers died too often (", options_.budget.restarts, " restarts in ",
      std::chrono::duration_cast<std::chrono::seconds>(options_.budget.window).count(),
      " s, or as many in a row without one that was ready, are spent); the last one was ", reason,
      "; see its standard error, then open again"));
}

bool Supervisor::MayTryAgain(const Post& post, base::TimePoint now) {
  return post.failed_starts <= options_.budget.restarts && budget_.Take(now);
}

void Supervisor::Tick(base::TimePoint now) {
  now_ = now;
  loose_.Sweep();
  NoteOverdue(now);
  for (const auto& crew : asleep_) TickCrew(*crew, now);
  for (const auto& post : posts_) {
    if (post->crew != nullptr) TickCrew(*post->crew, now);
    const bool waits = post->died && post->crew != nullptr && !post->crew->worker;
    if (waits && !post->stopped && !post->retiring && now >= post->closed_until)
      Restart(*post, now);
    post->NoteBusy();
    post->utilisation.Update(now, post->busy_ns);
  }
  DismissUnused(now);
  RemoveRetired();
}

// What waits in lanes for the same storage would take one lane after the other.
void Supervisor::NoteOverdue(base::TimePoint now) {
  std::vector<Lane*> lanes;
  for (const auto& post : posts_)
    if (post->crew != nullptr) lanes.push_back(post->crew->lane.get());
  for (const auto& crew : asleep_) lanes.push_back(crew->lane.get());
  for (Lane* lane : lanes) {
    for (const Lane::OverdueItem& item : lane->TakeOverdue(now)) {
      overdue_.push_back(item.id);
      for (Lane* other : lanes) other->HandBack(*item.dataset);
    }
  }
}

void Supervisor::TickCrew(Crew& crew, base::TimePoint now) {
  if (crew.lane->held() > 0) crew.free_since = now;
  if (crew.worker) CheckTimeout(crew, now);
}

void Supervisor::CheckTimeout(Crew& crew, base::TimePoint now) {
  if (crew.verdict != Verdict::kNone) return;
  CheckStart(crew, now);
  if (!crew.ready_at) return;
  // Also one that is not started: a stopped worker starts nothing. What was sent to a worker before
  // it was ready waits for it, not the other way round.
  const auto oldest = crew.lane->OldestAtWorker();
  if (!oldest || now - std::max(oldest->since, *crew.ready_at) <= options_.sample_timeout) return;
  crew.verdict = Verdict::kTimedOut;
  crew.worker->Kill();  // its death makes event_fd readable; Collect does the rest
}

void Supervisor::CheckStart(Crew& crew, base::TimePoint now) {
  if (crew.ready_at) return;
  if (!crew.started_at) crew.started_at = now;
  if (crew.worker->link().ready()) {
    crew.ready_at = now;
  } else if (now - *crew.started_at > options_.start_timeout) {
    crew.verdict = Verdict::kNotReady;
    crew.worker->Kill();
  }
}

void Supervisor::CouldNotStart(Post& post, const absl::Status& why, base::TimePoint now) {
  post.last_death = std::string(why.message());
  post.died = true;
  ++post.failed_starts;
  ScheduleRestart(post, now, post.last_death);
}

// A worker for the post's crew.
void Supervisor::Restart(Post& post, base::TimePoint now) {
  if (const absl::Status started = StartWorker(*post.crew); !started.ok()) {
    return CouldNotStart(post, started, now);
  }
  if (post.died) ++post.restarts;
  post.died = false;
}

}  // namespace penstock::workers
