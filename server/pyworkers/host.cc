#include "server/pyworkers/host.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/check.h"
#include "common/posix/failpoint.h"
#include "common/posix/process.h"

namespace penstock::pyworkers {

absl::StatusOr<std::unique_ptr<Host>> Host::Make(std::shared_ptr<const posix::Fd> pidfd,
                                                 workers::EventSet& events,
                                                 base::Duration start_timeout) {
  PENSTOCK_ASSIGN_OR_RETURN(HostPage page, HostPage::Make());
  std::unique_ptr<Host> host(new Host(std::move(page), std::move(pidfd), events, start_timeout));
  PENSTOCK_ASSIGN_OR_RETURN(host->death_watch_, events.Add(*host->pidfd_));
  PENSTOCK_ASSIGN_OR_RETURN(host->page_watch_, events.Add(host->page_.event_to_daemon()));
  return host;
}

void Host::SetWorkers(uint32_t count) {
  PENSTOCK_CHECK(count <= shm::kMaxPythonWorkers);
  wanted_ = count;
  while (places_.size() < count) places_.emplace_back(start_timeout_);
}

absl::StatusOr<const ChannelEndpoint*> Host::WorkerEntered(
    const ChannelEndpoint::Worker& worker, const std::shared_ptr<const posix::Fd>& pidfd) {
  if (!may_go_on())
    return absl::FailedPreconditionError("the host of this Python worker has ended");
  if (worker.place >= places_.size() || !places_[worker.place].life.Enter(worker.start)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "start ", worker.start, " at place ", worker.place, " of a host: nobody waits for it"));
  }
  WorkerPlace& place = places_[worker.place];
  const absl::Status made = MakeWorker(worker, pidfd, place);
  if (made.ok()) return &place.worker->channel();
  place.worker.reset();
  posix::KillBehind(*pidfd);  // the host says when it is gone
  return made;
}

absl::Status Host::MakeWorker(const ChannelEndpoint::Worker& worker,
                              const std::shared_ptr<const posix::Fd>& pidfd, WorkerPlace& place) {
  PENSTOCK_ASSIGN_OR_RETURN(place.worker, PyWorker::Make(worker, pidfd, place.life));
  PENSTOCK_ASSIGN_OR_RETURN(workers::EventSet::Watch death, events_.Add(place.worker->pidfd()));
  PENSTOCK_ASSIGN_OR_RETURN(workers::EventSet::Watch answer, events_.Add(place.worker->event()));
  place.death_watch = std::move(death);
  place.answer_watch = std::move(answer);
  return absl::OkStatus();
}

void Host::WorkerLeft(const ChannelEndpoint::Worker& worker) {
  if (worker.place >= places_.size()) return;
  WorkerPlace& place = places_[worker.place];
  if (place.worker && place.life.start() == worker.start) place.worker->Kill(KillCause::kLeft);
}

void Host::Dismiss(absl::Status why) {
  if (!may_go_on()) return;
  failure_ = std::move(why);
  is_dismissed_ = true;
}

uint32_t Host::StartAt(uint32_t place) const {
  return place < places_.size() ? places_[place].life.start() : 0;
}

void Host::View(std::vector<PyWorkerView>& views) const {
  for (uint32_t i = 0; i < places_.size(); ++i) {
    const WorkerPlace& place = places_[i];
    PyWorkerView view = {.place = i, .state = place.life.state(), .starts = place.life.start()};
    if (place.worker) view.in_hand = place.worker->work_in_hand();
    if (view.starts > 0) views.push_back(std::move(view));
  }
}

size_t Host::Headroom() const {
  size_t headroom = 0;
  for (uint32_t i = 0; i < places_.size(); ++i) headroom += HeadroomAt(i);
  return headroom;
}

size_t Host::HeadroomAt(uint32_t place) const {
  if (!may_go_on() || place >= places_.size() || !places_[place].worker) return 0;
  return places_[place].worker->Headroom();
}

uint32_t Host::Idlest() const {
  std::optional<uint32_t> best;
  for (uint32_t i = 0; i < places_.size(); ++i) {
    if (HeadroomAt(i) == 0) continue;
    if (!best || places_[i].worker->in_hand() < places_[*best].worker->in_hand()) best = i;
  }
  PENSTOCK_CHECK(best.has_value());
  return *best;
}

void Host::Submit(uint32_t place, const MakeItem& item, base::TimePoint now) {
  PENSTOCK_CHECK(HeadroomAt(place) > 0);
  places_[place].worker->Submit(item, now);
}

void Host::GiveRoom(uint32_t place, uint64_t id, uint64_t granted, base::TimePoint now) {
  PENSTOCK_CHECK(place < places_.size());
  if (places_[place].worker) places_[place].worker->GiveRoom(id, granted, now);
}

void Host::Collect(base::TimePoint now, News& news) {
  NoteItsEnd();
  page_.DrainEvent();
  if (const std::optional<std::string> why = page_.Failure(); why && may_go_on())
    Fail(absl::UnavailableError(absl::StrCat("the host cannot go on: ", *why)));
  for (uint32_t i = 0; i < places_.size(); ++i) CollectFrom(i, now, news);
}

// Also looked at by itself, because the workers die with their host and may be seen first.
void Host::NoteItsEnd() {
  if (is_gone_ || !posix::IsGone(*pidfd_)) return;
  is_gone_ = true;
  death_watch_ = {};
  for (const WorkerPlace& place : places_)
    if (place.worker) posix::KillBehind(place.worker->pidfd());
}

void Host::Fail(absl::Status why) {
  failure_ = std::move(why);
  posix::KillBehind(*pidfd_);
}

void Host::CollectFrom(uint32_t number, base::TimePoint now, News& news) {
  WorkerPlace& place = places_[number];
  if (place.life.start() == 0) return;
  const absl::StatusOr<PlaceReport> report = page_.Read(number);
  if (!report.ok() && may_go_on()) Fail(report.status());
  const PlaceReport known = report.ok() ? *report : PlaceReport();
  if (place.worker) {
    CollectWork(number, now, news);
  } else if (place.life.has_process() && known.ended >= place.life.start()) {
    place.life.NoteEnd(now);
  }
  Clear(number, known, now, news);
}

void Host::CollectWork(uint32_t number, base::TimePoint now, News& news) {
  WorkerPlace& place = places_[number];
  PyWorker::News own;
  place.worker->Collect(now, own);
  if (place.life.state() == PlaceState::kReady) place.was_ready = has_worked_ = true;
  if (place.worker->is_gone()) {
    place.death_watch = {};  // it stays readable
    place.answer_watch = {};
    NoteItsEnd();
  }
  for (MakeResult& result : own.results) {
    // A batch is not to blame for the death of the host.
    if (result.end == MakeEnd::kStrike && is_gone_) {
      result.end = MakeEnd::kLost;
      result.row.reset();
    }
    news.results.push_back(result);
  }
  for (const RoomNeed& need : own.needs) news.needs.emplace_back(number, need);
}

void Host::Clear(uint32_t number, const PlaceReport& report, base::TimePoint now, News& news) {
  WorkerPlace& place = places_[number];
  const bool is_told = report.ended >= place.life.start();
  if (!place.life.Clear(is_told || is_gone_, now)) return;
  const EndReport end = is_told ? page_.ReadEnd(number) : EndReport();
  if (may_go_on()) {
    news.deaths.push_back({.place = number,
                           .pid = report.pid,
                           .how = Describe(place.life.kill_cause(), end.exit),
                           .words = end.words,
                           .was_ready = place.was_ready});
  }
  place.worker.reset();
  place.was_ready = false;
}

// Its workers may still send what is in queues of the program.
void Host::EndDismissed(base::TimePoint now) {
  if (!is_dismissed_ || is_gone_) return;
  if (!kill_at_) kill_at_ = now + kDismissedHostEndsWithin;
  if (now >= *kill_at_) posix::KillBehind(*pidfd_);
}

void Host::Tick(base::TimePoint now) {
  EndDismissed(now);
  for (uint32_t i = 0; i < places_.size(); ++i) {
    WorkerPlace& place = places_[i];
    if (place.worker) {
      place.worker->CheckTimeOuts(now);
    } else if (place.life.has_process()) {
      place.life.CheckTimeOuts(now, std::nullopt, {});
    }
    // Its host can kill it even if it has not entered, or is in another PID namespace.
    if (place.life.has_process() && place.life.kill_cause() != KillCause::kNone)
      page_.Kill(i, place.life.start());
    if (may_go_on() && i < wanted_ && place.life.MayAsk(now)) {
      PENSTOCK_FAILPOINT("python.before_worker_wanted");
      page_.WantStart(i, place.life.Ask(now));
    }
  }
}

bool Host::is_over() const {
  return is_gone_ && std::none_of(places_.begin(), places_.end(), [](const WorkerPlace& place) {
           return place.worker && !place.worker->is_gone();
         });
}

}  // namespace penstock::pyworkers
