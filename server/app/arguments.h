// Parses penstockd's command line.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"

namespace penstock::app {

enum class Action { kRun, kCheckConfig, kCheckSyntax, kReload, kHelp, kVersion };

struct Arguments {
  Action action = Action::kRun;
  std::optional<std::string> config = {};  // unset: a private daemon
  std::string directory = {};              // of a private daemon; empty: the user's default
  bool stays = false;                      // a private daemon that doesn't end when unused
  std::optional<uint32_t> workers = {};    // overrides the configuration
  pid_t replaced = 0;  // a daemon that counts as ended for --check-config; 0: none
};

// **Errors**: InvalidArgument names the argument and what it should be.
absl::StatusOr<Arguments> ParseArguments(int argc, const char* const* argv);

inline constexpr char kHelp[] =
    R"(penstockd: decodes training data once and feeds it to every trainer on this machine.

  penstockd --config FILE        run as the configuration says
  penstockd --check-config FILE  check whether this user could run the daemon here and now, and exit
  penstockd --check-syntax FILE  check the file alone, which may be for another machine, and exit
  penstockd --reload FILE        make the running daemon read this configuration, its own, again; fails
                                 if the daemon refuses it
  penstockd                      run a private daemon: it serves only the user who starts it, opens
                                 any path that user can read, and exits 10 s after its last session

Options
  --private DIR   folder for the private daemon's socket, DIR/penstock.sock
                  (default: $XDG_RUNTIME_DIR/penstock, or /tmp/penstock-$UID if that is not set)
  --stay          keep the private daemon running while it has no sessions
  --instead-of PID  with --check-config: check a restart, as if the daemon with this process id had
                  already ended
  --workers N     number of decoding processes, 1 to 1024 (default: the configured number)
  -h, --help      show this help
  --version       show the version

A check tries everything that a start does before it serves, and has the exit code that a start
would have.

Exit codes: 0 success; 1 the daemon failed, and starting it again may help; 2 wrong usage or a
wrong configuration, and starting it again does not help.
)";

}  // namespace penstock::app
