// Runs a command.
#pragma once

#include <iosfwd>

#include "client/ctl/command_line.h"
#include "common/base/status.h"

namespace penstock::ctl {

// Whether standard error is a terminal, on which a progress bar can be drawn.
enum class Terminal { kYes, kNo };

// Writes results to `out` and progress to `progress`. Returns the exit code, 0 or 1, or the error
// that stopped the work.
absl::StatusOr<int> Run(const Call& call, std::ostream& out, std::ostream& progress,
                        Terminal terminal, Colors colors = Colors::kNo);

// 2 for errors that the caller can correct in the call, else 1.
int ExitCodeOf(const absl::Status& error);

}  // namespace penstock::ctl
