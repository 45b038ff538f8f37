#include "client/src/connection/connector.h"

#include <errno.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/src/connection/address.h"
#include "client/src/connection/file_view.h"
#include "client/src/connection/private_daemon.h"

namespace penstock::client {
namespace {

constexpr base::Duration kStartTimeout = std::chrono::seconds(10);
constexpr base::Duration kLookAgain = std::chrono::milliseconds(100);
constexpr base::Duration kNextTry = std::chrono::milliseconds(20);

// "program/version".
std::string NameOf(const ClientOptions& options) {
  const std::string program = options.name.empty() ? program_invocation_short_name : options.name;
  return absl::StrCat(program, "/", PENSTOCK_VERSION);
}

bool NobodyThere(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsUnavailable(status);
}

// A private daemon never replaces one whose address was given.
bool AddressGiven(const ClientOptions& options) {
  const char* variable = std::getenv("PENSTOCK_ADDRESS");
  return !options.address.empty() || (variable != nullptr && *variable != '\0');
}

}  // namespace

absl::StatusOr<std::shared_ptr<Connector>> Connector::Make(const ClientOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(Rpc::CheckProcess());
  // Shared by the client and its sessions' openers.
  std::shared_ptr<Connector> connector(new Connector(
      NameOf(options), (options.start_private || options.only_private) && !AddressGiven(options),
      options.interrupted));
  PENSTOCK_RETURN_IF_ERROR(connector->ConnectFirst(options));
  return connector;
}

absl::Status Connector::ConnectFirst(const ClientOptions& options) {
  const base::TimePoint deadline = base::Now() + options.connect_timeout;
  absl::StatusOr<std::shared_ptr<Connection>> connection = TryFirst(options);
  while (NobodyThere(connection.status()) && base::Now() < deadline) {
    if (interrupted_ && interrupted_())
      return absl::CancelledError("interrupted while waiting for the daemon");
    std::this_thread::sleep_for(std::min<base::Duration>(kLookAgain, deadline - base::Now()));
    connection = TryFirst(options);
  }
  PENSTOCK_RETURN_IF_ERROR(connection.status());
  private_ = private_ && IsPrivateAddress(address_);
  const base::MutexLock lock(mutex_);
  current_ = *std::move(connection);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Connection>> Connector::TryFirst(const ClientOptions& options) {
  const bool only_private = options.only_private && !AddressGiven(options);
  absl::StatusOr<std::shared_ptr<Connection>> found =
      only_private ? absl::NotFoundError("no other daemon was tried")
                   : ConnectTo(FindDaemon(options.address));
  if (!private_ || !NobodyThere(found.status())) return found;
  absl::StatusOr<std::shared_ptr<Connection>> started = StartAndConnect(address_);
  if (only_private || !absl::IsNotFound(started.status())) return started;
  return absl::NotFoundError(absl::StrCat(
      "no daemon at ", OurSurroundings().system_directory, "/penstock/penstock.sock yet, and a ",
      "private one cannot be started: ", started.status().message(),
      "; start the daemon, or wait for it with connect_timeout"));
}

absl::StatusOr<std::shared_ptr<Connection>> Connector::ConnectTo(
    absl::StatusOr<std::string> address) {
  PENSTOCK_ASSIGN_OR_RETURN(address_, std::move(address));
  return Connection::Connect(address_, name_, interrupted_);
}

// Connects without a lock. If two threads connect at once, the later one uses the earlier one's
// connection.
absl::StatusOr<std::shared_ptr<Connection>> Connector::Get() {
  std::shared_ptr<Connection> known;
  {
    const base::MutexLock lock(mutex_);
    known = current_;
  }
  if (known->Pump().ok()) return known;
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<Connection> made, ConnectAgain());
  const base::MutexLock lock(mutex_);
  if (current_ == known) current_ = std::move(made);
  return current_;
}

absl::StatusOr<std::shared_ptr<Connection>> Connector::ConnectAgain() {
  std::string elsewhere;
  // A process that sees other files may have started its daemon where ours was.
  if (private_ && HasOtherFileView(address_.substr(0, address_.rfind('/'))))
    return StartAndConnect(elsewhere);
  absl::StatusOr<std::shared_ptr<Connection>> made =
      Connection::Connect(address_, name_, interrupted_);
  if (made.ok() || !private_ || !NobodyThere(made.status())) return made;
  return StartAndConnect(elsewhere);
}

// Starting is repeated, because the private daemon that just answered may have decided to exit.
absl::StatusOr<std::shared_ptr<Connection>> Connector::StartAndConnect(std::string& started) {
  const base::TimePoint deadline = base::Now() + kStartTimeout;
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(started, StartPrivateDaemon(deadline - base::Now()));
    absl::StatusOr<std::shared_ptr<Connection>> made =
        Connection::Connect(started, name_, interrupted_);
    if (made.ok() || !NobodyThere(made.status()) || base::Now() >= deadline) return made;
    std::this_thread::sleep_for(kNextTry);
  }
}

}  // namespace penstock::client
