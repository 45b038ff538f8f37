// `-w`: an answer again and again, until the user or the daemon ends.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "client/ctl/color.h"
#include "client/ctl/command_line.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace penstock::ctl {

// Prints each answer that differs from the one before. Tables are parted by an empty line and YAML
// by "---"; JSON needs nothing between. Ends when `ask` fails, when `out` does, or when `pause`
// returns false.
absl::StatusOr<int> PrintChanges(const std::function<absl::StatusOr<std::string>()>& ask,
                                 Output output, std::ostream& out,
                                 const std::function<bool()>& pause);

// On a terminal, tables are drawn over each other until q; otherwise PrintChanges, every 2 s.
absl::StatusOr<int> Watch(const std::function<absl::StatusOr<std::string>()>& ask, Output output,
                          std::ostream& out);

}  // namespace penstock::ctl
