#include "server/app/daemon.h"

#include <utility>

#include "common/base/units.h"
#include "common/telemetry/log.h"
#include "server/app/config.h"
#include "server/app/options.h"
#include "server/app/version.h"

namespace penstock::app {
namespace {

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
  PENSTOCK_ASSIGN_OR_RETURN(
      Catalog::Options catalog,
      CatalogOptions(config, options.private_daemon ? Paths::kAny : Paths::kNamed));
  catalog_ = std::make_unique<Catalog>(std::move(catalog));

  const feed::Engine::Options engine = EngineOptions(config, posix::ReadMachine());
  const auto send = [this](uint64_t peer, const void* message, size_t bytes,
                           const std::vector<int>& fds) {
    return courier_.Send(peer, message, bytes, fds);
  };
  PENSTOCK_ASSIGN_OR_RETURN(runner_, feed::Runner::Start(engine, send));
  if (config.gpu().max_bytes() > 0) gpu_probe_.emplace();
  service_ = std::make_unique<Service>(
      Service::Options{.private_daemon = options.private_daemon,
                       .orders = OrdersOptions(config),
                       .delivers_to_gpus = [this] { return gpu_probe_ && gpu_probe_->usable(); }},
      *catalog_, *runner_);

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
               {"gpu_max", base::FormatBytes(config.gpu().max_bytes())});
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
  service_->Tick(now);
  // An operator's index has no connection that is counted.
  const bool needed = runner_->sessions() > 0 || service_->connected() > 0 || catalog_->busy();
  if (needed || !idle_since_) idle_since_ = now;
  return now - *idle_since_;
}

absl::Status Daemon::Health() {
  const absl::Status status = runner_->status();
  if (!status.ok()) server_->SetServing(false);
  return status;
}

}  // namespace penstock::app
