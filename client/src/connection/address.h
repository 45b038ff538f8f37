// Where the daemon is: the one order in which every client looks for it. Any thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/base/status.h"

namespace penstock::client {

// What the search depends on beside the argument; "" where a variable is not set.
struct Surroundings {
  std::string penstock_address;  // $PENSTOCK_ADDRESS
  std::string system_directory = "/run";
  std::string xdg_runtime_dir;  // $XDG_RUNTIME_DIR
  std::string temporary_directory = "/tmp";
  uid_t user = 0;
};
Surroundings OurSurroundings();

// The path of a socket where a daemon listens now. With an argument, or else $PENSTOCK_ADDRESS,
// that one and no other. Else the first that answers of /run/penstock/penstock.sock,
// $XDG_RUNTIME_DIR/penstock/penstock.sock, /tmp/penstock-$UID/penstock.sock; the last one's
// directory has to be ours with mode 0700. NotFound when nobody listens, PermissionDenied when a
// daemon may be there that we may not talk to: the message lists each place and why not. A leading
// "unix:" is left out.
absl::StatusOr<std::string> FindDaemon(const std::string& argument);
absl::StatusOr<std::string> FindDaemon(const std::string& argument, const Surroundings& around);

// Where an operator calls the daemon: like FindDaemon, but at each place the operators' socket that
// belongs to a trainers' socket there ("<folder>-admin/admin.sock") comes first, if it lets us in.
// Without it, as with a private daemon or for those who are no operators, the trainers' socket.
absl::StatusOr<std::string> FindDaemonToOperate(const std::string& argument);
absl::StatusOr<std::string> FindDaemonToOperate(const std::string& argument,
                                                const Surroundings& around);

}  // namespace penstock::client
