// The gRPC server on the daemon's sockets: FeedService, AdminService, health, reflection. If
// configured, AdminService and health also on the operators' port, over mutual TLS.
// **Ownership**: owned by the application, which also owns the controller and destroys it later.
// **Thread safety**: any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/rpc/access/audit.h"
#include "server/rpc/controller.h"
#include "server/rpc/remote/tls_files.h"

namespace penstock::rpc {

// Sockets that are bound and listening: Unix stream sockets, and one for TCP.
struct Listeners {
  posix::Fd trainers;
  // The operators' socket. If there is none, as in a private daemon, connections of the daemon's
  // own user are operators. If there is one, nobody at the trainers' socket is an operator, not
  // even root.
  posix::Fd operators = {};
  // The operators' port, for other machines; may be unset.
  posix::Fd operators_port = {};
};

// Additional operators, besides root and the daemon's own user, at the operators' socket.
struct Admins {
  std::vector<uid_t> users;
  std::vector<gid_t> groups;
};

struct ServerOptions {
  Admins admins = {};
  std::string operators_path = {};  // path of the operators' socket, for messages
  int max_message_bytes = 1 << 20;  // limit for a request
  uint32_t max_connections = 1024;  // open connections; more are closed
  uint32_t max_calls_per_connection = 16;
  // Limits for calls and for watching calls, for operators and for trainers each, of which a user
  // may have half of what the others leave.
  uint32_t max_calls = 1024, max_watchers = 256;
  // The same for rates: beyond these, responses are delayed, so that calls cost little CPU time.
  uint32_t answers_per_second = 2000, answers_in_a_burst = 1000;
  // The same for the bytes of unary calls' responses that clients have not read yet, if they have
  // more than 64 KiB each. Eight ranks of a user may read 64 MiB each, the most that clients take.
  uint64_t answer_bytes = uint64_t{1} << 30;
  // TCP address for health checks; empty: none.
  std::string health_address = {};
  TlsPaths tls = {};  // for the operators' port, if there is one
  // How long to wait for responses to calls in progress before cancelling them.
  base::Duration shutdown_timeout = std::chrono::seconds(2);
};

// Whether an operators' port can be served with these files. **Errors**: those of ReadTls;
// InvalidArgument if they don't belong together.
absl::Status CheckTls(const TlsPaths& paths);

class Server {
 public:
  // Starts with health "not serving". **Errors**: FailedPrecondition if it cannot listen on the
  // health address; FailedPrecondition or InvalidArgument if the files of TLS cannot be used.
  static absl::StatusOr<std::unique_ptr<Server>> Start(Listeners listeners, Controller& controller,
                                                       const ServerOptions& options);
  // Accepts no more connections, lets calls end until the time-out, and cancels the rest. The
  // controller's callbacks may still be called afterwards.
  virtual ~Server() = default;

  // Sets the health status of "" and of every service.
  virtual void SetServing(bool serving) = 0;

  virtual uint32_t connections() const = 0;

  // Refusals and operators' actions since the start.
  virtual Audit::Counts audited() const = 0;
  // Connections that were cut off because of what they sent or did not read, by reason (kCutOffs).
  virtual std::map<std::string, uint64_t> cut_off() const = 0;
};

}  // namespace penstock::rpc
