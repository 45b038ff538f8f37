// How far an index is, for people: a bar that is redrawn on a terminal, plain lines elsewhere.
// Pure: time comes in as an argument, text goes out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/clock.h"

namespace penstock::ctl {

class Progress {
 public:
  enum class Style { kBar, kLines };

  // `expected` files: as many as the last index had; 0 when there was none.
  Progress(Style style, uint64_t expected, base::TimePoint start)
      : style_(style), expected_(expected), start_(start) {}

  // What to print now; "" when nothing: a bar ten times, a line once every five seconds.
  std::string Update(uint64_t files_seen, base::TimePoint now);

  // What makes room for the result: takes the bar away.
  std::string End() const;

 private:
  std::string Words(uint64_t files_seen, base::TimePoint now) const;
  std::string Bar(uint64_t files_seen, base::TimePoint now) const;

  Style style_;
  uint64_t expected_;
  base::TimePoint start_;
  std::optional<base::TimePoint> last_;
};

}  // namespace penstock::ctl
