// The time as logs write it: 2026-11-20T09:12:33.041Z. Safe in signal handlers.
#pragma once

#include <ctime>

namespace penstock::telemetry {

class Timestamp {
 public:
  static Timestamp Now();
  // **Requires**: between the years 1970 and 9999.
  explicit Timestamp(const timespec& since_1970);

  const char* text() const { return text_; }

 private:
  char text_[25];
};

}  // namespace penstock::telemetry
