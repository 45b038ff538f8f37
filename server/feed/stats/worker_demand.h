// How many workers the trainers need: figures in, a count out. Pure: time comes in as an argument.
// More at once, because a trainer that starves costs a GPU; fewer one by one, because a worker that
// idles costs next to nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/clock.h"

namespace penstock::feed {

class WorkerDemand {
 public:
  struct Options {
    uint32_t most = 1;  // never more; never fewer than one
    // After a change the figures must be of the new count before they mean anything.
    base::Duration settles = std::chrono::seconds(5);
    // So long workers must be idle, and nobody starve, before there is one less.
    base::Duration idles = std::chrono::seconds(30);
  };
  explicit WorkerDemand(const Options& options) : options_(options) {}

  struct Seen {
    uint32_t workers = 0;
    uint32_t more_wanted = 0;  // by the verdict of the feed that decoding holds up most
    bool anybody_starves = false;
    double busy = 0;  // 0 … 1
  };
  struct Change {
    uint32_t workers = 0;
    std::string reason;
  };
  // About once a second. Nothing: it is well as it is.
  std::optional<Change> Ask(const Seen& seen, base::TimePoint now);

  const Options& options() const { return options_; }

 private:
  std::optional<Change> Changed(uint32_t workers, std::string reason, base::TimePoint now);

  const Options options_;
  std::optional<base::TimePoint> changed_, idle_since_;
};

}  // namespace penstock::feed
