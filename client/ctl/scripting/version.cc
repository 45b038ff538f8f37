#include "client/ctl/scripting/version.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/ctl/scripting/yaml.h"
#include "client/ctl/table.h"
#include "common/shm/doorway_wire.h"

namespace penstock::ctl {
namespace {

std::string Line(absl::string_view program, absl::string_view version, uint32_t protocol) {
  return absl::StrCat(program, " ", version, " (protocol ", protocol, ")\n");
}

std::string ForDisplay(const absl::StatusOr<v1::GetStatusResponse>& daemon) {
  std::string text = Line("penstockctl", PENSTOCK_VERSION, shm::kProtocolVersion);
  if (!daemon.ok()) return text;
  absl::StrAppend(&text,
                  Line("penstockd  ", OneLine(daemon->version()), daemon->protocol_version()));
  if (daemon->version() != PENSTOCK_VERSION)
    absl::StrAppend(&text, "they differ: install the same version of Penstock for both\n");
  return text;
}

}  // namespace

std::string ShowVersions(const absl::StatusOr<v1::GetStatusResponse>& daemon, Output output) {
  if (!IsForPrograms(output)) return ForDisplay(daemon);
  nlohmann::ordered_json versions;
  versions["client"] = {{"version", PENSTOCK_VERSION}, {"protocol", shm::kProtocolVersion}};
  if (daemon.ok()) {
    versions["server"] = {{"version", daemon->version()}, {"protocol", daemon->protocol_version()}};
  }
  return ForPrograms(output,
                     versions.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace penstock::ctl
