#include "server/app/config/operators_port_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/posix/tcp.h"

namespace penstock::app {
namespace {

struct TlsKey {
  std::string key;  // as in YAML
  const std::string& path;
};

std::vector<TlsKey> TlsKeys(const config::v1::Server& server) {
  return {{"server.admin_certificate", server.admin_certificate()},
          {"server.admin_key", server.admin_key()},
          {"server.admin_client_ca", server.admin_client_ca()}};
}

bool IsPlainPath(const std::string& path) {
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  return path[0] == '/' && path.back() != '/' &&
         std::find(parts.begin(), parts.end(), "..") == parts.end();
}

}  // namespace

absl::Status CheckOperatorsPort(const config::v1::Server& server, const ConfigLines& lines) {
  const std::string& address = server.admin_address();
  for (const TlsKey& each : TlsKeys(server)) {
    if (!each.path.empty() && address.empty())
      return lines.Refuse(each.key, absl::StrCat("got '", each.path,
                                                 "', wanted nothing, because server.admin_address "
                                                 "is not set"));
    if (!each.path.empty() && !IsPlainPath(each.path))
      return lines.Refuse(each.key, absl::StrCat("got '", each.path,
                                                 "', wanted the absolute path of a file without "
                                                 "'..', like /etc/penstock/tls/node.pem"));
  }
  if (address.empty()) return absl::OkStatus();
  if (const absl::Status wrong = posix::ParseTcpAddress(address).status(); !wrong.ok())
    return lines.Refuse("server.admin_address", wrong.message());
  if (address == server.health_address() || address == server.metrics_address())
    return lines.Refuse(
        "server.admin_address",
        absl::StrCat("got '", address, "', wanted another port than that of ",
                     address == server.health_address() ? "server.health_address"
                                                        : "server.metrics_address"));
  for (const TlsKey& each : TlsKeys(server))
    if (each.path.empty())
      return lines.Refuse("server.admin_address",
                          absl::StrCat("got '", address, "' without ", each.key,
                                       ", wanted it as well: the port takes mutual TLS alone"));
  return absl::OkStatus();
}

}  // namespace penstock::app
