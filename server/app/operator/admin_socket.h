// The operators' socket, apart from the trainers': containers mount the trainers' folder and must
// not find this socket there.
#pragma once

#include <string>

#include "common/base/status.h"
#include "penstock/config/v1/config.pb.h"
#include "server/doorway/address.h"
#include "server/rpc/server.h"

namespace penstock::app {

// The configured path, or one beside the trainers' folder: /run/penstock-admin/admin.sock for
// /run/penstock/penstock.sock. Pure.
std::string AdminSocketOf(const config::v1::Server& server);

// Resolves server.admins. **Errors**: InvalidArgument names a user or group that doesn't exist.
absl::StatusOr<rpc::Admins> ToAdmins(const config::v1::Server& server);

// Listens there. Creates the folder if it is missing (but not its parent), owned by this user: mode
// 0700, or, if there are `admins` besides root and this user, 0711, so that anyone can connect and
// the server checks the peer's credentials. **Errors**: those of ClaimAddress.
absl::StatusOr<doorway::Claim> ClaimAdminSocket(const std::string& path, const rpc::Admins& admins,
                                                const doorway::ClaimPurpose& purpose = {});

// The operators' port (server.admin_address), listening; unset if there is none. **Errors**: as
// posix::ListenTcp.
absl::StatusOr<posix::Fd> ListenForOperators(const config::v1::Server& server);
rpc::TlsPaths ToTlsPaths(const config::v1::Server& server);
// Whether the port can be served with its files. **Errors**: as rpc::CheckTls.
absl::Status CheckTlsFiles(const config::v1::Config& config);

}  // namespace penstock::app
