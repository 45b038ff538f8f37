#include "server/app/systemd_notifier.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/units.h"

namespace penstock::app {
namespace {

constexpr std::chrono::seconds kStatusEvery(1);
constexpr int kSignsATimeout = 4;

// Keeps one line: text after a line break would be a separate message.
std::string StatusLine(absl::string_view text) {
  std::string line = absl::StrCat("STATUS=", text);
  for (char& each : line)
    if (each == '\n' || each == '\r') each = ' ';
  return line;
}

std::string StatusOf(const feed::Vitals& vitals, bool ready) {
  const std::string workers =
      absl::StrCat(vitals.workers_running, " of ", vitals.workers, " workers");
  if (!ready) return StatusLine(absl::StrCat("starting; ", workers, " have answered"));
  if (vitals.draining)
    return StatusLine(absl::StrCat("draining; ", vitals.not_drained,
                                   vitals.not_drained == 1 ? " session is" : " sessions are",
                                   " in an epoch; ", workers));
  return StatusLine(absl::StrCat("serving ", vitals.sessions,
                                 vitals.sessions == 1 ? " session" : " sessions", "; ",
                                 base::FormatBytes(vitals.reserved_bytes), " of the pool's ",
                                 base::FormatBytes(vitals.pool_bytes), " reserved; ", workers));
}

}  // namespace

std::string SystemdNotifier::Next(const feed::Vitals& vitals, bool ready, base::TimePoint now) {
  std::vector<std::string> lines;
  const bool was_ready = ready_;
  if (ready && vitals.workers_running > 0) ready_ = true;  // the vitals may be slightly old
  if (ready_ && !was_ready) lines.push_back("READY=1");

  std::string status = StatusOf(vitals, ready_);
  const bool due = status_.empty() || now - status_at_ >= kStatusEvery || ready_ != was_ready;
  if (status != status_ && due) {
    lines.push_back(status);
    status_ = std::move(status);
    status_at_ = now;
  }

  const bool passed = vitals.passes != passes_;
  const bool sign_due = !alive_at_ || now - *alive_at_ >= watchdog_ / kSignsATimeout;
  if (watchdog_.count() > 0 && ready_ && passed && sign_due) {
    lines.push_back("WATCHDOG=1");
    passes_ = vitals.passes;
    alive_at_ = now;
  }
  return absl::StrJoin(lines, "\n");
}

std::string SystemdNotifier::Reloading(base::TimePoint now) {
  const auto since_boot =
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch());
  return absl::StrCat("RELOADING=1\nMONOTONIC_USEC=", since_boot.count());
}

std::string SystemdNotifier::Draining(base::Duration at_most) {
  constexpr std::chrono::seconds kThenEnds(15);
  const auto extended = std::chrono::duration_cast<std::chrono::microseconds>(at_most + kThenEnds);
  return absl::StrCat(Ending("draining"), "\nEXTEND_TIMEOUT_USEC=", extended.count());
}

std::string SystemdNotifier::Ending(absl::string_view reason) {
  return absl::StrCat("STOPPING=1\n", StatusLine(absl::StrCat("ending: ", reason)));
}

}  // namespace penstock::app
