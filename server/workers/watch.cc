// What the supervisor does about workers that end, hang or lie.
#include <algorithm>

#include "common/base/check.h"
#include "server/workers/post.h"
#include "server/workers/supervisor.h"

namespace penstock::workers {

void Supervisor::CollectPost(Post& post, base::TimePoint now, std::vector<Outcome>& outcomes) {
  const size_t before = outcomes.size();
  if (post.worker) posix::Drain(post.worker->link().done_event());
  bool sound = post.lane->Collect(now, outcomes);
  // Announce the sleep, then look once more: a completion in between rings nobody.
  post.lane->AnnounceSleep();
  sound = post.lane->Collect(now, outcomes) && sound;
  if (post.worker && post.verdict == Verdict::kNone && (!sound || post.lane->IsCrowded())) {
    post.verdict = sound ? Verdict::kCrowded : Verdict::kBroken;
    post.worker->Kill();
  }
  if (post.worker && posix::IsGone(post.worker->pidfd())) Bury(post, now, outcomes);

  const auto done =
      std::count_if(outcomes.begin() + static_cast<std::ptrdiff_t>(before), outcomes.end(),
                    [](const Outcome& o) { return o.kind == OutcomeKind::kDone; });
  post.decoded += static_cast<uint64_t>(done);
  if (done > 0) post.back_off.Reset();
}

void Supervisor::Bury(Post& post, base::TimePoint now, std::vector<Outcome>& outcomes) {
  const std::optional<posix::Exit> exit = post.worker->Reap();
  if (!exit) return;
  Unwatch(post.worker->link().done_event());
  Unwatch(post.worker->pidfd());
  post.lane->Collect(now, outcomes);  // what it still finished
  post.last_death = Describe(post.verdict, *exit);
  if (const auto oldest = post.lane->OldestAtWorker(); oldest && oldest->started) {
    absl::StrAppend(&post.last_death, " with sample ", oldest->sample, " (",
                    oldest->dataset->path(oldest->sample), ") in hand");
  }
  deaths_.push_back({post.number, post.worker->pid(), post.last_death});
  post.lane->Detach(EndOf(post.verdict, *exit), outcomes);
  const bool replaced = post.verdict == Verdict::kCrowded;
  post.failed_starts = post.worker->link().ready() ? 0 : post.failed_starts + 1;
  post.worker.reset();
  post.verdict = Verdict::kNone;
  if (replaced) {  // and nobody is to blame
    post.restart_at = now;
    return;
  }
  ScheduleRestart(post, now, post.last_death);
}

void Supervisor::ScheduleRestart(Post& post, base::TimePoint now, const std::string& reason) {
  if (MayTryAgain(post, now)) {
    post.restart_at = now + post.back_off.Next();
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
  loose_.Sweep();
  NoteOverdue(now);
  for (const auto& post : posts_) {
    if (post->worker) {
      post->utilisation.Update(now, post->worker->link().busy_ns());
      CheckTimeout(*post, now);
    } else if (!post->stopped && !post->retiring && now >= post->restart_at) {
      Restart(*post, now);
    }
  }
  RemoveRetired();
}

// What waits in lanes for the same storage would take one lane after the other.
void Supervisor::NoteOverdue(base::TimePoint now) {
  for (const auto& post : posts_) {
    for (const Lane::OverdueItem& item : post->lane->TakeOverdue(now)) {
      overdue_.push_back(item.id);
      for (const auto& other : posts_) other->lane->HandBack(*item.dataset);
    }
  }
}

void Supervisor::CheckTimeout(Post& post, base::TimePoint now) {
  if (post.verdict != Verdict::kNone) return;
  CheckStart(post, now);
  if (!post.ready_at) return;
  // Also one that is not started: a stopped worker starts nothing. What was sent to a worker before
  // it was ready waits for it, not the other way round.
  const auto oldest = post.lane->OldestAtWorker();
  if (!oldest || now - std::max(oldest->since, *post.ready_at) <= options_.sample_timeout) return;
  post.verdict = Verdict::kTimedOut;
  post.worker->Kill();  // its death makes event_fd readable; Collect does the rest
}

void Supervisor::CheckStart(Post& post, base::TimePoint now) {
  if (post.ready_at) return;
  if (!post.started_at) post.started_at = now;
  if (post.worker->link().ready()) {
    post.ready_at = now;
  } else if (now - *post.started_at > options_.start_timeout) {
    post.verdict = Verdict::kNotReady;
    post.worker->Kill();
  }
}

void Supervisor::Restart(Post& post, base::TimePoint now) {
  if (const absl::Status started = StartWorker(post); !started.ok()) {
    post.last_death = std::string(started.message());
    ++post.failed_starts;
    return ScheduleRestart(post, now, post.last_death);
  }
  ++post.restarts;
  post.utilisation.Restart(now);
}

}  // namespace penstock::workers
