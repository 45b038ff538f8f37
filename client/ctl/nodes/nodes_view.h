// `penstockctl top --all`: one row for each node. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/ctl/nodes/node_calls.h"
#include "penstock/v1/nodes.pb.h"

namespace penstock::ctl {

// Converts answers, with rates since the answers `before`; without those, or if a daemon was
// restarted in between, the rate is 0. **Requires**: `shown`, `now` and, unless it is empty,
// `before` are of equal length.
v1::NodesStatus ToNodesStatus(const std::vector<std::string>& shown,
                              const std::vector<NodeAnswer>& now,
                              const std::vector<NodeAnswer>& before);

// The table, in the order of the nodes and at most `columns` wide (0: no limit), and a line with
// their sum.
std::string ShowNodes(const v1::NodesStatus& nodes, size_t columns = 0);

}  // namespace penstock::ctl
