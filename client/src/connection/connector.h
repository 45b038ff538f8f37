// Finds the daemon, or starts a private one, and keeps a client's current connection.
//
// **Thread safety**: any thread.
#pragma once

#include <memory>
#include <string>

#include "client/src/connection/connection.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "penstock/penstock.h"

namespace penstock::client {

class Connector {
 public:
  // Makes the first connection.
  //
  // **Errors**: NotFound or Unavailable: no daemon; the message lists the places that were tried.
  // FailedPrecondition: this process was forked from one that had connected.
  static absl::StatusOr<std::shared_ptr<Connector>> Make(const ClientOptions& options);

  const std::string& address() const { return address_; }
  bool is_private() const { return private_; }

  // Returns the current connection, or a new one if its daemon is gone.
  absl::StatusOr<std::shared_ptr<Connection>> Get();

 private:
  Connector(std::string name, bool start_private, std::function<bool()> interrupted)
      : name_(std::move(name)), interrupted_(std::move(interrupted)), private_(start_private) {}
  absl::Status ConnectFirst(const ClientOptions& options);
  absl::StatusOr<std::shared_ptr<Connection>> TryFirst(const ClientOptions& options);
  absl::StatusOr<std::shared_ptr<Connection>> ConnectTo(absl::StatusOr<std::string> address);
  absl::StatusOr<std::shared_ptr<Connection>> ConnectAgain();
  // `started` becomes the daemon's address.
  absl::StatusOr<std::shared_ptr<Connection>> StartAndConnect(std::string& started);

  const std::string name_;
  const std::function<bool()> interrupted_;
  bool private_;         // may start one if nobody answers; fixed once the first has answered
  std::string address_;  // of the first daemon that answered; constant after Make
  base::Mutex mutex_;
  // Shared with the sessions that were opened through it.
  std::shared_ptr<Connection> current_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::client
