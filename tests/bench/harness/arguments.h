// Parses penstock-bench's command line. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace penstock::bench {

enum class Action { kRun, kHelp, kVersion };

// How much to measure. kSmall is for tests: it shows that a suite works, with rough figures.
enum class Extent { kFull, kSmall };

struct Arguments {
  Action action = Action::kRun;
  std::string suite;
  std::string data;  // empty: generated photographs
  std::string json;  // output file; empty: none, "-": standard output
  Extent extent = Extent::kFull;
};

// `words` are the arguments after the program's name, `suites` the names of all suites.
// InvalidArgument has a one-line message that says what to write instead.
absl::StatusOr<Arguments> ParseArguments(const std::vector<std::string>& words,
                                         const std::vector<std::string>& suites);

}  // namespace penstock::bench
