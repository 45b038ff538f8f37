#include "server/app/daemon.h"

#include <algorithm>
#include <future>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/base/units.h"
#include "common/posix/limits.h"
#include "common/shm/doorway_wire.h"
#include "common/telemetry/log.h"
#include "server/app/catalog/roots_check.h"
#include "server/app/config/config.h"
#include "server/app/config/config_diff.h"
#include "server/app/operator/admin_socket.h"
#include "server/app/operator/metrics_snapshot.h"
#include "server/app/options.h"
#include "server/app/version.h"
#include "server/status/process_facts.h"

namespace penstock::app {
namespace {

// A driver that is asked for the first time may take its time; so long the line that says what
// serves here waits for it.
constexpr std::chrono::seconds kGpusWithin(5);
constexpr std::chrono::seconds kLongestAnswer(2);  // of the runner

// Open files that no client gets: for workers, datasets and whoever is in charge.
constexpr uint64_t kFilesForOthers = 64;

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
  if (options.config.log().format() == config::v1::Log::FORMAT_JSON)
    telemetry::SetFormat(telemetry::Format::kJson);
  std::unique_ptr<Daemon> daemon(new Daemon(options));
  PENSTOCK_RETURN_IF_ERROR(daemon->StartParts());
  return daemon;
}

absl::Status Daemon::StartParts() {
  const config::v1::Config& config = options_.config;
  PENSTOCK_ASSIGN_OR_RETURN(doorway::Claim claim, doorway::ClaimAddress(config.server().socket(),
                                                                        config.server().group()));
  address_.emplace(std::move(claim));
  rpc::Options rpc;
  PENSTOCK_ASSIGN_OR_RETURN(rpc.admins, AdminsOf(config.server()));
  if (!options_.private_daemon) {
    PENSTOCK_ASSIGN_OR_RETURN(doorway::Claim admin,
                              ClaimAdminSocket(AdminSocketOf(config.server()), rpc.admins));
    rpc.operators_path = admin.path();
    admin_address_.emplace(std::move(admin));
  }
  if (!config.server().metrics_address().empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(metrics_, MetricsPort::Claim(config.server().metrics_address()));
  }
  PENSTOCK_ASSIGN_OR_RETURN(
      Catalog::Options catalog,
      CatalogOptions(config, options_.private_daemon ? Paths::kAny : Paths::kNamed));
  PENSTOCK_RETURN_IF_ERROR(CheckRoots(config));
  catalog.in_slots = [this](const feed::DatasetState& state) { return AskForSlots(state); };
  catalog_ = std::make_unique<Catalog>(std::move(catalog));

  const feed::Engine::Options engine = EngineOptions(config, posix::ReadMachine());
  const auto send = [this](uint64_t peer, const void* message, size_t bytes,
                           const std::vector<int>& fds) {
    if (peer == Canary::kPeer) return canary_.Receive(message, bytes, fds);
    return deferred_sender_.Send(peer, message, bytes, fds);
  };
  PENSTOCK_ASSIGN_OR_RETURN(runner_, feed::Runner::Start(engine, send));
  if (config.gpu().max_bytes() > 0) gpu_probe_.emplace();
  Service::Options service = {
      .private_daemon = options_.private_daemon,
      .orders = GivenOrdersOptions(config),
      .digest_threads = config.source().index_threads(),
      .delivers_to_gpus = [this] { return gpu_probe_ && gpu_probe_->usable(); }};
  service.draining = [this](bool draining) {
    draining_.store(draining);
    SetHealth();
  };
  service.not_ready = [this] { return canary_.Reason(); };
  service.cut_off = [this] { return cut_off_.load(); };
  service.forget = [this](uint64_t peer) { deferred_sender_.Forget(peer); };
  if (options_.read_again != nullptr)
    service.reload = [this](rpc::Callback<v1::ReloadResponse> done) {
      base::MutexLock lock(mutex_);
      reloads_.push_back(std::move(done));
    };
  service_ = std::make_unique<Service>(std::move(service), *catalog_, *runner_);

  doorway::Options doorway;
  doorway.path = address_->door_path();
  doorway.group = address_->group();
  doorway.max_peers = config.server().max_connections();
  doorway.owner_in_charge = !address_->group();  // nobody but it connects
  const uint64_t files = posix::MaxOpenFiles();
  doorway.max_undelivered = std::max<uint64_t>(files / 2, 1);  // workers are sent some, too
  doorway.max_descriptor = files - std::min(files / 4, kFilesForOthers);
  PENSTOCK_ASSIGN_OR_RETURN(doorway_, doorway::Doorway::Start(doorway, *service_));
  deferred_sender_.Use(doorway_.get());

  rpc.max_connections = config.server().max_connections();
  rpc.health_address = config.server().health_address();
  rpc::Listeners listeners = {.trainers = address_->TakeListener()};
  if (admin_address_) listeners.operators = admin_address_->TakeListener();
  PENSTOCK_ASSIGN_OR_RETURN(server_, rpc::Server::Start(std::move(listeners), *service_, rpc));
  if (metrics_ == nullptr) return absl::OkStatus();
  return metrics_->Serve({.ask = [this](auto done) { return AskForSnapshot(std::move(done)); },
                          .facts = [this] { return GetFacts(); }});
}

// New calls end first, then what they could reach: a catalogue's answer goes to the runner, a
// runner's descriptors to the doorway. Catalogue and runner come last, because they wait for reads
// in progress (end_limit.h): by then nobody outside sees us any more.
Daemon::~Daemon() {
  if (server_ != nullptr) server_->SetServing(false);
  for (const auto& done : TakeReloads()) done(absl::UnavailableError("the daemon is ending"));
  if (catalog_ != nullptr) catalog_->Close();
  metrics_.reset();  // asks the server, too
  server_.reset();
  deferred_sender_.Use(nullptr);
  doorway_.reset();
  if (address_) address_->RemoveSockets();
  if (admin_address_) admin_address_->RemoveSockets();
  if (runner_ != nullptr) runner_->Close();
  if (catalog_ != nullptr) catalog_->Stop();
  runner_.reset();
}

// The runner does not wait for whoever opens datasets, and may be about to end: so this waits, but
// not for long.
std::optional<std::vector<uint64_t>> Daemon::AskForSlots(const feed::DatasetState& state) {
  auto answer = std::make_shared<std::promise<std::vector<uint64_t>>>();
  std::future<std::vector<uint64_t>> samples = answer->get_future();
  // `state` is held by the caller, who may have gone on by then: only its address is used.
  const bool posted =
      runner_->Post([answer, address = &state](feed::Engine& engine, base::TimePoint) {
        answer->set_value(engine.views().SamplesInSlots(address));
      });
  if (!posted || samples.wait_for(kLongestAnswer) != std::future_status::ready) return std::nullopt;
  return samples.get();
}

void Daemon::Tick(base::TimePoint now) {
  service_->Tick(now);
  AnswerReloads();
  LookAtCanary();
  uint64_t cut_off = 0;
  for (const auto& [reason, count] : CutOff()) cut_off += count;
  cut_off_.store(cut_off);
  if (!said_serving_) SayServing(now);
}

void Daemon::LookAtCanary() {
  runner_->Post([this](feed::Engine& engine, base::TimePoint now) { canary_.Step(engine, now); });
  if (std::exchange(was_ready_, ready()) != ready()) SetHealth();
}

void Daemon::SayServing(base::TimePoint now) {
  const feed::Vitals vitals = runner_->vitals();
  const std::optional<uint32_t> gpus = gpu_probe_ ? gpu_probe_->count() : 0;
  const bool gpus_are_awaited = !gpus && now - started_ < kGpusWithin;
  if (!ready() || gpus_are_awaited) return;
  said_serving_ = true;
  PENSTOCK_LOG(kInfo, "serving", {"version", kVersion}, {"socket", address_->path()},
               {"admin_socket", admin_address_ ? admin_address_->path() : "none"},
               {"pool", base::FormatBytes(vitals.pool_bytes)}, {"workers", vitals.workers},
               {"gpus", gpus ? absl::StrCat(*gpus) : "unknown"},
               {"gpu_max", base::FormatBytes(options_.config.gpu().max_bytes())},
               {"datasets", options_.config.datasets_size()});
}

bool Daemon::AskForSnapshot(status::Collector::Done done) {
  return runner_->Post([this, done = std::move(done)](feed::Engine& engine, base::TimePoint now) {
    done(TakeSnapshot(engine, catalog_->List(), now));
  });
}

status::Facts Daemon::GetFacts() const {
  const config::v1::Server& server = options_.config.server();
  const feed::Vitals vitals = runner_->vitals();
  const base::TimePoint now = base::Now();
  rpc::Audit::Counts audited = server_->audited();
  const doorway::Doorway::Counts at_door = doorway_->counts();
  if (at_door.no_place > 0) audited.refused[{"doorway", "limit"}] = at_door.no_place;
  if (at_door.bad_hello > 0) audited.refused[{"doorway", "bad_hello"}] = at_door.bad_hello;
  return {.version = kVersion,
          .protocol_version = shm::kProtocolVersion,
          .uptime = now - started_,
          .ready = ready() && !vitals.draining && runner_->status().ok(),
          .draining = vitals.draining,
          .connections = service_->connected(),
          .max_connections = server.max_connections(),
          .sessions = runner_->sessions(),
          .workers = vitals.workers,
          .workers_running = vitals.workers_running,
          .pool_bytes = vitals.pool_bytes,
          .reserved_bytes = vitals.reserved_bytes,
          .since_last_pass = now - std::max(vitals.ticked, started_),
          .process = status::ReadProcessFacts(),
          .refused = std::move(audited.refused),
          .acted = std::move(audited.acted),
          .cut_off = CutOff()};
}

// At the calls' socket, and at the doorway.
std::map<std::string, uint64_t> Daemon::CutOff() const {
  std::map<std::string, uint64_t> counts = server_->cut_off();
  const doorway::Doorway::Counts at_door = doorway_->counts();
  counts["doorway_unread"] = at_door.unread;
  counts["doorway_spoke_again"] = at_door.spoke_again;
  return counts;
}

base::Duration Daemon::IdleFor(base::TimePoint now) {
  // An operator's index has no connection that is counted.
  const bool needed = runner_->sessions() > 0 || service_->connected() > 0 || catalog_->busy();
  if (needed || !idle_since_) idle_since_ = now;
  return now - *idle_since_;
}

absl::Status Daemon::Health() {
  const absl::Status status = runner_->status();
  if (!status.ok()) {
    failed_.store(true);
    SetHealth();
  }
  return status;
}

void Daemon::SetHealth() {
  if (server_ != nullptr) server_->SetServing(ready() && !draining_.load() && !failed_.load());
}

// ---- While it runs. ----

void Daemon::Drain() { service_->Drain(); }

bool Daemon::drained() const {
  const feed::Vitals vitals = runner_->vitals();
  return vitals.draining && vitals.not_drained == 0;
}

base::Duration Daemon::drain_for() const {
  return std::chrono::milliseconds(config_.server().drain_for_ms());
}

absl::StatusOr<std::vector<std::string>> Daemon::Reload() {
  const auto refuse = [](absl::string_view why) {
    PENSTOCK_LOG(kError, "reload_refused", {"reason", why});
    return absl::FailedPreconditionError(why);
  };
  if (options_.read_again == nullptr) return refuse("a private daemon has no configuration");
  const absl::StatusOr<config::v1::Config> next = options_.read_again();
  if (!next.ok()) return refuse(next.status().message());
  absl::StatusOr<Catalog::Offer> offer = OfferOf(*next);
  if (!offer.ok()) return refuse(offer.status().message());

  std::vector<std::string> changed, fixed;
  for (const ConfigChange& change : Compare(config_, *next))
    (change.needs_restart ? fixed : changed).push_back(change.ToString());
  if (!fixed.empty())
    return refuse(absl::StrCat("cannot change while the daemon runs: ", absl::StrJoin(fixed, "; "),
                               "; put it back, or restart (trainers go on where they were)"));
  if (const absl::Status roots = CheckRoots(*next); !roots.ok()) return refuse(roots.message());
  catalog_->SetOffer(*std::move(offer));
  runner_->Deliver([admission = AdmissionOf(*next)](feed::Engine& engine, base::TimePoint) {
    engine.SetAdmission(admission);
  });
  telemetry::SetLevel(LevelOf(next->log().level()));
  config_ = *next;
  PENSTOCK_LOG(kInfo, "reloaded", {"changed", absl::StrJoin(changed, "; ")});
  return changed;
}

std::vector<rpc::Callback<v1::ReloadResponse>> Daemon::TakeReloads() {
  base::MutexLock lock(mutex_);
  return std::exchange(reloads_, {});
}

// Operators who ask at once get one answer.
void Daemon::AnswerReloads() {
  const auto asked = TakeReloads();
  if (asked.empty()) return;
  const absl::StatusOr<std::vector<std::string>> changed = Reload();
  v1::ReloadResponse response;
  if (changed.ok()) response.mutable_changed()->Add(changed->begin(), changed->end());
  for (const auto& done : asked)
    done(changed.ok() ? absl::StatusOr<v1::ReloadResponse>(response) : changed.status());
}

}  // namespace penstock::app
