#include "server/app/preflight/folder_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "absl/strings/str_format.h"
#include "common/telemetry/log.h"
#include "server/app/catalog/roots_check.h"

namespace penstock::app {
namespace {

constexpr std::chrono::seconds kWithin(2);

}  // namespace

absl::Status LookForOtherWriters(const std::string& folder) {
  struct stat facts {};
  if (::stat(folder.c_str(), &facts) != 0) return absl::OkStatus();
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0)
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s belongs to user %d, who can replace what the daemon, user %d, keeps there; chown it "
        "to the daemon's user",
        folder, facts.st_uid, ::geteuid()));
  const bool all_write = (facts.st_mode & S_IWOTH) != 0 && (facts.st_mode & S_ISVTX) == 0;
  if (!all_write) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "every user may replace what the daemon keeps in %s (mode %04o); chmod o-w it", folder,
      facts.st_mode & 07777));
}

void WarnOfOtherWriters(const config::v1::Config& config) {
  const ConfiguredRoot folders[] = {{"server.state_dir", config.server().state_dir()},
                                    {"stores.cache", config.stores().cache()}};
  for (const ConfiguredRoot& folder : folders) {
    if (folder.path.empty()) continue;
    const absl::Status closed = LookAtRoots({folder}, kWithin, LookForOtherWriters);
    if (absl::IsFailedPrecondition(closed))
      PENSTOCK_LOG(kWarning, "folder_open_to_others", {"reason", closed.message()});
  }
}

}  // namespace penstock::app
