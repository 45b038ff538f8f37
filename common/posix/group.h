// Unix groups by their names.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/base/status.h"

namespace penstock::posix {

// The group of this name, however many members it has; else the number that the text is. NotFound
// names it.
absl::StatusOr<gid_t> FindGroup(const std::string& group);

}  // namespace penstock::posix
