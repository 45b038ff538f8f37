// How many workers the trainers need, from figures. Pure: time is an argument. Increases at once
// and in large steps, because a trainer that starves wastes a GPU; decreases late, because an idle
// worker costs next to nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/clock.h"

namespace penstock::feed {

class WorkerDemand {
 public:
  struct Options {
    uint32_t most = 1;  // maximum; the minimum is one
    // How long to wait after a change while a trainer sleeps.
    base::Duration hurries = std::chrono::milliseconds(200);
    // How long to wait after a change until the figures reflect the new number.
    base::Duration settles = std::chrono::seconds(5);
    // How long workers must be idle, with no trainer starving, before the number decreases.
    base::Duration idles = std::chrono::seconds(10);
  };
  explicit WorkerDemand(const Options& options) : options_(options) {}

  struct Seen {
    uint32_t workers = 0;
    uint32_t more_wanted = 0;  // from the verdict on the feed that decoding delays most
    bool anybody_starves = false;
    double busy = 0;  // 0 … 1
    // Over the last third of a second: how much of the time a trainer slept without a batch, and
    // how busy the workers were.
    double starving = 0, busy_lately = 0;
  };
  struct Change {
    uint32_t workers = 0;
    std::string reason;
  };
  // Call it about ten times a second. Nullopt: no change.
  std::optional<Change> Ask(const Seen& seen, base::TimePoint now);

  const Options& options() const { return options_; }

 private:
  // Whether the last change was so recent.
  bool IsWithin(base::Duration of_change, base::TimePoint now) const;
  std::optional<Change> Changed(uint32_t workers, std::string reason, base::TimePoint now);

  const Options options_;
  std::optional<base::TimePoint> changed_, idle_since_;
};

}  // namespace penstock::feed
