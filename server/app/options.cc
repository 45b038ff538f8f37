#include "server/app/options.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "common/posix/group.h"
#include "common/telemetry/log.h"
#include "server/app/config/config.h"
#include "server/export/cuda_copier.h"

namespace penstock::app {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLeastArena = 4 << 20;
// A read may take this long even where failing reads are not retried.
constexpr std::chrono::seconds kLeastStorageWait(10);

base::Duration Milliseconds(uint64_t count) { return std::chrono::milliseconds(count); }

absl::StatusOr<gid_t> GroupOf(const std::string& name, const std::string& key) {
  auto found = posix::FindGroup(name);
  if (found.ok()) return found;
  return absl::InvalidArgumentError(
      absl::StrCat(key, ": ", found.status().message(), "; name one that 'getent group' lists"));
}

// **Requires**: the configuration was validated, so it has exactly one kind.
NamedDataset ToNamedDataset(const config::v1::Dataset& dataset) {
  NamedDataset named{.name = dataset.name(), .path = dataset.folder(), .groups = {}};
  if (!dataset.text().empty()) {
    named = FilesNamed(dataset.text()).value();
    named.name = dataset.name();
  }
  if (dataset.has_idx()) {
    named.path = dataset.idx().images();
    named.idx = {dataset.idx().images(), dataset.idx().labels()};
  } else if (dataset.has_npy()) {
    named.npy = ToSpec(dataset.npy());
    named.path = source::ToString(*named.npy);
  } else if (dataset.has_tokens()) {
    named.tokens = ToSpec(dataset.tokens()).value();
    named.path = source::ToString(*named.tokens);
  } else if (dataset.has_tar()) {
    named.tar = ToSpec(dataset.tar());
    named.path = PathOf(*named.tar);
  } else if (dataset.has_tfrecord()) {
    named.tfrecord = ToSpec(dataset.tfrecord());
    named.path = PathOf(*named.tfrecord);
  } else if (dataset.has_synthetic()) {
    named.synthetic = ToSpec(dataset.synthetic());
    named.path = source::ToString(*named.synthetic);
  } else if (dataset.has_mixture()) {
    named.path = absl::StrCat("mixture:", dataset.name());
    named.mixture = {.parts = {}, .plan = ToMixture(dataset.mixture())};
    for (const config::v1::MixturePart& part : dataset.mixture().parts())
      named.mixture->parts.push_back(part.dataset());
  }
  if (!dataset.range().empty()) named.range = *ParseRange(dataset.range());
  return named;
}

workers::SupervisorOptions WorkersOptions(const config::v1::Config& config,
                                          const posix::Machine& machine) {
  workers::SupervisorOptions workers;
  workers.count = WorkerCount(config, machine);
  workers.user = ::geteuid();  // a private daemon's only user; otherwise the canary's
  workers.program = config.workers().program();
  workers.limits.max_bytes = config.limits().max_sample_bytes();
  workers.limits.max_pixels = config.limits().max_pixels();
  workers.limits.max_scans = config.limits().max_scans();
  // Space to read one file while another is decoded, and at least some runs of packed rows, in
  // whole pages.
  workers.arena_bytes =
      std::max(kLeastArena, (2 * config.limits().max_sample_bytes() + kPage - 1) / kPage * kPage);
  workers.memory_bytes = config.workers().memory_bytes();
  if (!HasSandbox(config)) workers.sandbox = workers::SandboxMode::kOff;
  workers.start_timeout = Milliseconds(config.workers().start_timeout_ms());
  workers.sample_timeout = Milliseconds(config.workers().sample_timeout_ms());
  workers.back_off = {.first = Milliseconds(config.workers().backoff_first_ms()),
                      .longest = Milliseconds(config.workers().backoff_longest_ms())};
  workers.budget = {.restarts = config.workers().max_restarts(),
                    .window = Milliseconds(config.workers().restart_window_ms())};
  return workers;
}

// If this environment variable is set, the daemon overwrites device slots as soon as nobody holds
// them, so that tests notice premature use. It then caches no batches on GPUs.
constexpr char kPoison[] = "PENSTOCK_TEST_POISON_DEVICE_SLOTS";

exporting::Gpus::Options GpusOptions(const config::v1::Config& config) {
  exporting::Gpus::Options gpus;
  gpus.max_bytes = config.gpu().max_bytes();
  gpus.depth = config.gpu().depth();
  gpus.make_copier = exporting::CudaCopier::Start;
  if (std::getenv(kPoison) != nullptr) {
    gpus.unheld = exporting::DeviceSlots::Unheld::kForget;
    PENSTOCK_LOG(kWarning, "poisoning", {"because", kPoison});
  }
  return gpus;
}

}  // namespace

absl::StatusOr<Catalog::Offer> ToOffer(const config::v1::Config& config) {
  Catalog::Offer offer;
  offer.faults.max_quarantined_share = config.limits().max_quarantined_share();
  offer.faults.max_quarantined_minimum = config.limits().max_quarantined_minimum();
  for (int i = 0; i < config.datasets_size(); ++i) {
    const config::v1::Dataset& dataset = config.datasets(i);
    NamedDataset named = ToNamedDataset(dataset);
    for (int g = 0; g < dataset.groups_size(); ++g) {
      const std::string key = absl::StrCat("datasets[", i, "].groups[", g, "]");
      PENSTOCK_ASSIGN_OR_RETURN(const gid_t id, GroupOf(dataset.groups(g), key));
      named.groups.push_back(id);
    }
    offer.datasets.push_back(std::move(named));
  }
  return offer;
}

absl::StatusOr<Catalog::Options> CatalogOptions(const config::v1::Config& config, Paths paths) {
  Catalog::Options catalog;
  PENSTOCK_ASSIGN_OR_RETURN(catalog.offer, ToOffer(config));
  catalog.any_path = paths == Paths::kAny;
  catalog.roots.assign(config.source().roots().begin(), config.source().roots().end());
  catalog.state_dir = config.server().state_dir();
  catalog.index_threads = static_cast<int>(config.source().index_threads());
  catalog.max_unpacked_bytes = config.source().max_unpacked_bytes();
  catalog.max_datasets = config.source().max_open();
  return catalog;
}

GivenOrders::Options GivenOrdersOptions(const config::v1::Config& config) {
  return {.max_samples = config.limits().max_order_samples(),
          .max_per_user = config.limits().max_orders_per_user(),
          .max_bytes = config.limits().max_order_memory_bytes(),
          .owner = ::geteuid()};
}

bool HasSandbox(const config::v1::Config& config) {
  return config.workers().sandbox() != config::v1::Workers::SANDBOX_OFF;
}

indexer::Indexers::Options ToIndexers(const config::v1::Config& config,
                                      const posix::Machine& machine) {
  return {.sandboxed = HasSandbox(config) ? indexer::Sandboxed::kYes : indexer::Sandboxed::kNo,
          .cores = machine.Cores(),
          .patience = {.start = Milliseconds(config.workers().start_timeout_ms()),
                       .storage = std::max<base::Duration>(
                           Milliseconds(config.source().retry_for_ms()), kLeastStorageWait)}};
}

uint64_t MachineMemory() { return posix::ReadMachine().Memory(); }

kept::KeptRowStore::Options KeptRowsOptions(const config::v1::Config& config) {
  return {.memory = config.cache().memory_bytes(),
          .folder = config.cache().folder(),
          .folder_max = config.cache().folder_max_bytes(),
          .ask = MachineMemory};
}

kept::KeptRowStore::Options KeptImagesOptions(const config::v1::Config& config) {
  return {.memory = config.cache().decoded_bytes(), .ask = MachineMemory};
}

bool KeepsRows(const config::v1::Config& config) {
  return config.cache().memory_bytes() > 0 || !config.cache().folder().empty();
}

size_t FillingThreads(const config::v1::Config& config, const posix::Machine& machine) {
  const uint32_t readers = WorkerCount(config, machine);
  const uint32_t copiers = RowCopierCount(config, machine);
  const uint32_t keepers = KeepsRows(config) ? copiers : 0;
  constexpr uint32_t kWriter = 1;
  const bool has_folder = !config.cache().folder().empty();
  return readers + copiers + keepers + (has_folder ? feed::Engine::kFolderKeepers + kWriter : 0);
}

feed::Engine::Options EngineOptions(const config::v1::Config& config,
                                    const posix::Machine& machine) {
  feed::Engine::Options engine;
  engine.pool.max_bytes = config.pool().max_bytes();
  engine.pool.segment_bytes = config.pool().segment_bytes();
  engine.pool.preallocate_bytes = config.pool().preallocate_bytes();
  engine.pool.available_bytes = MachineMemory;
  engine.workers = WorkersOptions(config, machine);
  engine.row_copiers = {.count = RowCopierCount(config, machine)};
  engine.retry_for = Milliseconds(config.source().retry_for_ms());
  engine.gpus = GpusOptions(config);
  engine.admission = ToAdmission(config);
  engine.cores = machine.Cores();
  if (config.workers().auto_()) engine.auto_workers = {.most = MostWorkers(config, machine)};
  return engine;
}

feed::Admission ToAdmission(const config::v1::Config& config) {
  return {.max_sessions = config.server().max_sessions(),
          .max_sessions_per_user = config.limits().max_sessions_per_user(),
          .max_pool_per_user = config.limits().max_pool_per_user_share(),
          .max_workers_per_user = config.limits().max_workers_per_user_share()};
}

}  // namespace penstock::app
