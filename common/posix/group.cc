#include "common/posix/group.h"

#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace penstock::posix {
namespace {

// buffer sizes for an entry with its members
constexpr size_t kLeastBytes = 4 << 10, kMostBytes = 16 << 20;

}  // namespace

absl::StatusOr<gid_t> FindGroup(const std::string& group) {
  ::group entry;
  ::group* found = nullptr;
  std::vector<char> buffer(kLeastBytes);
  while (::getgrnam_r(group.c_str(), &entry, buffer.data(), buffer.size(), &found) == ERANGE &&
         buffer.size() < kMostBytes) {
    buffer.resize(2 * buffer.size());
  }
  if (found != nullptr) return found->gr_gid;
  uint32_t number = 0;
  if (absl::SimpleAtoi(group, &number)) return number;
  return absl::NotFoundError(absl::StrCat("there is no group '", group, "' on this machine"));
}

absl::StatusOr<uid_t> FindUser(const std::string& user) {
  ::passwd entry;
  ::passwd* found = nullptr;
  std::vector<char> buffer(kLeastBytes);
  while (::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found) == ERANGE &&
         buffer.size() < kMostBytes) {
    buffer.resize(2 * buffer.size());
  }
  if (found != nullptr) return found->pw_uid;
  uint32_t number = 0;
  if (absl::SimpleAtoi(user, &number)) return number;
  return absl::NotFoundError(absl::StrCat("there is no user '", user, "' on this machine"));
}

bool MapsAllUsers(const std::string& uid_map) {
  uint64_t inside = 0, outside = 0, count = 0;
  std::istringstream line(uid_map);
  line >> inside >> outside >> count;
  return line && inside == 0 && outside == 0 && count == UINT32_MAX;
}

absl::Status CheckStandsForOneUser(uid_t user) {
  uid_t nobody = 65534;
  std::ifstream("/proc/sys/kernel/overflowuid") >> nobody;
  if (user != nobody) return absl::OkStatus();
  std::string map;
  std::getline(std::ifstream("/proc/self/uid_map"), map);
  if (MapsAllUsers(map)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "the daemon runs in a user namespace that has no number for this user, so it cannot be told "
      "apart from others (the kernel reports all of them as ",
      user,
      "); run the daemon in the machine's own user namespace (Kubernetes: hostUsers: true), "
      "or both in one pod"));
}

}  // namespace penstock::posix
