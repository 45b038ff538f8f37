// How long to wait before trying again: a pause that doubles with each attempt, up to a limit.
// Pure. **Thread safety**: used by one thread.
#pragma once

#include <algorithm>

#include "common/base/clock.h"

namespace penstock::base {

class BackOff {
 public:
  struct Options {
    Duration first, longest;
  };
  explicit BackOff(const Options& options)
      : options_(options), next_(std::min(options.first, options.longest)) {}

  // The pause before this attempt. The next one is twice as long.
  Duration Next() {
    const Duration pause = next_;
    next_ = After(pause, options_);
    return pause;
  }

  // The last attempt succeeded: the next pause is the first again.
  void Reset() { next_ = std::min(options_.first, options_.longest); }

  // The pause that follows `pause`; the first one, if that was shorter.
  static Duration After(Duration pause, const Options& options) {
    if (pause > options.longest / 2) return options.longest;
    return std::min(std::max(2 * pause, options.first), options.longest);
  }

 private:
  Options options_;
  Duration next_;
};

}  // namespace penstock::base
