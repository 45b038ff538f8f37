// The operators' socket as its callers see it. The daemon hangs up on users who are no operators.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/shm/doorway_wire.h"

namespace penstock::shm {

// Whether a daemon's socket is the operators'. Beside a trainers' socket there is its doorway.
inline bool IsForOperators(const std::string& path) {
  return ::access((path + kDoorwaySuffix).c_str(), F_OK) != 0;
}

// For a user on whom the daemon hung up there. Operators, too, may have only so many connections.
inline absl::Status NotAnOperator(const std::string& path, uint32_t user) {
  return absl::PermissionDeniedError(absl::StrCat(
      path, ": the daemon hung up on user ", user, ", because this socket is for operators (root, ",
      "the daemon's own user and server.admins) or has too many connections; call as one of them, ",
      "or use the trainers' socket"));
}

}  // namespace penstock::shm
