// Everything in which a start can fail because of its configuration or this machine. A start begins
// with it, and `penstockd --check-config` is nothing else, so the two cannot differ.
//
// **Ownership**: the daemon's, while it starts; a check's, until it has its answer. **Thread
// safety**: the main thread, before other parts start.
#pragma once

#include <memory>
#include <optional>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/app/catalog/catalog.h"
#include "server/app/config/config.h"
#include "server/app/operator/metrics_port.h"
#include "server/app/preflight/replaced_daemon.h"
#include "server/app/preflight/state_lock.h"
#include "server/app/sandbox_proofs.h"
#include "server/doorway/address.h"
#include "server/rpc/server.h"
#include "server/store/files/settings.h"

namespace penstock::app {

// What a daemon holds from its first moment to its last. Destroyed in reverse order: the address is
// free once nothing else is held.
struct DaemonClaims {
  std::optional<doorway::Claim> address;
  std::optional<doorway::Claim> admin_address;  // unset for a private daemon
  std::optional<StateLock> state;
  posix::Fd operators_port;              // until it is served; invalid: not configured
  std::unique_ptr<MetricsPort> metrics;  // null: not configured
};

class Preflight {
 public:
  struct Options {
    const ConfigFile& file;
    bool is_private = false;
    doorway::ClaimPurpose purpose = {};
  };

  // Claims what the daemon needs for itself, and checks everything else but the sandboxes, whose
  // probes it starts. **Errors**: what prevents a start, with the remedy, and the file and line of
  // the configuration's key.
  static absl::StatusOr<Preflight> Begin(const Options& options);

  // Waits for the probes. Nobody may be served before.
  absl::StatusOr<SandboxSummary> Finish();

  DaemonClaims claims;
  rpc::Admins admins;
  Catalog::Options catalog;
  std::optional<store::StoreSettings> stores;  // unset: a private daemon, which has its user's

 private:
  absl::Status Run(const Options& options);
  absl::Status ClaimSockets(const Options& options);
  absl::Status ClaimPorts(const config::v1::Server& server);
  bool WillBeFree(const std::string& address) const;

  ReplacedDaemon replaced_;
  std::optional<SandboxProofs> proofs_;
  ConfigLines lines_;
};

// Begin and Finish: claims what can be claimed, and then lets go of it. **Requires**: the purpose
// is a trial.
absl::Status CheckStart(const Preflight::Options& options);

// The part of it that also holds for a reload: the files and folders that the configuration names.
absl::Status CheckNamedFiles(const ConfigFile& file);

}  // namespace penstock::app
