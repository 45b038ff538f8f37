// Addresses of daemons on other machines, as people write them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace penstock::ctl {

inline constexpr size_t kMostNodes = 1024;

struct NodeAddress {
  std::string host;  // a DNS name, or an address without brackets
  uint16_t port = 0;
  // node1:7070, [fd00::1]:7070
  std::string ToString() const;
};

// Whether --address names another machine's daemon rather than a socket's path.
bool IsNodeAddress(const std::string& text);

// **Errors**: InvalidArgument quotes the text and gives examples.
absl::StatusOr<NodeAddress> ParseNodeAddress(const std::string& text);

// A list separated by commas, without empty members and of at most kMostNodes. A node that is
// listed twice is there twice.
absl::StatusOr<std::vector<NodeAddress>> ParseNodes(const std::string& text);

}  // namespace penstock::ctl
