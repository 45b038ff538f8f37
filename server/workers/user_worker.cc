#include "server/workers/user_worker.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::workers {

void UserWorker::Start(Process process, base::TimePoint now) {
  process.endpoint->AnnounceSleep();
  life_ = WorkerLife();
  shown_.clear();
  given_.BeginAgain();
  seen_busy_ns_ = 0;
  free_since_ = now;
  queue_->Attach(process.endpoint);
  process_.emplace(std::move(process));
}

// Workers receive segments as their items need them, because the socket holds only a few messages.
bool UserWorker::ShowSegment(uint32_t segment, const posix::Fd& memory, uint64_t bytes) {
  if (shown_.contains(segment)) return true;
  const absl::Status sent = process_->process->UseSegment(segment, memory, bytes);
  if (absl::IsAborted(sent)) return false;  // a local failure, not the worker's fault
  shown_.insert(segment);
  CondemnUnsent(sent);
  return true;
}

void UserWorker::ForgetSegment(uint32_t segment) {
  if (shown_.erase(segment) == 0 || !process_) return;
  CondemnUnsent(process_->process->ForgetSegment(segment));
}

// A worker that has already ended is reaped with its real cause of death.
void UserWorker::CondemnUnsent(const absl::Status& sent) {
  if (sent.ok() || absl::IsUnavailable(sent)) return;
  const auto reason = absl::IsAborted(sent) ? KillReason::kNotSent : KillReason::kDoesNotRead;
  if (life_.Condemn(reason)) Kill();
}

bool UserWorker::Give(const WorkItem& item) {
  given_.Add(item.id, item.account);
  if (item.aside && queue_->GiveAside(item)) return false;
  queue_->Give(item);
  return true;
}

void UserWorker::Collect(base::TimePoint now, std::vector<Outcome>& outcomes) {
  const size_t before = outcomes.size();
  const bool is_notified = process_ && process_->done.TakeReady();
  const uint64_t notified = is_notified ? posix::Drain(process_->endpoint->done_event()) : 0;
  bool sound = queue_->Collect(now, outcomes);
  // Announce the sleep, then check again, because a completion in between would not notify.
  queue_->AnnounceSleep();
  sound = queue_->Collect(now, outcomes) && sound;
  sound = life_.AreAnswersEnough(notified, outcomes.size() - before) && sound;
  given_.Remove(std::span(outcomes).subspan(before));
  if (outcomes.size() > before) free_since_ = now;
  if (!process_) return;
  if (process_->endpoint->ready()) life_.NoteReady(now);
  if (sound && !queue_->IsCrowded()) return;
  if (life_.Condemn(sound ? KillReason::kCrowded : KillReason::kBroken)) Kill();
}

std::optional<base::Duration> UserWorker::ChargeAside(std::span<Outcome> ended,
                                                      base::TimePoint now) {
  std::optional<base::Duration> each;
  if (aside_since_ && !ended.empty()) {
    ended.front().times.taken = Uncharged(now);
    each = ended.front().times.taken / static_cast<int64_t>(ended.size());
    aside_since_ = now;
  }
  if (IsFree()) aside_since_.reset();
  return each;
}

std::optional<DeadWorker> UserWorker::ReapIfEnded(base::TimePoint now,
                                                  std::vector<Outcome>& outcomes) {
  if (!process_ || !process_->ended.TakeReady()) return std::nullopt;
  const std::optional<posix::Exit> exit = process_->process->Reap();
  if (!exit) return std::nullopt;
  DeadWorker dead = Autopsy(*exit, now, outcomes);
  process_.reset();
  life_ = WorkerLife();
  return dead;
}

DeadWorker UserWorker::Autopsy(const posix::Exit& exit, base::TimePoint now,
                               std::vector<Outcome>& outcomes) {
  const size_t before = outcomes.size();
  queue_->Collect(now, outcomes);  // what it finished before it died
  DeadWorker dead{.pid = pid(),
                  .reason = Describe(life_.kill_reason(), exit),
                  .how = Describe(life_.kill_reason(), exit),
                  .was_ready = life_.was_ready() || process_->endpoint->ready(),
                  .blameless = IsBlameless(life_.kill_reason()),
                  .forbidden_call = IsForbiddenCall(exit),
                  .words = process_->process->LastWords()};
  if (const int error = process_->process->StartError(); error != 0)
    dead.reason = std::string(base::ErrnoStatus(error, "it could not be started").message());
  const auto in_hand = InHand();
  if (in_hand)
    absl::StrAppend(&dead.reason, " with sample ", in_hand->sample, " (",
                    in_hand->dataset->path(in_hand->sample), ") in hand");
  const size_t first_lost = outcomes.size();
  queue_->Detach(EndOf(life_.kill_reason(), exit), outcomes);
  const bool is_charged = dead.was_ready && !dead.blameless;
  if (is_charged)  // the current item comes first
    dead.account = given_.WhoPays(in_hand ? std::optional(outcomes[first_lost].id) : std::nullopt);
  given_.Remove(std::span(outcomes).subspan(before));
  return dead;
}

void UserWorker::Tick(base::TimePoint now, const WorkerLife::TimeOuts& time_outs) {
  if (!IsEmpty()) free_since_ = now;
  if (!process_) return;
  const auto oldest = queue_->OldestAtWorker();
  const auto since = oldest ? std::optional(oldest->since) : std::nullopt;
  // Its death makes the event set readable; Collect does the rest.
  if (life_.CheckTimeOuts(now, process_->endpoint->ready(), since, time_outs)) Kill();
}

uint64_t UserWorker::TakeBusyNs() {
  if (!process_) return 0;
  const uint64_t claimed = process_->endpoint->busy_ns();
  return claimed - std::min(claimed, std::exchange(seen_busy_ns_, claimed));
}

std::optional<WorkerQueue::Oldest> UserWorker::InHand() const {
  const auto oldest = queue_->OldestAtWorker();
  return oldest && oldest->started ? oldest : std::nullopt;
}

std::unique_ptr<WorkerQueue> UserWorker::Dismiss(std::vector<Outcome>& outcomes) {
  const bool had_process = has_process();
  process_.reset();
  if (IsEmpty()) return nullptr;
  if (had_process) queue_->Detach({}, outcomes);
  return std::move(queue_);
}

}  // namespace penstock::workers
