#include "common/posix/group.h"

#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/numbers.h"

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

}  // namespace penstock::posix
