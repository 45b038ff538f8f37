// The gRPC server on the daemon's own socket: FeedService, AdminService, health, reflection. Owned
// by the application, which owns the controller, too, and destroys it later. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/rpc/controller.h"

namespace penstock::rpc {

struct Options {
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
  // Serves a bound and listening Unix stream socket. Health says "not serving" at first.
  // FailedPrecondition: the health address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<Server>> Start(posix::Fd listener, Controller& controller,
                                                       const Options& options);
  // Takes no more connections, lets calls end until the time-out, cancels the rest. Callbacks of
  // the controller may still come afterwards.
  virtual ~Server() = default;

  // What health says, for "" and every service.
  virtual void SetServing(bool serving) = 0;

  virtual uint32_t connections() const = 0;
};

}  // namespace penstock::rpc
