#include "server/rpc/server.h"

#include <google/protobuf/stubs/logging.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "common/posix/limits.h"
#include "common/posix/socket.h"
#include "common/telemetry/log.h"
#include "server/rpc/half.h"
#include "server/rpc/health_server.h"
#include "server/rpc/remote/operators_port.h"
#include "server/rpc/transport/acceptor.h"
#include "server/rpc/transport/relay.h"

namespace penstock::rpc {
namespace {

// A connection takes three descriptors: the client's, and both ends of its socket pair. Connections
// get a third of all descriptors; feeds, workers and the doorway have the rest.
constexpr uint64_t kDescriptorsEach = 3 * 3;
constexpr uint64_t kForOthers = 64;  // descriptors that connections never get
constexpr uint32_t kKeptPart = 16;   // one part in this many is reserved for the owner

constexpr uint32_t kOperatorConnections = 128;

Acceptor::Limits ToLimits(uint32_t max_connections) {
  const uint64_t fit = std::max<uint64_t>(posix::MaxOpenFiles() / kDescriptorsEach, 1);
  const auto most = static_cast<uint32_t>(std::min<uint64_t>(max_connections, fit));
  if (most < max_connections)
    PENSTOCK_LOG(kWarning, "rpc_connections_limited", {"to", most}, {"wanted", max_connections},
                 {"open_files", posix::MaxOpenFiles()},
                 {"remedy", "raise the limit of open files (LimitNOFILE, ulimit -n)"});
  const uint64_t files = posix::MaxOpenFiles();
  return {.connections = most,
          .kept = most / kKeptPart,
          .descriptors = files - std::min(files / 4, kForOthers)};
}

std::string WhereOperatorsCall(const ServerOptions& options) {
  if (options.operators_path.empty())
    return absl::StrCat("call as the daemon's own user, ", ::geteuid());
  return absl::StrCat("call at the operators' socket, ", options.operators_path,
                      ", as root, as user ", ::geteuid(), " or as one of server.admins");
}

bool IsAdmin(const Caller& caller, const Admins& admins) {
  if (caller.uid == 0 || caller.uid == ::geteuid()) return true;
  const auto in = [](const auto& list, auto id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  return in(admins.users, caller.uid) || in(admins.groups, caller.gid) ||
         std::any_of(caller.groups.begin(), caller.groups.end(),
                     [&](gid_t group) { return in(admins.groups, group); });
}

class GrpcServer final : public Server {
 public:
  GrpcServer(Controller& controller, const ServerOptions& options)
      : options_(options),
        controller_(controller),
        gate_(callers_, audit_, WhereOperatorsCall(options)) {}
  ~GrpcServer() override;

  absl::Status Begin(Listeners listeners);
  absl::Status BeginHere(Listeners listeners);
  absl::Status OpenPort(posix::Fd listener);
  void SetServing(bool serving) override;
  uint32_t connections() const override { return at_trainers_->connections(); }
  Audit::Counts audited() const override;
  std::map<std::string, uint64_t> cut_off() const override { return relay_->cut_off(); }

 private:
  enum class Entrance { kTrainers, kOperators, kBoth };
  absl::StatusOr<std::unique_ptr<Acceptor>> Open(posix::Fd listener, Entrance entrance,
                                                 const Acceptor::Limits& limits);
  void Take(posix::ForeignFd connection, const posix::Credentials& peer,
            std::shared_ptr<const void> place, Entrance entrance);
  void NoteUntaken(const Origin& origin, const UntakenMessage& message);

  const ServerOptions options_;
  Controller& controller_;
  Audit audit_;
  Callers callers_;
  Gate gate_;
  std::unique_ptr<HealthServer> health_;  // null if not configured
  std::unique_ptr<Relay> relay_;          // outlives gRPC's ends of the socket pairs
  std::unique_ptr<Half> trainers_, operators_;
  std::unique_ptr<Acceptor> at_trainers_, at_operators_;  // the second may be null
  std::unique_ptr<OperatorsPort> port_;                   // null if not configured
};

// gRPC's threads inherit the priority of the thread that starts them, so a separate low-priority
// thread starts gRPC.
absl::Status GrpcServer::Begin(Listeners listeners) {
  absl::Status status;
  std::exception_ptr thrown;
  std::thread starter([&] {
    if (const absl::Status gave_way = posix::GiveWay(posix::Priority::kLow); !gave_way.ok())
      PENSTOCK_LOG(kWarning, "rpc_priority", {"why", gave_way.message()});
    try {
      status = BeginHere(std::move(listeners));
    } catch (const std::system_error&) {  // by std::thread; our caller knows what to say
      thrown = std::current_exception();
    }
  });
  starter.join();
  if (thrown) std::rethrow_exception(thrown);
  return status;
}

absl::Status GrpcServer::BeginHere(Listeners listeners) {
  PrepareGrpc();
  if (!options_.health_address.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(health_, HealthServer::Start(options_.health_address));
  }
  PENSTOCK_ASSIGN_OR_RETURN(trainers_, Half::Start(controller_, gate_, options_));
  PENSTOCK_ASSIGN_OR_RETURN(operators_, Half::Start(controller_, gate_, options_));
  PENSTOCK_ASSIGN_OR_RETURN(
      relay_,
      Relay::Start({.message_bytes = static_cast<uint32_t>(options_.max_message_bytes),
                    .on_untaken = [this](const Origin& origin, const UntakenMessage& message) {
                      NoteUntaken(origin, message);
                    }}));
  PENSTOCK_RETURN_IF_ERROR(OpenPort(std::move(listeners.operators_port)));
  const Entrance entrance = listeners.operators.valid() ? Entrance::kTrainers : Entrance::kBoth;
  Acceptor::Limits limits = ToLimits(options_.max_connections);
  if (entrance == Entrance::kTrainers) {
    limits.in_charge = Acceptor::InCharge::kNobody;
    limits.kept = 0;
  }
  PENSTOCK_ASSIGN_OR_RETURN(at_trainers_, Open(std::move(listeners.trainers), entrance, limits));
  if (entrance == Entrance::kBoth) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(
      at_operators_, Open(std::move(listeners.operators), Entrance::kOperators,
                          {.connections = kOperatorConnections, .kept = kOperatorConnections / 4}));
  return absl::OkStatus();
}

absl::Status GrpcServer::OpenPort(posix::Fd listener) {
  if (!listener.valid()) return absl::OkStatus();
  const auto make_half = [this](const TlsTexts& tls) {
    return Half::StartTls(controller_, gate_, options_, tls);
  };
  PENSTOCK_ASSIGN_OR_RETURN(
      port_, OperatorsPort::Start(std::move(listener), {.paths = options_.tls}, callers_, *relay_,
                                  make_half));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Acceptor>> GrpcServer::Open(posix::Fd listener, Entrance entrance,
                                                           const Acceptor::Limits& limits) {
  return Acceptor::Start(
      std::move(listener), limits,
      [this, entrance](posix::ForeignFd connection, const posix::Credentials& peer,
                       std::shared_ptr<const void> place) {
        Take(std::move(connection), peer, std::move(place), entrance);
      });
}

// The caller is determined when the connection is made; later changes of the process, or passing on
// the descriptor, have no effect. At the trainers' socket, root and the daemon's own user are
// ordinary trainers, because a container's root is the machine's root.
void GrpcServer::Take(posix::ForeignFd connection, const posix::Credentials& peer,
                      std::shared_ptr<const void> place, Entrance entrance) {
  auto groups = posix::PeerGroups(*connection);
  if (!groups.ok()) return;  // the process is gone
  Caller caller = {.pid = peer.pid, .uid = peer.uid, .gid = peer.gid, .groups = *std::move(groups)};
  if (entrance == Entrance::kOperators && !IsAdmin(caller, options_.admins))
    return audit_.Refuse(
        caller, "connect", {"what", "the operators' socket"},
        Refused(absl::PermissionDeniedError("not one of server.admins"), Refusal::kNotOperator));
  caller.is_operator =
      entrance == Entrance::kBoth ? caller.uid == ::geteuid() : entrance == Entrance::kOperators;
  Half& half = caller.is_operator ? *operators_ : *trainers_;
  // The relay keeps it as long as the connection lasts.
  const auto known = std::make_shared<Callers::Entry>(callers_, std::move(place));
  absl::StatusOr<posix::Fd> end =
      relay_->Take(std::move(connection), {.user = peer.uid, .pid = peer.pid}, known);
  if (!end.ok()) {
    PENSTOCK_LOG(kWarning, "rpc_connection_lost", {"user", peer.uid},
                 {"why", end.status().message()});
    return;
  }
  known->Is(PeerOf(*end), std::move(caller));
  half.Take(*std::move(end));
}

// gRPC refuses these messages before it knows their method.
void GrpcServer::NoteUntaken(const Origin& origin, const UntakenMessage& message) {
  const absl::Status why =
      message.is_packed
          ? absl::InvalidArgumentError("a packed message; this daemon takes them as they are")
          : absl::ResourceExhaustedError(absl::StrCat("a message of ", message.bytes,
                                                      " bytes; the limit is ",
                                                      options_.max_message_bytes));
  audit_.Refuse({.pid = origin.pid, .uid = origin.user}, "message", {"bytes", message.bytes}, why);
}

// Connections above the limit are refused before any request is read.
Audit::Counts GrpcServer::audited() const {
  Audit::Counts counts = audit_.counts();
  uint64_t refused = at_trainers_->refused();
  if (at_operators_ != nullptr) refused += at_operators_->refused();
  if (port_ != nullptr) refused += port_->refused();
  if (refused > 0)
    counts.refused[{"connect", std::string(kRefusals[static_cast<size_t>(Refusal::kLimit)])}] +=
        refused;
  return counts;
}

void GrpcServer::SetServing(bool serving) {
  trainers_->SetServing(serving);
  operators_->SetServing(serving);
  if (port_ != nullptr) port_->SetServing(serving);
  if (health_ != nullptr) health_->SetServing(serving);
}

GrpcServer::~GrpcServer() {
  at_trainers_.reset();
  at_operators_.reset();
  const base::TimePoint deadline = base::Now() + options_.shutdown_timeout;
  if (trainers_ != nullptr) trainers_->End(options_.shutdown_timeout);
  port_.reset();
  if (operators_ != nullptr)
    operators_->End(std::max(deadline - base::Now(), base::Duration::zero()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(Listeners listeners, Controller& controller,
                                                      const ServerOptions& options) {
  // Otherwise protobuf writes a line to standard error for each text in a message that is not
  // UTF-8, as often as a client likes.
  google::protobuf::SetLogHandler(nullptr);
  auto server = std::make_unique<GrpcServer>(controller, options);
  PENSTOCK_RETURN_IF_ERROR(server->Begin(std::move(listeners)));
  return server;
}

}  // namespace penstock::rpc
