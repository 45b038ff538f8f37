// Where operators call a daemon of a system, apart from its trainers: containers mount the
// trainers' folder, and must not find this socket there.
#pragma once

#include <string>

#include "common/base/status.h"
#include "penstock/config/v1/config.pb.h"
#include "server/doorway/address.h"
#include "server/rpc/server.h"

namespace penstock::app {

// As configured, or beside the trainers' folder: /run/penstock-admin/admin.sock for
// /run/penstock/penstock.sock. Pure.
std::string AdminSocketOf(const config::v1::Server& server);

// Of server.admins. InvalidArgument names a user or a group that does not exist.
absl::StatusOr<rpc::Admins> AdminsOf(const config::v1::Server& server);

// Listens there. The folder is made where missing (its parent is not), and is this user's own:
// closed to others (0700), unless there are `admins` beside root and this user; then anybody can
// knock (0711), and the server asks the kernel who it is. Errors as ClaimAddress.
absl::StatusOr<doorway::Claim> ClaimAdminSocket(const std::string& path, const rpc::Admins& admins);

}  // namespace penstock::app
