// `penstockctl top --all NODES`: asks many daemons and shows a row for each.
#pragma once

#include <ostream>

#include "client/ctl/color.h"
#include "client/ctl/command_line.h"
#include "client/ctl/nodes/node_calls.h"
#include "common/base/status.h"

namespace penstock::ctl {

// On a terminal, live until a key ends it; otherwise once, with rates over one second, as text or
// as JSON. Returns the exit code: 0, or 1 if no node answered the last time. **Errors**: the list
// or the files of TLS are wrong.
absl::StatusOr<int> RunTopNodes(const Call& call, Colors colors, std::ostream& out);

// The part that is not live. `pause`: between the two times that it asks.
int TopNodesOnce(NodeCalls& nodes, Output output, Colors colors, base::Duration pause,
                 std::ostream& out);

}  // namespace penstock::ctl
