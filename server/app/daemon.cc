#include "server/app/daemon.h"

#include <grp.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "common/base/units.h"
#include "common/telemetry/log.h"
#include "server/app/config.h"
#include "server/app/machine.h"
#include "server/app/version.h"

namespace penstock::app {
namespace {

base::Duration Milliseconds(uint64_t count) { return std::chrono::milliseconds(count); }

absl::StatusOr<gid_t> GroupOf(const std::string& name) {
  uint32_t number = 0;
  if (absl::SimpleAtoi(name, &number)) return number;
  char buffer[16384];
  group entry = {};
  group* found = nullptr;
  if (getgrnam_r(name.c_str(), &entry, buffer, sizeof(buffer), &found) == 0 && found != nullptr)
    return found->gr_gid;
  return absl::InvalidArgumentError(absl::StrCat("datasets[].groups: there is no group '", name,
                                                 "'; name one that 'getent group' lists"));
}

absl::StatusOr<Catalog::Options> CatalogOptions(const DaemonOptions& options) {
  const config::v1::Config& config = options.config;
  Catalog::Options catalog;
  catalog.any_path = options.private_daemon;
  catalog.roots.assign(config.source().roots().begin(), config.source().roots().end());
  catalog.state_dir = config.server().state_dir();
  catalog.index_threads = static_cast<int>(config.source().index_threads());
  catalog.max_datasets = config.source().max_open();
  catalog.faults.max_quarantined_share = config.limits().max_quarantined_share();
  catalog.faults.max_quarantined_minimum = config.limits().max_quarantined_minimum();
  for (const config::v1::Dataset& dataset : config.datasets()) {
    NamedDataset named{.name = dataset.name(), .path = dataset.folder(), .groups = {}};
    for (const std::string& group : dataset.groups()) {
      PENSTOCK_ASSIGN_OR_RETURN(const gid_t id, GroupOf(group));
      named.groups.push_back(id);
    }
    catalog.datasets.push_back(std::move(named));
  }
  return catalog;
}

workers::SupervisorOptions WorkersOptions(const config::v1::Config& config) {
  workers::SupervisorOptions workers;
  workers.count = WorkerCount(config, ReadMachine());
  workers.program = config.workers().program();
  workers.limits.max_bytes = config.limits().max_sample_bytes();
  workers.limits.max_pixels = config.limits().max_pixels();
  workers.arena_bytes = 2 * config.limits().max_sample_bytes();
  workers.memory_bytes = config.workers().memory_bytes();
  workers.start_timeout = Milliseconds(config.workers().start_timeout_ms());
  workers.sample_timeout = Milliseconds(config.workers().sample_timeout_ms());
  workers.retry_for = Milliseconds(config.source().retry_for_ms());
  workers.back_off = {.first = Milliseconds(config.workers().backoff_first_ms()),
                      .longest = Milliseconds(config.workers().backoff_longest_ms())};
  workers.budget = {.restarts = config.workers().max_restarts(),
                    .window = Milliseconds(config.workers().restart_window_ms())};
  return workers;
}

feed::Engine::Options EngineOptions(const config::v1::Config& config) {
  feed::Engine::Options engine;
  engine.pool.max_bytes = config.pool().max_bytes();
  engine.pool.segment_bytes = config.pool().segment_bytes();
  engine.pool.preallocate_bytes = config.pool().preallocate_bytes();
  engine.pool.available_bytes = [] { return ReadMachine().available_bytes; };
  engine.workers = WorkersOptions(config);
  engine.max_sessions = config.server().max_sessions();
  return engine;
}

telemetry::Level LevelOf(config::v1::Log::Level level) {
  switch (level) {
    case config::v1::Log::LEVEL_DEBUG:
      return telemetry::Level::kDebug;
    case config::v1::Log::LEVEL_WARNING:
      return telemetry::Level::kWarning;
    case config::v1::Log::LEVEL_ERROR:
      return telemetry::Level::kError;
    default:
      return telemetry::Level::kInfo;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const DaemonOptions& options) {
  telemetry::SetLevel(LevelOf(options.config.log().level()));
  std::unique_ptr<Daemon> daemon(new Daemon());
  PENSTOCK_RETURN_IF_ERROR(daemon->StartParts(options));
  return daemon;
}

absl::Status Daemon::StartParts(const DaemonOptions& options) {
  const config::v1::Config& config = options.config;
  PENSTOCK_ASSIGN_OR_RETURN(doorway::Claim claim, doorway::ClaimAddress(config.server().socket(),
                                                                        config.server().group()));
  address_.emplace(std::move(claim));
  PENSTOCK_ASSIGN_OR_RETURN(Catalog::Options catalog, CatalogOptions(options));
  catalog_ = std::make_unique<Catalog>(std::move(catalog));

  const feed::Engine::Options engine = EngineOptions(config);
  const auto send = [this](uint64_t peer, const void* message, size_t bytes,
                           const std::vector<int>& fds) {
    return courier_.Send(peer, message, bytes, fds);
  };
  PENSTOCK_ASSIGN_OR_RETURN(runner_, feed::Runner::Start(engine, send));
  service_ =
      std::make_unique<Service>(Service::Options{options.private_daemon}, *catalog_, *runner_);

  doorway::Options doorway;
  doorway.path = address_->door_path();
  doorway.group = address_->group();
  doorway.max_peers = config.server().max_connections();
  PENSTOCK_ASSIGN_OR_RETURN(doorway_, doorway::Doorway::Start(doorway, *service_));
  courier_.Use(doorway_.get());

  rpc::Options rpc;
  rpc.max_connections = config.server().max_connections();
  PENSTOCK_ASSIGN_OR_RETURN(server_, rpc::Server::Start(address_->TakeListener(), *service_, rpc));
  server_->SetServing(true);
  PENSTOCK_LOG(kInfo, "serving", {"version", kVersion}, {"socket", address_->path()},
               {"pool", base::FormatBytes(engine.pool.max_bytes)},
               {"workers", engine.workers.count}, {"datasets", config.datasets_size()},
               {"delivery", "host"});
  return absl::OkStatus();
}

// New calls end first, then what they could reach: a catalogue's answer goes to the runner, a
// runner's descriptors to the doorway. Catalogue and runner come last, because they wait for reads
// in progress (end_limit.h): by then nobody outside sees us any more.
Daemon::~Daemon() {
  if (server_ != nullptr) server_->SetServing(false);
  if (catalog_ != nullptr) catalog_->Close();
  server_.reset();
  courier_.Use(nullptr);
  doorway_.reset();
  if (address_) address_->RemoveSockets();
  if (runner_ != nullptr) runner_->Close();
  if (catalog_ != nullptr) catalog_->Stop();
  runner_.reset();
}

base::Duration Daemon::IdleFor(base::TimePoint now) {
  const bool needed = runner_->sessions() > 0 || service_->connected() > 0;
  if (needed || !idle_since_) idle_since_ = now;
  return now - *idle_since_;
}

bool Daemon::Healthy() {
  const bool healthy = runner_->healthy();
  if (!healthy) server_->SetServing(false);
  return healthy;
}

}  // namespace penstock::app
