#include "client/ctl/nodes/node_address.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace penstock::ctl {
namespace {

constexpr size_t kLongestName = 253;  // of DNS

absl::Status RefuseNode(const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat("got '", text,
                   "', expected a node and its port, like node1:7070, 10.0.0.3:7070 "
                   "or [fd00::3]:7070; server.admin_address has the port"));
}

bool IsHost(const std::string& host, bool in_brackets) {
  if (host.empty() || host.size() > kLongestName) return false;
  return std::all_of(host.begin(), host.end(), [in_brackets](char c) {
    if (in_brackets) return absl::ascii_isxdigit(c) || c == ':' || c == '.';
    return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
  });
}

}  // namespace

std::string NodeAddress::ToString() const {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port)
                                      : absl::StrCat(host, ":", port);
}

bool IsNodeAddress(const std::string& text) {
  return absl::StrContains(text, ':') && !absl::StrContains(text, '/') &&
         !absl::StartsWith(text, "unix:");
}

absl::StatusOr<NodeAddress> ParseNodeAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return RefuseNode(text);
  std::string host = text.substr(0, colon);
  const std::string port = text.substr(colon + 1);
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  uint32_t number = 0;
  const bool digits = !port.empty() && std::all_of(port.begin(), port.end(), absl::ascii_isdigit);
  if (!IsHost(host, brackets) || !digits || !absl::SimpleAtoi(port, &number) || number == 0 ||
      number > UINT16_MAX)
    return RefuseNode(text);
  return NodeAddress{.host = host, .port = static_cast<uint16_t>(number)};
}

absl::StatusOr<std::vector<NodeAddress>> ParseNodes(const std::string& text) {
  std::vector<NodeAddress> nodes;
  for (const absl::string_view each : absl::StrSplit(text, ',')) {
    if (nodes.size() == kMostNodes)
      return absl::InvalidArgumentError(
          absl::StrCat("--all takes at most ", kMostNodes, " nodes; ask them in parts"));
    PENSTOCK_ASSIGN_OR_RETURN(NodeAddress node, ParseNodeAddress(std::string(each)));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace penstock::ctl
