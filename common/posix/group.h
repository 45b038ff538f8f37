// Looks up Unix groups and users by name, and tells users apart from those without a number.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/base/status.h"

namespace penstock::posix {

// Finds the group with this name, however many members it has, or else the group with this number.
// **Errors**: NotFound quotes the text.
absl::StatusOr<gid_t> FindGroup(const std::string& group);

// The same for a user.
absl::StatusOr<uid_t> FindUser(const std::string& user);

// Whether a user namespace with this /proc/PID/uid_map gives a number to every user of the machine,
// as the first one does. Pure.
bool MapsAllUsers(const std::string& uid_map);

// Within a user namespace, the kernel reports all users that the namespace has no number for as one
// (/proc/sys/kernel/overflowuid, 65534). They must not be served as if they were one user.
//
// **Errors**: PermissionDenied if `user` may stand for several users.
absl::Status CheckStandsForOneUser(uid_t user);

}  // namespace penstock::posix
