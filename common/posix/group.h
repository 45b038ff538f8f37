// Unix groups and users by their names.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/base/status.h"

namespace penstock::posix {

// The group of this name, however many members it has; else the number that the text is. NotFound
// names it.
absl::StatusOr<gid_t> FindGroup(const std::string& group);

// The same for a user.
absl::StatusOr<uid_t> FindUser(const std::string& user);

}  // namespace penstock::posix
