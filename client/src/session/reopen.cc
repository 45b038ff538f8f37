#include "client/src/session/reopen.h"

#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/back_off.h"

namespace penstock::client {
namespace {

constexpr base::BackOff::Options kPauses = {std::chrono::milliseconds(50), std::chrono::seconds(1)};

// Whether the daemon may be back soon.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsNotFound(status) ||
         absl::IsResourceExhausted(status) || absl::IsDeadlineExceeded(status);
}

absl::StatusOr<Opened> TryReopen(const std::function<absl::StatusOr<Opened>()>& open,
                                 const Grant& before) {
  absl::StatusOr<Opened> opened = open();
  if (!opened.ok()) return opened;
  PENSTOCK_RETURN_IF_ERROR(CheckSameFeed(before, opened->attachment->grant()));
  return opened;
}

}  // namespace

absl::StatusOr<Opened> Reopen(const std::function<absl::StatusOr<Opened>()>& open,
                              const Grant& before, base::TimePoint deadline,
                              const ReopenClock& clock) {
  base::BackOff pauses(kPauses);
  for (;;) {
    absl::StatusOr<Opened> opened = TryReopen(open, before);
    if (opened.ok() || !MayPass(opened.status())) return opened;
    const base::Duration pause = pauses.Next();
    if (clock.now() + pause >= deadline)
      return absl::UnavailableError(absl::StrCat("could not reconnect to the daemon: ",
                                                 std::string(opened.status().message())));
    clock.sleep(pause);
  }
}

}  // namespace penstock::client
