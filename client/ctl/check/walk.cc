#include "client/ctl/check/walk.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace penstock::ctl {
namespace {

bool Allowed(const Step& step, const Identity& who, mode_t for_others) {
  if (who.user == 0) return true;
  if (step.owner == who.user) return (step.mode & (for_others << 6)) == (for_others << 6);
  const bool member = who.group == step.group || std::find(who.groups.begin(), who.groups.end(),
                                                           step.group) != who.groups.end();
  if (member) return (step.mode & (for_others << 3)) == (for_others << 3);
  return (step.mode & for_others) == for_others;
}

}  // namespace

absl::StatusOr<Walk> WalkTo(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), ::free);
  if (real == nullptr) return base::ErrnoStatus(errno, path);
  const std::string whole = real.get();
  Walk walk;
  for (size_t end = 1; end <= whole.size();) {
    const std::string part = whole.substr(0, end);
    struct stat status;
    if (::stat(part.c_str(), &status) != 0) return base::ErrnoStatus(errno, part);
    walk.steps.push_back({part, status.st_mode, status.st_uid, status.st_gid});
    if (end == whole.size()) break;
    end = std::min(whole.find('/', end + 1), whole.size());
  }
  return walk;
}

absl::StatusOr<Walk> WalkWithin(base::Duration deadline, const std::string& path) {
  // Shared by the caller and the thread, which may outlive the call.
  const auto answer = std::make_shared<std::promise<absl::StatusOr<Walk>>>();
  std::future<absl::StatusOr<Walk>> future = answer->get_future();
  std::thread([answer, path] { answer->set_value(WalkTo(path)); }).detach();
  if (future.wait_for(deadline) == std::future_status::ready) return future.get();
  return absl::DeadlineExceededError(absl::StrCat(path, ": no answer"));
}

absl::Status MayGo(const Walk& walk, const Identity& who) {
  for (const Step& step : walk.steps) {
    const bool last = &step == &walk.steps.back();
    const mode_t wanted = !last ? S_IXOTH : S_ISDIR(step.mode) ? S_IROTH | S_IXOTH : S_IROTH;
    if (Allowed(step, who, wanted)) continue;
    return absl::PermissionDeniedError(absl::StrFormat(
        "%s belongs to user %d, group %d, mode %04o: user %d may not %s it", step.path, step.owner,
        step.group, step.mode & 07777, who.user, last ? "read" : "enter"));
  }
  return absl::OkStatus();
}

}  // namespace penstock::ctl
