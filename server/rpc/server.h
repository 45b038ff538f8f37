// The gRPC server on the daemon's own sockets: FeedService, AdminService, health, reflection. Owned
// by the application, which owns the controller, too, and destroys it later. Any thread.
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

namespace penstock::rpc {

// Bound and listening Unix stream sockets.
struct Listeners {
  posix::Fd trainers;
  // Where operators call. Without it, as of a private daemon, connections of this process's own
  // user are an operator's; with it nobody's at the trainers' socket are, not even root's.
  posix::Fd operators = {};
};

// Who may operate the daemon beside root and this process's own user, at the operators' socket.
struct Admins {
  std::vector<uid_t> users;
  std::vector<gid_t> groups;
};

struct ServerOptions {
  Admins admins = {};
  std::string operators_path;  // of the operators' socket, for those who are told to call there
  int max_message_bytes = 1 << 20;  // of a request
  uint32_t max_connections = 1024;  // at once; more are closed
  uint32_t max_calls_per_connection = 16;
  // Of owners, and of all others: calls that are answered once, and that watch.
  uint32_t max_calls = 1024, max_watchers = 256;
  // Of each likewise: beyond them answers wait, so that calls take little of the machine.
  uint32_t answers_per_second = 2000, answers_in_a_burst = 1000;
  // Where health is answered over TCP, too; empty: nowhere.
  std::string health_address;
  // For answers to calls that are in progress; then these are cancelled.
  base::Duration shutdown_timeout = std::chrono::seconds(2);
};

class Server {
 public:
  // Health says "not serving" at first. FailedPrecondition: the health address cannot be listened
  // on.
  static absl::StatusOr<std::unique_ptr<Server>> Start(Listeners listeners, Controller& controller,
                                                       const ServerOptions& options);
  // Takes no more connections, lets calls end until the time-out, cancels the rest. Callbacks of
  // the controller may still come afterwards.
  virtual ~Server() = default;

  // What health says, for "" and every service.
  virtual void SetServing(bool serving) = 0;

  virtual uint32_t connections() const = 0;

  // What was refused, and what operators did, since the start.
  virtual Audit::Counts audited() const = 0;
  // Connections that were ended for what they sent, or did not read, by reason: kCutOffs.
  virtual std::map<std::string, uint64_t> cut_off() const = 0;
};

}  // namespace penstock::rpc
