// Carries a command out.
#pragma once

#include <iosfwd>

#include "client/ctl/command_line.h"
#include "common/base/status.h"

namespace penstock::ctl {

// How standard error looks: whether a progress bar can be drawn on it.
enum class Terminal { kYes, kNo };

// Results go to `out`, progress to `progress`. The exit code, 0 or 1; an error: the work failed.
absl::StatusOr<int> Run(const Call& call, std::ostream& out, std::ostream& progress,
                        Terminal terminal, Colors colors = Colors::kNo);

// 2 for what the caller can correct in the call, else 1.
int ExitCodeOf(const absl::Status& error);

}  // namespace penstock::ctl
