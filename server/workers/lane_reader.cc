// The reader thread of lane.h.
#include <pthread.h>

#include <chrono>
#include <string>

#include "common/base/units.h"
#include "server/source/retry_policy.h"
#include "server/workers/lane.h"

namespace penstock::workers {

void Lane::Run() {
  const std::string name = absl::StrCat("reader-", options_.number);
  ::pthread_setname_np(::pthread_self(), name.c_str());
  while (const std::optional<Job> job = NextJob()) Bring(*job);
}

std::optional<Lane::Job> Lane::NextJob() {
  const base::MutexLock lock(mutex_);
  reading_.reset();
  while (!stopping_ && inbox_.empty()) changed_.Wait(mutex_);  // Give and the end notify
  if (stopping_) return std::nullopt;
  Job job{.item = inbox_.front(), .link = attached_, .begun = base::Now()};
  inbox_.pop_front();
  reading_ = {job.item.dataset, job.item.sample, job.begun};
  return job;
}

void Lane::Bring(const Job& job) {
  const source::RetryPolicy policy{.total = options_.retry_for};
  std::optional<base::TimePoint> failing_since;
  for (uint32_t failures = 1;; ++failures) {
    const absl::StatusOr<Fetched> fetched = Fetch(job);
    if (fetched.ok()) return Deliver(job, *fetched);
    // What is stored is not what was indexed, and stays so: nothing to try again.
    if (absl::IsDataLoss(fetched.status()))
      return End(job, OutcomeKind::kSourceFailed, base::Fault::kNone, fetched.status());
    if (!failing_since) failing_since = base::Now();
    const auto wait = policy.WaitAfter(failures, base::Now() - *failing_since);
    if (!wait) return GiveUp(job, fetched.status());
    if (!Pause(job,
               {.since = *failing_since,
                .reason = std::string(fetched.status().message()),
                .dataset = job.item.dataset},
               *wait)) {
      return End(job, OutcomeKind::kLost, base::Fault::kNone, {});
    }
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
  if (job.item.selection != nullptr) {
    PENSTOCK_ASSIGN_OR_RETURN(const base::Fault fault,
                              reader->ReadFields(*job.item.selection, job.item.field_rows));
    if (fault != base::Fault::kNone) return Fetched{.kind = OutcomeKind::kRefused, .fault = fault};
  }
  const std::optional<Room> room = WaitForInput(job, opened.bytes);
  if (!room) return Fetched{.kind = OutcomeKind::kLost};
  if (const absl::Status read = reader->Read(job.link->Input(room->offset, opened.bytes));
      !read.ok()) {
    DropInput(job);
    return read;
  }
  return Fetched{.offset = room->offset, .bytes = opened.bytes, .held_up = room->held_up};
}

std::optional<Lane::Room> Lane::WaitForInput(const Job& job, uint64_t bytes) {
  std::optional<base::TimePoint> held_up_since;
  const base::MutexLock lock(mutex_);
  for (;;) {
    if (!Current(job)) return std::nullopt;
    if (const auto offset = job.link->arena().Allocate(bytes)) {
      const base::TimePoint now = base::Now();
      reading_ = {job.item.dataset, job.item.sample, now};
      return Room{.offset = *offset, .held_up = now - held_up_since.value_or(now)};
    }
    if (!held_up_since) held_up_since = base::Now();
    reading_.reset();  // it is the worker that is slow, and that has a time-out of its own
    changed_.Wait(mutex_);
  }
}

void Lane::DropInput(const Job& job) {
  const base::MutexLock lock(mutex_);
  job.link->arena().FreeNewest();
}

bool Lane::Pause(const Job& job, Stall stall, base::Duration wait) {
  const base::TimePoint again = base::Now() + wait;
  const base::MutexLock lock(mutex_);
  stall_ = std::move(stall);
  for (auto now = base::Now(); now < again && Current(job); now = base::Now()) {
    changed_.WaitFor(mutex_, again - now);
  }
  return Current(job);
}

void Lane::GiveUp(const Job& job, const absl::Status& trouble) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.retry_for).count();
  End(job, OutcomeKind::kSourceFailed, base::Fault::kNone,
      base::Annotate(trouble, absl::StrCat("sample ", job.item.sample, " could not be read for ",
                                           seconds, " s, see to its storage")));
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
    const base::TimePoint read_end = base::Now();
    const base::MutexLock lock(mutex_);
    stall_.reset();
    if (Current(job)) {
      // Under the lock, so that the completion finds its item.
      if (!job.link->Push(request)) {
        broken_ = true;
        posix::Ring(wake_);
      }
      if (sent_.empty()) oldest_since_ = read_end;
      sent_.push_back({.sequence = request.sequence,
                       .item = job.item,
                       .times = {.given = job.item.given,
                                 .read_begin = job.begun,
                                 .read_end = read_end,
                                 .held_up = fetched.held_up}});
    } else {
      kind = OutcomeKind::kLost;
    }
  }
  if (kind == OutcomeKind::kDone) {
    job.link->WakeWorker();
  } else {
    End(job, kind, fetched.fault, {});
  }
}

void Lane::End(const Job& job, OutcomeKind kind, base::Fault fault, absl::Status status) {
  const base::TimePoint now = base::Now();
  {
    const base::MutexLock lock(mutex_);
    stall_.reset();
    ended_.push_back(
        {.id = job.item.id,
         .kind = kind,
         .fault = fault,
         .status = std::move(status),
         .worker = options_.number,
         .times = {
             .given = job.item.given, .read_begin = job.begun, .read_end = now, .ended = now}});
  }
  posix::Ring(wake_);
}

bool Lane::Current(const Job& job) const { return !stopping_ && attached_ == job.link; }

}  // namespace penstock::workers
