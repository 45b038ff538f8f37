#include "client/ctl/scripting/wait.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "client/ctl/table.h"

namespace penstock::ctl {
namespace {

constexpr base::Duration kLeast = std::chrono::milliseconds(200);

// Why it does not serve new sessions; OK if it does.
absl::Status Readiness(const absl::StatusOr<v1::GetStatusResponse>& status) {
  PENSTOCK_RETURN_IF_ERROR(status.status());
  if (status->serving() && !status->draining()) return absl::OkStatus();
  const char* const state = status->draining() ? "it drains" : "it does not serve yet";
  return absl::UnavailableError(absl::StrCat("the daemon answers, and ", state,
                                             status->reason().empty() ? "" : ": ",
                                             OneLine(status->reason())));
}

}  // namespace

absl::Status WaitUntilReady(const AskReady& ask, base::Duration timeout, const base::Clock& clock,
                            const std::function<void()>& pause) {
  const base::TimePoint end = clock.Now() + timeout;
  for (;;) {
    // At the end it asks once more, briefly: the daemon may just have become ready.
    const absl::Status ready = Readiness(ask(std::max(end - clock.Now(), kLeast)));
    if (ready.ok() || absl::IsPermissionDenied(ready) || absl::IsInvalidArgument(ready))
      return ready;
    if (clock.Now() >= end) {
      return absl::DeadlineExceededError(
          absl::StrCat("not ready within ",
                       Age(std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count()),
                       ": ", ready.message()));
    }
    pause();
  }
}

}  // namespace penstock::ctl
