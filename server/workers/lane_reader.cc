// The reader thread of lane.h.
#include <pthread.h>

#include <chrono>
#include <string>

#include "common/base/units.h"
#include "server/workers/lane.h"
#include "server/workers/restart.h"

namespace penstock::workers {
namespace {

constexpr BackOff::Options kRetries{.first = std::chrono::milliseconds(50),
                                    .longest = std::chrono::seconds(2)};

base::TimePoint Now() { return base::SteadyClock().Now(); }

int64_t Seconds(base::Duration time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

}  // namespace

void Lane::Run() {
  const std::string name = absl::StrCat("reader-", options_.number);
  ::pthread_setname_np(::pthread_self(), name.c_str());
  while (const std::optional<Job> job = NextJob()) Bring(*job);
}

std::optional<Lane::Job> Lane::NextJob() {
  const base::MutexLock lock(mutex_);
  reading_since_.reset();
  while (!stopping_ && inbox_.empty()) changed_.Wait(mutex_);  // Give and the end notify
  if (stopping_) return std::nullopt;
  Job job{.item = inbox_.front(), .link = attached_};
  inbox_.pop_front();
  reading_since_ = Now();
  return job;
}

void Lane::Bring(const Job& job) {
  BackOff pauses(kRetries);
  std::optional<base::TimePoint> trouble_since;
  for (;;) {
    const absl::StatusOr<Fetched> fetched = Fetch(job);
    if (fetched.ok()) return Deliver(job, *fetched);
    if (!trouble_since) trouble_since = Now();
    if (!Pause(job, fetched.status(), *trouble_since, pauses.Next())) return;
  }
}

// No reader of the dataset is left when this returns: the dataset may go with the item's outcome.
absl::StatusOr<Lane::Fetched> Lane::Fetch(const Job& job) {
  const auto reader = job.item.dataset->NewReader();
  PENSTOCK_ASSIGN_OR_RETURN(const source::Dataset::Reader::Opened opened,
                            reader->Open(job.item.sample));
  if (opened.fault != base::Fault::kNone) {
    return Fetched{.kind = OutcomeKind::kRefused, .fault = opened.fault};
  }
  if (opened.bytes > options_.limits.max_bytes) {
    return Fetched{.kind = OutcomeKind::kRefused, .fault = base::Fault::kTooManyBytes};
  }
  const std::optional<uint64_t> offset = WaitForInput(job, opened.bytes);
  if (!offset) return Fetched{.kind = OutcomeKind::kLost};
  if (const absl::Status read = reader->Read(job.link->Input(*offset, opened.bytes)); !read.ok()) {
    DropInput(job);
    return read;
  }
  return Fetched{.offset = *offset, .bytes = opened.bytes};
}

std::optional<uint64_t> Lane::WaitForInput(const Job& job, uint64_t bytes) {
  const base::MutexLock lock(mutex_);
  for (;;) {
    if (!Current(job)) return std::nullopt;
    if (const auto offset = job.link->arena().Allocate(bytes)) {
      reading_since_ = Now();
      return offset;
    }
    reading_since_.reset();  // it is the worker that is slow, and that has a time-out of its own
    changed_.Wait(mutex_);
  }
}

void Lane::DropInput(const Job& job) {
  const base::MutexLock lock(mutex_);
  job.link->arena().FreeNewest();
}

bool Lane::Pause(const Job& job, const absl::Status& trouble, base::TimePoint since,
                 base::Duration pause) {
  const base::TimePoint give_up = since + options_.retry_for;
  bool lost = false;
  {
    const base::MutexLock lock(mutex_);
    stall_ = Stall{.since = since, .reason = std::string(trouble.message())};
    const base::TimePoint again = std::min(Now() + pause, give_up);
    for (auto now = Now(); now < again && Current(job); now = Now()) {
      changed_.WaitFor(mutex_, again - now);
    }
    lost = !Current(job);
    if (!lost && Now() < give_up) return true;
    stall_.reset();
  }
  if (lost) {
    End(job.item, OutcomeKind::kLost, base::Fault::kNone, {});
  } else {
    const std::string context = absl::StrCat("sample ", job.item.sample, " could not be read for ",
                                             Seconds(options_.retry_for),
                                             " s; see to its storage, then open the feed again");
    End(job.item, OutcomeKind::kSourceFailed, base::Fault::kNone, base::Annotate(trouble, context));
  }
  return false;
}

void Lane::Deliver(const Job& job, const Fetched& fetched) {
  OutcomeKind kind = fetched.kind;
  if (kind == OutcomeKind::kDone) {
    Request request{.sequence = 0,
                    .input_offset = fetched.offset,
                    .input_bytes = fetched.bytes,
                    .row_offset = job.item.row_offset,
                    .row_bytes = decode::RowBytes(job.item.spec),
                    .segment = job.item.segment,
                    .reserved = 0,
                    .spec = job.item.spec,
                    .key = job.item.key};
    const base::MutexLock lock(mutex_);
    stall_.reset();
    if (Current(job)) {
      // Under the lock, so that the completion finds its item.
      if (!job.link->Push(request)) {
        broken_ = true;
        posix::Ring(wake_);
      }
      if (sent_.empty()) oldest_since_ = Now();
      sent_.push_back({.sequence = request.sequence, .item = job.item});
    } else {
      kind = OutcomeKind::kLost;
    }
  }
  if (kind == OutcomeKind::kDone) {
    job.link->WakeWorker();
  } else {
    End(job.item, kind, fetched.fault, {});
  }
}

void Lane::End(const WorkItem& item, OutcomeKind kind, base::Fault fault, absl::Status status) {
  {
    const base::MutexLock lock(mutex_);
    stall_.reset();
    ended_.push_back({.id = item.id, .kind = kind, .fault = fault, .status = std::move(status)});
  }
  posix::Ring(wake_);
}

bool Lane::Current(const Job& job) const { return !stopping_ && attached_ == job.link; }

}  // namespace penstock::workers
