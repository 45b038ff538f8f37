// The number of workers: fixed, or adjusted to the trainers' demand (workers.auto). Setting a
// number fixes it.
//
// **Ownership**: the supervisor belongs to the engine. **Thread safety**: the runner's thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/feed/stats/verdict.h"
#include "server/feed/stats/worker_demand.h"
#include "server/workers/supervisor.h"

namespace penstock::feed {

class WorkerCount {
 public:
  // `automatic`: unset means a fixed number.
  WorkerCount(workers::Supervisor& workers, const std::optional<WorkerDemand::Options>& automatic)
      : workers_(workers) {
    if (automatic) demand_.emplace(*automatic);
  }

  // Returns the previous number. **Errors**: InvalidArgument for 0 or more than the maximum.
  absl::StatusOr<uint32_t> Set(uint32_t count);
  // Whether Follow needs figures now: ten times a second, unless the number is fixed.
  bool IsDue(base::TimePoint now) const;
  // How busy all workers are, 0 … 1: over the last seconds, and over the last third of one.
  struct Busy {
    double on_average = 0, lately = 0;
  };
  // Adjusts the number to the demand. `feeds`: the figures of each feed that has sessions.
  void Follow(const std::vector<FlowFigures>& feeds, const Busy& workers, base::TimePoint now);
  // "auto, 1 to 8", or "fixed".
  std::string policy() const;

 private:
  void Change(const WorkerDemand::Change& change);

  workers::Supervisor& workers_;
  std::optional<WorkerDemand> demand_;
  base::TimePoint asked_{};
};

}  // namespace penstock::feed
