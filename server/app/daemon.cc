#include "server/app/daemon.h"

#include <unistd.h>

#include <algorithm>
#include <future>
#include <utility>

#include "common/base/units.h"
#include "common/posix/failpoint.h"
#include "common/posix/limits.h"
#include "common/telemetry/log.h"
#include "server/app/config/config.h"
#include "server/app/operator/admin_socket.h"
#include "server/app/operator/metrics_snapshot.h"
#include "server/app/operator/store_facts.h"
#include "server/app/options.h"
#include "server/app/store_options.h"
#include "server/app/version.h"

namespace penstock::app {
namespace {

// How long the log line that announces readiness waits for a GPU driver, which may be slow when it
// is first used.
constexpr std::chrono::seconds kGpusWithin(5);
constexpr std::chrono::seconds kLongestAnswer(2);  // by the runner

// Descriptors that clients never get: for workers, datasets and operators.
constexpr uint64_t kFilesForOthers = 64;

telemetry::Level ToLevel(config::v1::Log::Level level) {
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

Service::PageDetail ToPageDetail(const config::v1::Server& server) {
  if (server.bad_sample_pictures()) return Service::PageDetail::kPictures;
  return server.status_page() == config::v1::Server::DETAIL_FULL ? Service::PageDetail::kFull
                                                                 : Service::PageDetail::kSummary;
}

}  // namespace

// ---- Start and end ----

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const DaemonOptions& options) {
  const config::v1::Log& log = options.file.config.log();
  telemetry::SetLevel(ToLevel(log.level()));
  const bool json = log.format() == config::v1::Log::FORMAT_JSON;
  telemetry::SetFormat(json ? telemetry::Format::kJson : telemetry::Format::kText);
  std::unique_ptr<Daemon> daemon(new Daemon(options));
  PENSTOCK_RETURN_IF_ERROR(daemon->StartParts());
  return daemon;
}

Daemon::Daemon(const DaemonOptions& options)
    : options_(options),
      reloads_({.config = options.file.config,
                .file = options.config_path,
                .read = options.read_again,
                .check = CheckNamedFiles,
                .apply = [this](const config::v1::Config& next,
                                DatasetOffer offer) { Apply(next, std::move(offer)); }}),
      health_([this](bool serves) {
        if (server_ != nullptr) server_->SetServing(serves);
      }) {}

absl::Status Daemon::StartParts() {
  PENSTOCK_ASSIGN_OR_RETURN(
      Preflight preflight,
      Preflight::Begin({.file = options_.file, .is_private = options_.private_daemon}));
  claims_.emplace(std::move(preflight.claims));
  MakeCatalog(std::move(preflight.catalog), std::move(preflight.stores));
  StartCheckpoints();
  PENSTOCK_RETURN_IF_ERROR(StartRunner());
  PENSTOCK_FAILPOINT("start.runner_started");
  PENSTOCK_ASSIGN_OR_RETURN(sandbox_, preflight.Finish());
  MakeService();
  PENSTOCK_RETURN_IF_ERROR(OpenDoorway());
  PENSTOCK_FAILPOINT("start.doorway_open");
  PENSTOCK_RETURN_IF_ERROR(StartServer(std::move(preflight.admins)));
  PENSTOCK_FAILPOINT("start.server_started");
  return ServeMetrics();
}

void Daemon::MakeCatalog(Catalog::Options catalog, std::optional<store::StoreSettings> stores) {
  kept_rows_ = std::make_shared<kept::KeptRowStore>(KeptRowsOptions(config()));
  kept_images_ = std::make_shared<kept::KeptRowStore>(KeptImagesOptions(config()));
  catalog.kept_rows = kept_rows_;
  catalog.in_slots = [this](const feed::DatasetState& state) { return AskForSlots(state); };
  indexers_ = std::make_shared<indexer::Indexers>(ToIndexers(config(), posix::ReadMachine()));
  MakeStores(std::move(stores));
  catalog.remote = stores_.get();
  catalog.new_parsers = [indexers = indexers_](std::function<bool()> cancelled) {
    return indexers->NewParsers(std::move(cancelled));
  };
  catalog_ = std::make_unique<Catalog>(catalog);
}

// A private daemon reads stores with the rights of its user, in whose environment it began; another
// one only what is configured, as is configured.
void Daemon::MakeStores(std::optional<store::StoreSettings> settings) {
  store::StoreFiles::Options stores;
  if (settings) {
    stores.settings = [settings = *std::move(settings)] { return settings; };
  } else {
    stores.settings = [environment = store::OwnStoreEnvironment()] {
      return store::ReadStoreSettings(environment);
    };
  }
  stores_ = std::make_unique<store::StoreFiles>(std::move(stores));
}

void Daemon::StartCheckpoints() {
  checkpoints_ =
      std::make_shared<checkpoints::CheckpointStore>(config().decode().index_max_bytes());
  const bool stored =
      config().decode().index_max_bytes() > 0 && !config().server().state_dir().empty();
  if (stored)
    checkpoint_files_.emplace(
        checkpoints_, checkpoints::CheckpointFiles::Options{
                          .folder = absl::StrCat(config().server().state_dir(), "/checkpoints")});
}

absl::Status Daemon::StartRunner() {
  const auto send = [this](uint64_t peer, const void* message, size_t bytes,
                           const std::vector<int>& fds) {
    if (peer == Canary::kPeer) return canary_.Receive(message, bytes, fds);
    return deferred_sender_.Send(peer, message, bytes, fds);
  };
  feed::Engine::Options engine = EngineOptions(config(), posix::ReadMachine());
  // It may only serve Python datasets, whose workers the trainer forks.
  engine.workers.start_when_needed = options_.private_daemon;
  engine.checkpoints = checkpoints_;
  if (KeepsRows(config())) engine.kept_rows = kept_rows_;
  if (config().cache().decoded_bytes() > 0) engine.kept_images = kept_images_;
  engine.row_keepers = engine.row_copiers.count;
  if (stores_ != nullptr)
    engine.store_flow = [this]() -> feed::StoreFlow {
      const store::StoreRates rates = stores_->rates();
      return {.bytes_per_second = rates.bytes_per_second, .under_way = rates.under_way};
    };
  engine.close_peer = [this](uint64_t peer) { deferred_sender_.Close(peer); };
  PENSTOCK_ASSIGN_OR_RETURN(runner_, feed::Runner::Start(std::move(engine), send));
  if (config().gpu().max_bytes() > 0) gpu_probe_.emplace();
  return absl::OkStatus();
}

void Daemon::MakeService() {
  Service::Options service = {
      .private_daemon = options_.private_daemon,
      .sandbox = sandbox_.text,
      .orders = GivenOrdersOptions(config()),
      .digest_threads = config().source().index_threads(),
      .delivers_to_gpus = [this] { return gpu_probe_ && gpu_probe_->usable(); }};
  service.draining = [this](bool draining) { health_.SetDraining(draining); };
  service.indexers_forbidden_calls = [this] { return indexers_->forbidden_calls(); };
  service.stores = [this] { return ReportStores(stores_.get()); };
  service.not_ready = [this] { return canary_.Reason(); };
  service.cut_off = [this] { return cut_off_.load(); };
  service.forget = [this](uint64_t peer) { deferred_sender_.Forget(peer); };
  if (reloads_.can_reload())
    service.reload = [this](const rpc::MeantFile& file, const session::AskedBy& asked_by,
                            Reloads::Done done) { reloads_.Ask(std::move(done), asked_by, file); };
  service_ = std::make_unique<Service>(std::move(service), *catalog_, *runner_);
}

absl::Status Daemon::OpenDoorway() {
  doorway::DoorwayOptions doorway;
  doorway.path = claims_->address->door_path();
  doorway.group = claims_->address->group();
  doorway.max_peers = config().server().max_connections();
  doorway.owner_in_charge = !claims_->address->group();  // then only its owner connects
  if (options_.private_daemon) doorway.makers = ::geteuid();
  const uint64_t files = posix::MaxOpenFiles();
  doorway.max_undelivered =
      std::max<uint64_t>(files / 2, 1);  // descriptors are sent to workers too
  doorway.max_descriptor = files - std::min(files / 4, kFilesForOthers);
  PENSTOCK_ASSIGN_OR_RETURN(doorway_, doorway::Doorway::Start(doorway, *service_));
  deferred_sender_.Use(doorway_.get());
  return absl::OkStatus();
}

absl::Status Daemon::StartServer(rpc::Admins admins) {
  rpc::ServerOptions rpc = {.admins = std::move(admins), .tls = ToTlsPaths(config().server())};
  rpc.max_connections = config().server().max_connections();
  rpc.health_address = config().server().health_address();
  rpc::Listeners listeners = {.trainers = claims_->address->TakeListener()};
  if (claims_->admin_address) {
    rpc.operators_path = claims_->admin_address->path();
    listeners.operators = claims_->admin_address->TakeListener();
  }
  listeners.operators_port = std::move(claims_->operators_port);
  PENSTOCK_ASSIGN_OR_RETURN(server_, rpc::Server::Start(std::move(listeners), *service_, rpc));
  facts_.emplace(
      DaemonFacts::Parts{.runner = *runner_,
                         .service = *service_,
                         .doorway = *doorway_,
                         .server = *server_,
                         .checkpoints = *checkpoints_,
                         .kept_rows = *kept_rows_,
                         .kept_images = *kept_images_,
                         .signals_refused = signals_refused_,
                         .stores = stores_.get(),
                         .workers_are_sandboxed = sandbox_.filters_calls},
      rpc.max_connections, [this] { return ready(); }, started_);
  return absl::OkStatus();
}

absl::Status Daemon::ServeMetrics() {
  if (claims_->metrics == nullptr) return absl::OkStatus();
  return claims_->metrics->Serve(
      {.ask = [this](auto done) { return AskForSnapshot(std::move(done)); },
       .facts = [this] { return facts_->Get(base::Now()); }},
      PageSources());
}

std::optional<status::Pages::Sources> Daemon::PageSources() {
  const config::v1::Server& server = config().server();
  if (server.status_page() == config::v1::Server::DETAIL_OFF) return std::nullopt;
  const Service::PageDetail shown = ToPageDetail(server);
  status::Pages::Sources sources = {
      .page = [this, shown](auto done) { return service_->AskForPage(shown, std::move(done)); },
      .snapshot = [this](auto done) { return AskForSnapshot(std::move(done)); },
      .draining = [this] { return runner_->vitals().draining; },
      .started_unix_ms = started_unix_ms_};
  if (shown != Service::PageDetail::kPictures) return sources;
  pictures_ = std::make_unique<BadSamplePictures>([this](const auto& name, auto done) {
    return service_->AskForBadSample(name, std::move(done));
  });
  sources.bad_sample = [this](const auto& request) { return pictures_->Answer(request); };
  return sources;
}

// Calls end first, then what they use: the catalogue answers through the runner, the runner sends
// descriptors through the doorway. Catalogue and runner come last, because they wait for reads in
// progress (end_limit.h); by then nobody outside sees the daemon any more.
Daemon::~Daemon() {
  PENSTOCK_FAILPOINT("shutdown.begun");
  if (server_ != nullptr) server_->SetServing(false);
  reloads_.RefuseAll(absl::UnavailableError("the daemon is ending"));
  if (catalog_ != nullptr) catalog_->Close();
  if (indexers_ != nullptr) indexers_->Close();
  if (claims_) claims_->metrics.reset();  // it uses the server too
  server_.reset();
  deferred_sender_.Use(nullptr);
  doorway_.reset();
  PENSTOCK_FAILPOINT("shutdown.before_sockets_removed");
  if (claims_) claims_->address->RemoveSockets();
  if (claims_ && claims_->admin_address) claims_->admin_address->RemoveSockets();
  if (runner_ != nullptr) runner_->Close();
  if (stores_ != nullptr) stores_->Stop();
  if (catalog_ != nullptr) catalog_->Stop();
  PENSTOCK_FAILPOINT("shutdown.before_runner_ends");
  runner_.reset();
}

// ---- While running ----

void Daemon::Tick(base::TimePoint now) {
  service_->Tick(now);
  if (stores_ != nullptr) stores_->Tick(now);
  reloads_.AnswerAll();
  runner_->Post([this](feed::Engine& engine, base::TimePoint at) { canary_.Step(engine, at); });
  health_.SetReady(ready());
  if (claims_->metrics != nullptr) claims_->metrics->Tick(now);
  cut_off_.store(facts_->CountCutOff());
  if (!said_serving_) LogServing(now);
}

base::Duration Daemon::IdleFor(base::TimePoint now) {
  // An operator's index request doesn't hold a counted connection.
  return idle_.Update(has_visitors() || catalog_->busy(), now);
}

absl::Status Daemon::CheckHealth() {
  absl::Status status = runner_->status();
  if (!status.ok()) health_.Fail();
  return status;
}

bool Daemon::drained() const {
  const feed::Vitals vitals = runner_->vitals();
  return vitals.draining && vitals.not_drained == 0;
}

base::Duration Daemon::drain_for() const {
  return std::chrono::milliseconds(reloads_.config().server().drain_for_ms());
}

// Keys in files are read again, too, even if the configuration says what it said.
void Daemon::ApplyStores(const config::v1::Config& next) {
  if (stores_ == nullptr) return;
  const auto settings = ToStoreSettings(next.stores(), store::OwnStoreEnvironment());
  if (settings.ok()) stores_->SetSettings(*settings);
}

void Daemon::Apply(const config::v1::Config& next, DatasetOffer offer) {
  ApplyStores(next);
  const feed::FaultPolicy::Options faults = offer.faults;
  catalog_->SetOffer(std::move(offer));
  PENSTOCK_FAILPOINT("reload.half_applied");
  runner_->Deliver(
      [this, faults, admission = ToAdmission(next)](feed::Engine& engine, base::TimePoint) {
        engine.SetAdmission(admission);
        for (const DatasetView& open : catalog_->List())
          if (open.state != nullptr) open.state->SetFaultOptions(faults);
      });
  telemetry::SetLevel(ToLevel(next.log().level()));
}

// The runner doesn't wait for threads that open datasets, and may be ending, so this waits only
// briefly.
std::optional<std::vector<uint64_t>> Daemon::AskForSlots(const feed::DatasetState& state) {
  auto answer = std::make_shared<std::promise<std::vector<uint64_t>>>();
  std::future<std::vector<uint64_t>> samples = answer->get_future();
  // Uses only the address of `state`, because the caller that holds it may have given up waiting.
  const bool posted =
      runner_->Post([answer, address = &state](feed::Engine& engine, base::TimePoint) {
        answer->set_value(engine.views().SamplesInSlots(address));
      });
  if (!posted || samples.wait_for(kLongestAnswer) != std::future_status::ready) return std::nullopt;
  return samples.get();
}

void Daemon::LogServing(base::TimePoint now) {
  const feed::Vitals vitals = runner_->vitals();
  const std::optional<uint32_t> gpus = gpu_probe_ ? gpu_probe_->count() : 0;
  const bool gpus_are_awaited = !gpus && now - started_ < kGpusWithin;
  if (!ready() || gpus_are_awaited) return;
  said_serving_ = true;
  PENSTOCK_LOG(kInfo, "serving", {"version", kVersion}, {"socket", claims_->address->path()},
               {"admin_socket", claims_->admin_address ? claims_->admin_address->path() : "none"},
               {"admin_address", config().server().admin_address()},
               {"pool", base::FormatBytes(vitals.pool_bytes)}, {"workers", vitals.workers},
               {"sandbox", sandbox_.text}, {"gpus", gpus ? absl::StrCat(*gpus) : "unknown"},
               {"gpu_max", base::FormatBytes(config().gpu().max_bytes())},
               {"datasets", config().datasets_size()});
}

bool Daemon::AskForSnapshot(status::Collector::Done done) {
  return runner_->Post([this, done = std::move(done)](feed::Engine& engine, base::TimePoint now) {
    status::Snapshot snapshot = TakeSnapshot(engine, catalog_->List(), now);
    snapshot.forbidden_calls += indexers_->forbidden_calls();
    done(std::move(snapshot));
  });
}

}  // namespace penstock::app
