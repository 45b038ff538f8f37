#include "common/sandbox/limits.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/sandbox/sandbox.h"

namespace penstock::sandbox {
namespace {

// Worth half of the machine's memory, so that the score exceeds that of the daemon with its pool.
constexpr char kOomScore[] = "500";

// Any process may raise its own score, so this fails only without /proc.
void VolunteerForTheOomKiller() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, kOomScore, sizeof(kOomScore) - 1);
  ::close(file);
}

absl::Status Limit(__rlimit_resource_t what, absl::string_view name, rlim_t most) {
  rlimit limit{};
  if (::getrlimit(what, &limit) == 0) {
    limit.rlim_max = std::min(limit.rlim_max, most);
    limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
    if (::setrlimit(what, &limit) == 0) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("lowering ", name, " to ", most, ": ", ::strerrordesc_np(errno)));
}

}  // namespace

absl::Status LimitProcess(const ProcessLimits& limits) {
  VolunteerForTheOomKiller();
  PENSTOCK_RETURN_IF_ERROR(Limit(RLIMIT_NOFILE, "RLIMIT_NOFILE", limits.open_files));
  if (kIsInstrumented) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(Limit(RLIMIT_DATA, "RLIMIT_DATA", limits.memory));
  if (limits.addresses == 0) return absl::OkStatus();
  return Limit(RLIMIT_AS, "RLIMIT_AS", limits.addresses);
}

}  // namespace penstock::sandbox
