// A lane, its worker, and what the supervisor remembers of the two.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/base/clock.h"
#include "common/posix/process.h"
#include "server/workers/lane.h"
#include "server/workers/supervisor.h"
#include "server/workers/worker_process.h"

namespace penstock::workers {

// Why we killed a worker, if we did.
enum class Verdict { kNone, kNotReady, kTimedOut, kBroken, kDoesNotRead, kCrowded };

// Whether the death is the sample's doing: anything is but a SIGKILL that is not ours, and our
// killing of a worker that was not ready, did not read its socket, or has no room for its input.
Lane::InHandEnds EndOf(Verdict verdict, const posix::Exit& exit);

// "killed by signal 11 (Segmentation fault)", for people.
std::string Describe(Verdict verdict, const posix::Exit& exit);

// Share of time spent on samples, in steps of at least a second.
class Utilisation {
 public:
  void Update(base::TimePoint now, uint64_t busy_ns);
  void Restart(base::TimePoint now) { *this = Utilisation(now); }
  double value() const { return value_; }

  Utilisation() = default;

 private:
  explicit Utilisation(base::TimePoint now) : since_(now) {}
  base::TimePoint since_{};
  uint64_t busy_ns_ = 0;
  double value_ = 0;
};

struct Supervisor::Post {
  Post(const Lane::Options& lane_options, const posix::Fd& wake, posix::LooseThreads& loose,
       BackOff::Options back_off_options)
      : number(lane_options.number),
        back_off(back_off_options),
        lane(std::make_unique<Lane>(lane_options, wake, loose)) {}

  bool Accepts() const { return worker && verdict == Verdict::kNone && !retiring; }

  const uint32_t number;
  bool retiring = false;
  bool stopped = false;              // the budget is spent
  Verdict verdict = Verdict::kNone;  // on the worker that is running or not yet reaped
  base::TimePoint restart_at;        // while there is no worker and not stopped
  // Of the worker, as the ticks saw it: since when there is one, and since when it is ready.
  std::optional<base::TimePoint> started_at, ready_at;
  std::set<uint32_t> shown;    // the segments that the worker was told of
  uint32_t failed_starts = 0;  // in a row: workers that were gone before they were ready
  BackOff back_off;
  uint64_t decoded = 0, restarts = 0;
  Utilisation utilisation;
  std::string last_death;
  std::unique_ptr<Lane> lane;           // null: it stays behind without its post
  std::optional<WorkerProcess> worker;  // after the lane: it ends first
};

}  // namespace penstock::workers
