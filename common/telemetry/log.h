// Logging: one line per event on standard error, for people and for programs that read key=value.
//
//   PENSTOCK_LOG(kWarning, "worker_exited", {"pid", pid}, {"reason", reason});
//   time=2026-11-20T09:12:33.041Z level=warning event=worker_exited pid=4711 reason="out of memory"
//
// Each call site writes ten lines at once, then ten a second; after a suppressed line its next line
// carries suppressed=N. Values of lines below the level are not even computed, nor are those of
// suppressed lines.
//
// Where standard error is systemd's journal, lines go there with their priority and fields instead
// (journal.h).
//
// **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "absl/strings/string_view.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/telemetry/level.h"
#include "common/telemetry/line.h"
#include "common/telemetry/line_limiter.h"

namespace penstock::telemetry {

// Parses "debug", "info", "warning" or "error", as written in the configuration.
absl::StatusOr<Level> ParseLevel(absl::string_view text);

// The lowest level to write, for the whole process; kInfo at start. Takes effect at once.
void SetLevel(Level level);
bool IsEnabled(Level level);

// The line format: "time=… level=… event=… key=value…", or a JSON object with the same keys. kText
// at start. **Requires**: called before other threads log.
enum class Format { kText, kJson };
void SetFormat(Format format);
Format GetFormat();

// Sends lines to the journal from now on if standard error is a stream to it; returns whether it
// is. **Requires**: called at most once, before other threads log.
bool UseJournal();
bool UsesJournal();
// Lines that the journal did not take.
uint64_t LostLines();

// Writes one line without rate limiting. Nearly always use PENSTOCK_LOG instead.
void Log(Level level, absl::string_view event, std::initializer_list<LogField> fields,
         uint64_t suppressed = 0);

// A call site that logs. Lives as long as the process.
class CallSite {
 public:
  LineLimiter::Decision Ask(base::TimePoint now) {
    base::MutexLock lock(mutex_);
    return limiter_.Ask(now);
  }

 private:
  base::Mutex mutex_;
  LineLimiter limiter_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::telemetry

// PENSTOCK_LOG(kInfo, "session_opened", {"session", id}, …): an event's name, then its fields.
#define PENSTOCK_LOG(level, event, ...)                                        \
  do {                                                                         \
    constexpr auto penstock_level = ::penstock::telemetry::Level::level;       \
    if (!::penstock::telemetry::IsEnabled(penstock_level)) break;              \
    static ::penstock::telemetry::CallSite penstock_site;                      \
    const auto penstock_decision = penstock_site.Ask(::penstock::base::Now()); \
    if (!penstock_decision.write) break;                                       \
    ::penstock::telemetry::Log(penstock_level, event, {__VA_ARGS__},           \
                               penstock_decision.suppressed);                  \
  } while (false)
