// Looks up Unix groups and users by name.
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

}  // namespace penstock::posix
