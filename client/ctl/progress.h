// Progress of indexing: a bar that is redrawn on a terminal, plain lines elsewhere. Pure: time
// comes in as an argument, text goes out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "common/base/clock.h"

namespace penstock::ctl {

class Progress {
 public:
  enum class Style { kBar, kLines };

  // `expected`: number of files in the last index; 0 if there was none. `what` is counted.
  Progress(Style style, uint64_t expected, base::TimePoint start, std::string what = "files")
      : style_(style), expected_(expected), start_(start), what_(std::move(what)) {}

  uint64_t expected() const { return expected_; }

  // Text to print now: a bar ten times a second, or a line every five seconds; "" in between.
  std::string Update(uint64_t files_seen, base::TimePoint now);

  // Text that erases the bar before the result is printed.
  std::string End() const;

 private:
  std::string Words(uint64_t files_seen, base::TimePoint now) const;
  std::string Bar(uint64_t files_seen, base::TimePoint now) const;

  Style style_;
  uint64_t expected_;
  base::TimePoint start_;
  std::string what_;
  std::optional<base::TimePoint> last_;
};

}  // namespace penstock::ctl
