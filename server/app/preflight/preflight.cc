#include "server/app/preflight/preflight.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/units.h"
#include "common/posix/failpoint.h"
#include "common/posix/group.h"
#include "common/posix/tcp_listener.h"
#include "common/telemetry/log.h"
#include "server/app/catalog/roots_check.h"
#include "server/app/operator/admin_socket.h"
#include "server/app/options.h"
#include "server/app/preflight/folder_check.h"
#include "server/app/preflight/process_limits.h"
#include "server/app/store_options.h"
#include "server/pool/pool.h"

namespace penstock::app {
namespace {

using config::v1::Server;

absl::Status CheckGroup(const std::string& group) {
  if (group.empty()) return absl::OkStatus();
  const absl::Status found = posix::FindGroup(group).status();
  if (found.ok()) return found;
  return absl::InvalidArgumentError(absl::StrCat("server.group: ", found.message(),
                                                 "; create it (groupadd --system ", group,
                                                 ") or name another"));
}

absl::Status CheckWorkerProgram(const std::string& program) {
  if (program.empty() || ::access(program.c_str(), X_OK) == 0) return absl::OkStatus();
  return base::Annotate(
      base::ErrnoStatus(errno, absl::StrCat("'", program, "'"), "name a program that can be run"),
      "workers.program");
}

// A daemon's own threads, those of gRPC on each core, those that fill batches, and its workers;
// less those that end with the daemon that is to be replaced.
Starts ToStarts(const config::v1::Config& config, const ReplacedDaemon& replaced) {
  const posix::Machine machine = posix::ReadMachine();
  constexpr size_t kOwn = 24, kOnEachCore = 2;
  const size_t threads =
      kOwn + static_cast<size_t>(kOnEachCore * machine.Cores()) + FillingThreads(config, machine);
  return {.threads = threads - std::min(threads, replaced.threads),
          .processes = replaced.pid == 0 ? WorkerCount(config, machine) : 0};
}

void SayIfThePoolMayNotFit(uint64_t bytes, uint64_t available_bytes) {
  if (bytes <= available_bytes) return;
  PENSTOCK_LOG(kWarning, "pool_may_not_fit",
               {"reason", absl::StrCat("pool.max is ", base::FormatBytes(bytes), ", and ",
                                       base::FormatBytes(available_bytes),
                                       " are available: sessions that do not fit are refused")});
}

// The port of health checks is served by gRPC, which listens itself.
absl::Status TryToListen(const std::string& key, const std::string& address) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::TcpAddress at, posix::ParseTcpAddress(address));
  return base::Annotate(posix::ListenTcp(at, 1).status(), key);
}

}  // namespace

absl::StatusOr<Preflight> Preflight::Begin(const Options& options) {
  Preflight preflight;
  preflight.lines_ = options.file.lines;
  preflight.replaced_ = LookAtReplaced(options.purpose.replaced);
  PENSTOCK_RETURN_IF_ERROR(preflight.lines_.Locate(preflight.Run(options)));
  return preflight;
}

absl::StatusOr<SandboxSummary> Preflight::Finish() {
  absl::StatusOr<SandboxSummary> sandbox = proofs_->Finish();
  proofs_.reset();
  if (!sandbox.ok()) return lines_.Locate(sandbox.status());
  return sandbox;
}

// Addresses come before what takes time, so that one in use makes the start fail at once.
absl::Status Preflight::Run(const Options& options) {
  const config::v1::Config& config = options.file.config;
  PENSTOCK_RETURN_IF_ERROR(CheckProcessLimits());
  PENSTOCK_RETURN_IF_ERROR(TryToStart(ToStarts(config, replaced_)));
  PENSTOCK_RETURN_IF_ERROR(ClaimSockets(options));
  PENSTOCK_RETURN_IF_ERROR(ClaimPorts(config.server()));
  PENSTOCK_FAILPOINT("start.addresses_claimed");
  PENSTOCK_RETURN_IF_ERROR(CheckWorkerProgram(config.workers().program()));
  PENSTOCK_ASSIGN_OR_RETURN(SandboxProofs proofs, SandboxProofs::Start(config));
  proofs_.emplace(std::move(proofs));
  PENSTOCK_FAILPOINT("start.proofs_run");
  const Paths paths = options.is_private ? Paths::kAny : Paths::kNamed;
  PENSTOCK_ASSIGN_OR_RETURN(catalog, CatalogOptions(config, paths));
  PENSTOCK_RETURN_IF_ERROR(CheckRoots(config));
  PENSTOCK_RETURN_IF_ERROR(CheckStoreFiles(config.stores()));
  WarnOfOtherWriters(config);
  if (!options.is_private) {
    PENSTOCK_ASSIGN_OR_RETURN(stores,
                              ToStoreSettings(config.stores(), store::OwnStoreEnvironment()));
  }
  PENSTOCK_RETURN_IF_ERROR(CheckTlsFiles(config));
  const uint64_t available = posix::ReadMachine().Memory() + replaced_.pool_bytes;
  SayIfThePoolMayNotFit(config.pool().max_bytes(), available);
  return pool::CheckPreallocation(config.pool().preallocate_bytes(), available);
}

absl::Status Preflight::ClaimSockets(const Options& options) {
  const Server& server = options.file.config.server();
  PENSTOCK_RETURN_IF_ERROR(CheckGroup(server.group()));
  auto address = doorway::ClaimAddress(server.socket(), server.group(), options.purpose);
  if (!address.ok()) return base::Annotate(address.status(), "server.socket");
  claims.address.emplace(*std::move(address));
  PENSTOCK_ASSIGN_OR_RETURN(admins, ToAdmins(server));
  if (!options.is_private) {
    PENSTOCK_ASSIGN_OR_RETURN(doorway::Claim admin,
                              ClaimAdminSocket(AdminSocketOf(server), admins, options.purpose));
    claims.admin_address.emplace(std::move(admin));
  }
  if (server.state_dir().empty()) return absl::OkStatus();
  absl::StatusOr<StateLock> state = StateLock::Take(server.state_dir(), options.purpose);
  if (!state.ok()) return base::Annotate(state.status(), "server.state_dir");
  claims.state.emplace(*std::move(state));
  return absl::OkStatus();
}

absl::Status Preflight::ClaimPorts(const Server& server) {
  if (!WillBeFree(server.admin_address())) {
    PENSTOCK_ASSIGN_OR_RETURN(claims.operators_port, ListenForOperators(server));
  }
  if (!server.metrics_address().empty() && !WillBeFree(server.metrics_address())) {
    PENSTOCK_ASSIGN_OR_RETURN(claims.metrics, MetricsPort::Claim(server.metrics_address()));
  }
  if (server.health_address().empty() || WillBeFree(server.health_address()))
    return absl::OkStatus();
  return TryToListen("server.health_address", server.health_address());
}

// Whether the daemon that is to be replaced has this port.
bool Preflight::WillBeFree(const std::string& address) const {
  if (replaced_.pid == 0 || address.empty()) return false;
  const auto at = posix::ParseTcpAddress(address);
  return at.ok() && ListensAt(replaced_, *at);
}

absl::Status CheckStart(const Preflight::Options& options) {
  PENSTOCK_CHECK(options.purpose.is_trial);
  PENSTOCK_ASSIGN_OR_RETURN(Preflight preflight, Preflight::Begin(options));
  return preflight.Finish().status();
}

absl::Status CheckNamedFiles(const ConfigFile& file) {
  PENSTOCK_RETURN_IF_ERROR(file.lines.Locate(CheckRoots(file.config)));
  return file.lines.Locate(CheckStoreFiles(file.config.stores()));
}

}  // namespace penstock::app
