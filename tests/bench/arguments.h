// penstock-bench's command line. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace penstock::bench {

enum class Action { kRun, kHelp, kVersion };

// How much is measured. kSmall is for tests: it shows that a suite works, and roughly what it
// finds.
enum class Extent { kFull, kSmall };

struct Arguments {
  Action action = Action::kRun;
  std::string suite;
  std::string data;  // empty: generated photographs
  std::string json;  // where to; empty: nowhere, "-": standard output
  Extent extent = Extent::kFull;
};

// The arguments behind the program's name; `suites` are the names that there are. InvalidArgument
// is one line that says what to write instead.
absl::StatusOr<Arguments> ParseArguments(const std::vector<std::string>& words,
                                         const std::vector<std::string>& suites);

}  // namespace penstock::bench
