// Finds the daemon's socket. Every client looks in the same places, in the same order.
//
// **Thread safety**: any thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/base/status.h"

namespace penstock::client {

// The inputs of the search besides the argument; "" for a variable that is not set.
struct Surroundings {
  std::string penstock_address = {};  // $PENSTOCK_ADDRESS
  std::string system_directory = "/run";
  std::string xdg_runtime_dir;  // $XDG_RUNTIME_DIR
  std::string temporary_directory = "/tmp";
  uid_t user = 0;
};
Surroundings OurSurroundings();

// Returns the path of a socket on which a daemon listens now.
//
// With an argument, or else with $PENSTOCK_ADDRESS, only that socket counts (a leading "unix:" is
// dropped). Otherwise the first that answers of /run/penstock/penstock.sock,
// $XDG_RUNTIME_DIR/penstock/penstock.sock and /tmp/penstock-$UID/penstock.sock. The directory of
// the last one must be ours, with mode 0700.
//
// **Errors**: NotFound: nobody listens. PermissionDenied: a daemon may be there, but we may not
// talk to it. The message lists each place and the reason.
absl::StatusOr<std::string> FindDaemon(const std::string& argument);
absl::StatusOr<std::string> FindDaemon(const std::string& argument, const Surroundings& around);

// Returns the socket for an operator's calls. As FindDaemon, but at each place it first tries the
// operators' socket that belongs to the trainers' socket there ("<folder>-admin/admin.sock"). If
// that one does not admit us, or does not exist, as with a private daemon, it returns the trainers'
// socket.
absl::StatusOr<std::string> FindDaemonToOperate(const std::string& argument);
absl::StatusOr<std::string> FindDaemonToOperate(const std::string& argument,
                                                const Surroundings& around);

}  // namespace penstock::client
