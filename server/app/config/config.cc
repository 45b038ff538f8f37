#include "server/app/config/config.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "common/base/units.h"
#include "common/posix/fd.h"
#include "server/app/config/config_check.h"
#include "server/app/config/config_lines.h"
#include "server/app/config/config_yaml.h"

namespace penstock::app {
namespace {

using base::kGiB;
using base::kMiB;
using config::v1::Config;

constexpr size_t kLargestFile = 4 * kMiB;
constexpr uint64_t kPrivateIdleMs = 10'000;
constexpr uint64_t kLeastPool = 16 * kMiB;

void SetDefaults(config::v1::Server& server) {
  server.set_socket("/run/penstock/penstock.sock");
  server.set_group("penstock");
  server.set_state_dir("/var/lib/penstock");
  server.set_max_sessions(256);
  server.set_max_connections(1024);
  server.set_drain_for_ms(30'000);
  server.set_status_page(config::v1::Server::DETAIL_SUMMARY);
}

void SetDefaults(config::v1::Pool& pool) {
  pool.set_max_bytes(4 * kGiB);
  pool.set_segment_bytes(32 * kMiB);
}

void SetDefaults(config::v1::Gpu& gpu) {
  gpu.set_max_bytes(2 * kGiB);
  gpu.set_depth(3);
}

void SetDefaults(config::v1::Workers& workers) {
  workers.set_start_timeout_ms(10'000);
  workers.set_sample_timeout_ms(30'000);
  workers.set_memory_bytes(kGiB);
  workers.set_max_restarts(20);
  workers.set_restart_window_ms(60'000);
  workers.set_backoff_first_ms(100);
  workers.set_backoff_longest_ms(10'000);
  workers.set_max_cores_share(0.5);
  workers.set_sandbox(config::v1::Workers::SANDBOX_ON);
}

void SetDefaults(config::v1::Source& source) {
  source.set_retry_for_ms(60'000);
  source.set_index_threads(16);
  source.set_max_open(256);
  source.set_max_unpacked_bytes(kGiB);
}

void SetDefaults(config::v1::Decode& decode) { decode.set_index_max_bytes(256 * kMiB); }

void SetDefaults(config::v1::Limits& limits) {
  limits.set_max_sample_bytes(16 * kMiB);
  limits.set_max_pixels(100'000'000);
  limits.set_max_scans(100);
  limits.set_max_quarantined_share(0.001);
  limits.set_max_quarantined_minimum(10);
  limits.set_max_order_samples(100'000'000);
  limits.set_max_orders_per_user(256);
  limits.set_max_order_memory_bytes(kGiB);
  limits.set_max_sessions_per_user(128);
  limits.set_max_pool_per_user_share(1);
  limits.set_max_workers_per_user_share(1);
}

std::string UsualPrivateDirectory() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/') return absl::StrCat(runtime, "/penstock");
  return absl::StrCat("/tmp/penstock-", ::getuid());
}

}  // namespace

Config DefaultConfig() {
  Config config;
  SetDefaults(*config.mutable_server());
  SetDefaults(*config.mutable_pool());
  SetDefaults(*config.mutable_gpu());
  SetDefaults(*config.mutable_workers());
  SetDefaults(*config.mutable_source());
  SetDefaults(*config.mutable_decode());
  SetDefaults(*config.mutable_limits());
  config.mutable_cache();
  config.mutable_stores();
  config.mutable_log()->set_level(config::v1::Log::LEVEL_INFO);
  config.mutable_log()->set_format(config::v1::Log::FORMAT_TEXT);
  return config;
}

absl::StatusOr<ConfigFile> ParseConfigFile(const std::string& text, const std::string& filename) {
  ConfigFile file{.config = DefaultConfig(), .lines = ConfigLines(filename)};
  Config& config = file.config;
  PENSTOCK_RETURN_IF_ERROR(ReadYaml(text, config, file.lines));
  // Setting a small pool is enough: the segment size is reduced automatically.
  if (config.pool().segment_bytes() == DefaultConfig().pool().segment_bytes())
    config.mutable_pool()->set_segment_bytes(
        std::min(config.pool().segment_bytes(), config.pool().max_bytes()));
  PENSTOCK_RETURN_IF_ERROR(CheckConfig(config, file.lines));
  return file;
}

absl::StatusOr<Config> ParseConfig(const std::string& text, const std::string& filename) {
  PENSTOCK_ASSIGN_OR_RETURN(ConfigFile file, ParseConfigFile(text, filename));
  return std::move(file.config);
}

absl::StatusOr<ConfigFile> LoadConfig(const std::string& path) {
  const auto explain = [&](const absl::Status& why) {
    return absl::Status(why.code(),
                        absl::StrCat("reading the configuration '", path, "': ", why.message(),
                                     "; give --config a file that the daemon's user can read"));
  };
  // Runs in the thread that handles signals, so nothing here may block.
  const absl::StatusOr<posix::Fd> file = posix::OpenRegular(path);
  if (!file.ok()) return explain(file.status());
  std::string text(kLargestFile + 1, '\0');
  size_t size = 0;
  for (ssize_t got = 1; got != 0 && size < text.size();) {
    got = ::read(file->get(), text.data() + size, text.size() - size);
    if (got < 0 && errno != EINTR) return explain(base::ErrnoStatus(errno, "read"));
    if (got > 0) size += static_cast<size_t>(got);
  }
  text.resize(size);
  if (text.size() > kLargestFile)
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":1: got more than 4 MiB, wanted a configuration"));
  return ParseConfigFile(text, path);
}

absl::StatusOr<Config> PrivateConfig(const std::string& directory, const posix::Machine& machine) {
  Config config = DefaultConfig();
  config::v1::Server& server = *config.mutable_server();
  server.set_socket(absl::StrCat(directory, "/penstock.sock"));
  server.set_state_dir(absl::StrCat(directory, "/state"));
  server.clear_group();
  server.set_exit_when_idle_ms(kPrivateIdleMs);
  server.set_drain_for_ms(0);
  const uint64_t pool = machine.Memory() / 4 / kMiB * kMiB;
  if (pool < kLeastPool)
    return absl::ResourceExhaustedError(absl::StrCat(
        "a private daemon's pool is a quarter of the available memory, ",
        base::FormatBytes(machine.Memory()), "; wanted at least ",
        base::FormatBytes(4 * kLeastPool), "; free memory, or raise the cgroup's limit"));
  config.mutable_pool()->set_max_bytes(pool);
  config.mutable_pool()->set_segment_bytes(std::min(config.pool().segment_bytes(), pool));
  config.mutable_cache()->set_memory_bytes(pool / 2);
  config.mutable_workers()->set_auto_(true);
  config.mutable_workers()->set_count(std::clamp(machine.Cores() / 4, 1u, 1024u));
  config.mutable_workers()->set_max_cores_share(1);
  config.mutable_source()->add_roots(
      // As a std::string, because g++ 12 falsely warns of an overlap for const char*.
      std::string("/"));
  PENSTOCK_RETURN_IF_ERROR(CheckConfig(config, ConfigLines("a private daemon")));
  return config;
}

absl::StatusOr<Config> PrivateConfig(const std::string& directory) {
  PENSTOCK_ASSIGN_OR_RETURN(
      Config config,
      PrivateConfig(directory.empty() ? UsualPrivateDirectory() : directory, posix::ReadMachine()));
  const char* const retry_for = std::getenv("PENSTOCK_RETRY_FOR");
  if (retry_for == nullptr || *retry_for == '\0') return config;
  const auto time = base::ParseDuration(retry_for);
  if (!time.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("PENSTOCK_RETRY_FOR: ", time.status().message()));
  config.mutable_source()->set_retry_for_ms(
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(*time).count()));
  PENSTOCK_RETURN_IF_ERROR(CheckConfig(config, ConfigLines("PENSTOCK_RETRY_FOR")));
  return config;
}

uint32_t WorkerCount(const Config& config, const posix::Machine& machine) {
  if (config.workers().count() > 0) return config.workers().count();
  if (config.workers().auto_()) return 1;
  return std::clamp(machine.Cores() - 1, 1u, 1024u);
}

uint32_t MostWorkers(const Config& config, const posix::Machine& machine) {
  const double cores = machine.Cores() * config.workers().max_cores_share();
  return std::clamp(static_cast<uint32_t>(cores), 1u, 1024u);
}

uint32_t RowCopierCount(const Config& config, const posix::Machine& machine) {
  if (config.source().carriers() > 0) return config.source().carriers();
  return std::clamp(machine.Cores() / 4, 1u, 8u);
}

source::SyntheticSpec ToSpec(const config::v1::Synthetic& synthetic) {
  source::SyntheticSpec spec;
  if (synthetic.has_samples()) spec.samples = synthetic.samples();
  if (synthetic.has_height()) spec.shape.height = synthetic.height();
  if (synthetic.has_width()) spec.shape.width = synthetic.width();
  if (synthetic.has_channels()) spec.shape.channels = synthetic.channels();
  if (synthetic.has_classes()) spec.classes = synthetic.classes();
  spec.seed = synthetic.seed();
  return spec;
}

source::NpySpec ToSpec(const config::v1::Npy& npy) {
  source::NpySpec spec;
  for (const config::v1::NpyArray& array : npy.arrays())
    spec.arrays.push_back({.name = array.name(), .file = array.file()});
  return spec;
}

absl::StatusOr<source::TokensSpec> ToSpec(const config::v1::Tokens& tokens) {
  source::TokensSpec spec = {.files = {tokens.files().begin(), tokens.files().end()},
                             .length = tokens.length(),
                             .stride = tokens.stride(),
                             .vocabulary = tokens.vocabulary(),
                             .documents = tokens.documents()};
  if (!tokens.dtype().empty()) {
    spec.type = base::DTypeFromName(tokens.dtype());
    if (!spec.type)
      return absl::InvalidArgumentError(
          absl::StrCat("got '", tokens.dtype(), "' as a dtype, wanted one like uint16"));
  }
  if (!tokens.format().empty()) {
    const auto format = source::TokenFormatFromName(tokens.format());
    if (!format)
      return absl::InvalidArgumentError(absl::StrCat(
          "got '", tokens.format(), "' as a format, wanted auto, raw, llm.c, megatron or npy"));
    spec.format = *format;
  }
  return spec;
}

source::ShardsSpec ToSpec(const config::v1::Tar& tar) {
  return {.shards = {tar.shards().begin(), tar.shards().end()},
          .image = tar.image(),
          .label = tar.label()};
}

plan::MixtureSpec ToMixture(const config::v1::Mixture& mixture) {
  plan::MixtureSpec spec = {
      .samples = {}, .epoch_samples = mixture.epoch_samples(), .schedule = {}};
  plan::MixtureSpec::Weights& first = spec.schedule.emplace_back();
  for (const config::v1::MixturePart& part : mixture.parts())
    first.weights.push_back(part.has_weight() ? part.weight() : 1.0);
  for (const config::v1::MixtureWeights& later : mixture.later())
    spec.schedule.push_back({later.from_epoch(), {later.weights().begin(), later.weights().end()}});
  return spec;
}

source::ShardsSpec ToSpec(const config::v1::TfRecord& records) {
  return {.shards = {records.shards().begin(), records.shards().end()},
          .image = records.image(),
          .label = records.label()};
}

base::Duration IdleLimit(const Config& config) {
  return std::chrono::milliseconds(config.server().exit_when_idle_ms());
}

}  // namespace penstock::app
