// How severe a log line is.
#pragma once

namespace penstock::telemetry {

enum class Level { kDebug, kInfo, kWarning, kError };

// The priority of sd-daemon(3) and syslog(3).
inline constexpr char ToPriority(Level level) {
  switch (level) {
    case Level::kDebug:
      return '7';
    case Level::kInfo:
      return '6';
    case Level::kWarning:
      return '4';
    case Level::kError:
      break;
  }
  return '3';
}

}  // namespace penstock::telemetry
