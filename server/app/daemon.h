// The composition root: creates the daemon's parts in start order and destroys them in reverse.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "penstock/config/v1/config.pb.h"
#include "server/app/canary.h"
#include "server/app/catalog/catalog.h"
#include "server/app/gpu_probe.h"
#include "server/app/health.h"
#include "server/app/idle_time.h"
#include "server/app/operator/daemon_facts.h"
#include "server/app/preflight/preflight.h"
#include "server/app/reloads.h"
#include "server/app/service/deferred_sender.h"
#include "server/app/service/service.h"
#include "server/checkpoints/files.h"
#include "server/doorway/doorway.h"
#include "server/feed/engine/runner.h"
#include "server/indexer/indexers.h"
#include "server/rpc/server.h"
#include "server/store/files/store_files.h"

namespace penstock::app {

struct DaemonOptions {
  ConfigFile file;
  std::string config_path = {};  // where it was read, absolute; empty for a private daemon
  // Reads the configuration again; null for a private daemon, which has no file.
  std::function<absl::StatusOr<ConfigFile>()> read_again = {};
  bool private_daemon = false;  // accepts any path that its user may read
};

class Daemon {
 public:
  // Accepts sessions when it returns; is ready once a canary batch came through. **Errors**: what
  // prevents it from serving, and the remedy.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const DaemonOptions& options);
  ~Daemon();

  // Call it on one thread, several times a second: cleans up after clients, and logs what is served
  // once ready.
  void Tick(base::TimePoint now);
  // How long there has been no session and no connection. Same thread as Tick.
  base::Duration IdleFor(base::TimePoint now);
  feed::Vitals vitals() const { return runner_->vitals(); }
  // A canary batch came through, and there is still a worker.
  bool ready() const { return canary_.came_through(); }
  // Starts draining: no session can be opened, and each ends with its epoch; health reports "not
  // serving". Any thread.
  void Drain(const session::AskedBy& asked_by) { service_->Drain(asked_by); }
  // Whether it drains and no session is left in an epoch.
  bool drained() const;
  bool has_visitors() const { return runner_->sessions() > 0 || service_->connected() > 0; }
  base::Duration drain_for() const;

  // Because of a signal. A refusal is logged and counted. Same thread as Tick.
  void Reload(const session::AskedBy& asked_by) {
    if (!reloads_.Reload(asked_by).ok()) ++signals_refused_;
  }

  // Not OK if batches are not delivered any more. Health then reports "not serving", permanently.
  absl::Status CheckHealth();

 private:
  explicit Daemon(const DaemonOptions& options);

  absl::Status StartParts();
  void MakeCatalog(Catalog::Options catalog, std::optional<store::StoreSettings> stores);
  void MakeStores(std::optional<store::StoreSettings> settings);
  void StartCheckpoints();
  absl::Status StartRunner();
  void MakeService();
  absl::Status OpenDoorway();
  absl::Status StartServer(rpc::Admins admins);
  absl::Status ServeMetrics();
  std::optional<status::Pages::Sources> PageSources();

  void Apply(const config::v1::Config& next, DatasetOffer offer);
  void ApplyStores(const config::v1::Config& next);
  std::optional<std::vector<uint64_t>> AskForSlots(const feed::DatasetState& state);
  void LogServing(base::TimePoint now);
  bool AskForSnapshot(status::Collector::Done done);  // the metrics thread

  const config::v1::Config& config() const { return options_.file.config; }  // as at the start

  const DaemonOptions options_;
  const base::TimePoint started_ = base::Now();
  const int64_t started_unix_ms_ = status::UnixMs();
  Reloads reloads_;
  Health health_;
  IdleTime idle_;
  std::atomic<uint64_t> cut_off_ = 0;          // connections, as of the last tick
  std::atomic<uint64_t> signals_refused_ = 0;  // that asked for a reload
  bool said_serving_ = false;

  // In start order; later ones use earlier ones.
  std::optional<DaemonClaims> claims_;
  SandboxSummary sandbox_;
  DeferredSender deferred_sender_;
  Canary canary_;
  std::shared_ptr<indexer::Indexers> indexers_;      // shared with open datasets
  std::shared_ptr<kept::KeptRowStore> kept_rows_;    // shared with catalogue and runner
  std::shared_ptr<kept::KeptRowStore> kept_images_;  // shared with the runner
  std::unique_ptr<store::StoreFiles> stores_;        // never null
  std::unique_ptr<Catalog> catalog_;
  std::shared_ptr<checkpoints::CheckpointStore> checkpoints_;  // shared with the runner
  std::optional<checkpoints::CheckpointFiles> checkpoint_files_;
  std::unique_ptr<feed::Runner> runner_;
  std::optional<GpuProbe> gpu_probe_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<BadSamplePictures> pictures_;  // null: not configured
  std::unique_ptr<doorway::Doorway> doorway_;
  std::unique_ptr<rpc::Server> server_;
  std::optional<DaemonFacts> facts_;
};

}  // namespace penstock::app
