// penstockd's command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"

namespace penstock::app {

enum class Action { kRun, kCheckConfig, kHelp, kVersion };

struct Arguments {
  Action action = Action::kRun;
  std::optional<std::string> config;  // none: a private daemon
  std::string directory;              // of a private daemon; empty: the user's usual one
  bool stays = false;                 // a private daemon that does not end when it is alone
  std::optional<uint32_t> workers;    // overrides the configuration
};

// InvalidArgument names the argument and what it should be.
absl::StatusOr<Arguments> ParseArguments(int argc, const char* const* argv);

inline constexpr char kHelp[] =
    R"(penstockd: decodes training data once and feeds every trainer on this node.

  penstockd --config FILE          serve, as the configuration says
  penstockd --check-config FILE    say whether the configuration is right, and exit
  penstockd                        serve this user alone (a private daemon), any path it may read;
                                   ends 10 s after the last session
options:
  --private DIR      where the private daemon has its socket (DIR/penstock.sock)
  --stay             the private daemon does not end by itself
  --workers N        decoding processes, instead of the configuration's number
  --version, --help

Exit codes: 0 done; 1 it could not serve; 2 the call or the configuration is wrong.
)";

}  // namespace penstock::app
