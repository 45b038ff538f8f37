#include "server/app/operator/admin_socket.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/posix/group.h"
#include "common/posix/socket.h"
#include "common/posix/tcp_listener.h"

namespace penstock::app {
namespace {

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

absl::Status Wrong(int index, const absl::Status& why) {
  return absl::InvalidArgumentError(
      absl::StrCat("server.admins[", index, "]: ", why.message(),
                   "; name users, or groups as group:NAME, that are there"));
}

absl::Status SetMode(const std::string& path, mode_t mode) {
  if (::chmod(path.c_str(), mode) == 0) return absl::OkStatus();
  return base::ErrnoStatus(errno, absl::StrCat("setting the mode of ", path));
}

}  // namespace

std::string AdminSocketOf(const config::v1::Server& server) {
  if (!server.admin_socket().empty()) return server.admin_socket();
  return absl::StrCat(FolderOf(server.socket()), "-admin/admin.sock");
}

absl::StatusOr<rpc::Admins> ToAdmins(const config::v1::Server& server) {
  rpc::Admins admins;
  for (int i = 0; i < server.admins_size(); ++i) {
    const std::string& text = server.admins(i);
    absl::string_view name = text;
    if (absl::ConsumePrefix(&name, "group:")) {
      const auto group = posix::FindGroup(std::string(name));
      if (!group.ok()) return Wrong(i, group.status());
      admins.groups.push_back(*group);
    } else {
      const auto user = posix::FindUser(text);
      if (!user.ok()) return Wrong(i, user.status());
      admins.users.push_back(*user);
    }
  }
  return admins;
}

absl::StatusOr<doorway::Claim> ClaimAdminSocket(const std::string& path, const rpc::Admins& admins,
                                                const doorway::ClaimPurpose& purpose) {
  absl::StatusOr<doorway::Claim> claim = doorway::ClaimAddress(path, "", purpose);
  if (!claim.ok()) return base::Annotate(claim.status(), "server.admin_socket");
  if (!claim->is_held()) return claim;
  const bool closed = admins.users.empty() && admins.groups.empty();
  PENSTOCK_RETURN_IF_ERROR(SetMode(path, closed ? 0600 : 0666));
  PENSTOCK_RETURN_IF_ERROR(SetMode(FolderOf(path), closed ? 0700 : 0711));
  return claim;
}

absl::StatusOr<posix::Fd> ListenForOperators(const config::v1::Server& server) {
  if (server.admin_address().empty()) return posix::Fd();
  PENSTOCK_ASSIGN_OR_RETURN(const posix::TcpAddress at,
                            posix::ParseTcpAddress(server.admin_address()));
  absl::StatusOr<posix::Fd> listener = posix::ListenTcp(at, posix::kLongestQueue);
  if (!listener.ok()) return base::Annotate(listener.status(), "server.admin_address");
  return listener;
}

rpc::TlsPaths ToTlsPaths(const config::v1::Server& server) {
  return {.certificate = server.admin_certificate(),
          .key = server.admin_key(),
          .client_ca = server.admin_client_ca()};
}

absl::Status CheckTlsFiles(const config::v1::Config& config) {
  if (config.server().admin_address().empty()) return absl::OkStatus();
  return rpc::CheckTls(ToTlsPaths(config.server()));
}

}  // namespace penstock::app
