#include "server/app/config/config_check.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "common/base/units.h"
#include "server/app/config/config.h"
#include "server/app/config/config_checker.h"
#include "server/app/config/operators_port_check.h"
#include "server/app/config/range_text.h"
#include "server/app/config/stores_check.h"
#include "server/plan/mixture.h"

namespace penstock::app {
namespace {

using base::kGiB;
using base::kKiB;
using base::kMiB;
using config::v1::Config;

constexpr uint64_t kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
constexpr size_t kLongestSocket = 100;
constexpr int kMostDatasets = 10'000, kMostAdmins = 64;
constexpr uint64_t kMostShards = 10'000;  // paths or patterns per dataset

using Checker = ConfigChecker;

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

// If the operators' socket were in the trainers' folder, or below it, a container that mounts that
// folder would see it.
void CheckOperators(const config::v1::Server& server, Checker& checker) {
  for (int i = 0; i < server.admins_size(); ++i) {
    absl::string_view name = server.admins(i);
    absl::ConsumePrefix(&name, "group:");
    checker.IsName(absl::StrCat("server.admins[", i, "]"), std::string(name));
  }
  if (server.admins_size() > kMostAdmins)
    checker.Refuse("server.admins", absl::StrCat(server.admins_size()), "at most 64");
  if (server.admin_socket().empty()) return;
  checker.IsPath("server.admin_socket", server.admin_socket());
  if (server.admin_socket().size() > kLongestSocket || server.admin_socket().back() == '/')
    checker.Refuse("server.admin_socket", Checker::Quoted(server.admin_socket()),
                   "the path of a file, at most 100 bytes");
  const std::string trainers = absl::StrCat(FolderOf(server.socket()), "/");
  if (absl::StartsWith(server.admin_socket(), trainers))
    checker.Refuse("server.admin_socket", Checker::Quoted(server.admin_socket()),
                   absl::StrCat("a path outside of ", trainers, ", which containers mount"));
}

void Check(const config::v1::Server& server, Checker& checker) {
  checker.IsPath("server.socket", server.socket());
  if (server.socket().size() > kLongestSocket)
    checker.Refuse("server.socket", absl::StrCat(server.socket().size(), " bytes"),
                   "at most 100 bytes, because a Unix socket's address is limited");
  if (!server.socket().empty() && server.socket().back() == '/')
    checker.Refuse("server.socket", Checker::Quoted(server.socket()), "a file's path");
  if (!server.group().empty()) checker.IsName("server.group", server.group());
  if (!server.state_dir().empty()) checker.IsPath("server.state_dir", server.state_dir());
  checker.IsCount("server.max_sessions", server.max_sessions(), {1, 4096});
  checker.IsCount("server.max_connections", server.max_connections(), {1, 65536});
  checker.IsTime("server.exit_when_idle", server.exit_when_idle_ms(), {0, 24 * kHour});
  checker.IsTime("server.drain_for", server.drain_for_ms(), {0, 24 * kHour});
  checker.IsAddress("server.health_address", server.health_address());
  checker.IsAddress("server.metrics_address", server.metrics_address());
  if (server.bad_sample_pictures() && server.status_page() != config::v1::Server::DETAIL_FULL)
    checker.Refuse("server.bad_sample_pictures", "true",
                   "false, because server.status_page is not full");
  CheckOperators(server, checker);
}

void Check(const config::v1::Pool& pool, Checker& checker) {
  checker.IsSize("pool.max", pool.max_bytes(), {16 * kMiB, 64 * 1024 * kGiB});
  checker.IsSize("pool.preallocate", pool.preallocate_bytes(), {0, pool.max_bytes()});
  checker.IsSize("pool.segment", pool.segment_bytes(), {2 * kMiB, pool.max_bytes()});
}

void Check(const config::v1::Gpu& gpu, Checker& checker) {
  checker.IsSize("gpu.max", gpu.max_bytes(), {0, 1024 * kGiB});
  checker.IsCount("gpu.depth", gpu.depth(), {1, 16});
}

void Check(const config::v1::Decode& decode, Checker& checker) {
  checker.IsSize("decode.index_max", decode.index_max_bytes(), {0, 1024 * kGiB});
}

void Check(const config::v1::Cache& cache, Checker& checker) {
  if (!cache.folder().empty()) checker.IsPath("cache.folder", cache.folder());
  if (!cache.folder().empty()) {
    checker.IsSize("cache.folder_max", cache.folder_max_bytes(), {kMiB, 1024 * 1024 * kGiB});
  } else if (cache.folder_max_bytes() > 0) {
    checker.Refuse("cache.folder_max", base::FormatBytes(cache.folder_max_bytes()),
                   "0B, because cache.folder is not set");
  }
  checker.IsSize("cache.decoded", cache.decoded_bytes(), {0, 64 * 1024 * kGiB});
  checker.IsSize("cache.memory", cache.memory_bytes(), {0, 64 * 1024 * kGiB});
}

void Check(const config::v1::Workers& workers, Checker& checker) {
  checker.IsCount("workers.count", workers.count(), {0, 1024});
  if (!workers.program().empty()) checker.IsPath("workers.program", workers.program());
  checker.IsTime("workers.start_timeout", workers.start_timeout_ms(), {100, 10 * kMinute});
  checker.IsTime("workers.sample_timeout", workers.sample_timeout_ms(), {10, kHour});
  checker.IsSize("workers.memory", workers.memory_bytes(), {64 * kMiB, 1024 * kGiB});
  checker.IsCount("workers.max_restarts", workers.max_restarts(), {1, 10'000});
  checker.IsTime("workers.restart_window", workers.restart_window_ms(), {kSecond, 24 * kHour});
  checker.IsTime("workers.backoff_longest", workers.backoff_longest_ms(), {1, kHour});
  checker.IsTime("workers.backoff_first", workers.backoff_first_ms(),
                 {1, workers.backoff_longest_ms()});
  checker.IsShare("workers.max_cores", workers.max_cores_share());
}

void Check(const config::v1::Source& source, Checker& checker) {
  checker.IsTime("source.retry_for", source.retry_for_ms(), {0, 24 * kHour});
  for (int i = 0; i < source.roots_size(); ++i)
    checker.IsPath(absl::StrCat("source.roots[", i, "]"), source.roots(i));
  checker.IsCount("source.index_threads", source.index_threads(), {1, 256});
  checker.IsCount("source.max_open", source.max_open(), {1, 65536});
  checker.IsCount("source.carriers", source.carriers(), {0, 64});
  checker.IsSize("source.max_unpacked", source.max_unpacked_bytes(), {kMiB, 1024 * kGiB});
}

void Check(const config::v1::Limits& limits, Checker& checker) {
  checker.IsSize("limits.max_sample", limits.max_sample_bytes(), {kKiB, kGiB});
  checker.IsCount("limits.max_pixels", limits.max_pixels(), {1, UINT32_MAX});
  checker.IsCount("limits.max_scans", limits.max_scans(), {1, 100'000});
  checker.IsCount("limits.max_order_samples", limits.max_order_samples(), {1, uint64_t{1} << 32});
  checker.IsCount("limits.max_orders_per_user", limits.max_orders_per_user(), {1, 65536});
  checker.IsSize("limits.max_order_memory", limits.max_order_memory_bytes(), {kMiB, 1024 * kGiB});
  checker.IsCount("limits.max_sessions_per_user", limits.max_sessions_per_user(), {1, 4096});
  checker.IsShare("limits.max_pool_per_user", limits.max_pool_per_user_share());
  checker.IsShare("limits.max_workers_per_user", limits.max_workers_per_user_share());
}

void Check(const source::SyntheticSpec& spec, const std::string& at, Checker& checker) {
  using source::kMaxSyntheticSide;
  checker.IsCount(at + ".samples", spec.samples, {1, source::kMaxSyntheticSamples});
  checker.IsCount(at + ".height", spec.shape.height, {1, kMaxSyntheticSide});
  checker.IsCount(at + ".width", spec.shape.width, {1, kMaxSyntheticSide});
  checker.IsCount(at + ".channels", spec.shape.channels, {1, source::kMaxSyntheticChannels});
  checker.IsCount(at + ".classes", spec.classes, {1, source::kMaxSyntheticClasses});
}

// Applies the source's own rules, with its messages.
template <typename Spec>
void Check(const absl::StatusOr<Spec>& spec, const std::string& at, Checker& checker) {
  const absl::Status status = spec.ok() ? Validate(*spec) : spec.status();
  if (!status.ok()) checker.RefuseWith(at, status);
}

void CheckNpy(const config::v1::Npy& npy, const std::string& at, Checker& checker) {
  for (int i = 0; i < npy.arrays_size(); ++i)
    checker.IsPath(absl::StrCat(at, ".arrays[", i, "].file"), npy.arrays(i).file());
  Check(absl::StatusOr<source::NpySpec>(ToSpec(npy)), at, checker);
}

void CheckTokens(const config::v1::Tokens& tokens, const std::string& at, Checker& checker) {
  for (int i = 0; i < tokens.files_size(); ++i)
    checker.IsPath(absl::StrCat(at, ".files[", i, "]"), tokens.files(i));
  Check(ToSpec(tokens), at, checker);
}

void CheckText(const std::string& text, const std::string& at, Checker& checker) {
  absl::Status status;
  if (source::IsListText(text))
    status = source::ParseListText(text).status();
  else if (source::IsNamedFolderText(text))
    status = source::ParseNamedFolderText(text).status();
  else if (source::IsCifarText(text))
    status = source::ParseCifarText(text).status();
  else if (source::IsAnnotatedText(text))
    status = source::ParseAnnotatedText(text).status();
  else
    return checker.Refuse(
        at, absl::StrCat("'", text, "'"),
        "a text that begins with list:, folder:, cifar:, pairs:, coco:, voc: or yolo:");
  if (!status.ok()) checker.RefuseWith(at, status);
}

template <typename Shards>
void CheckShards(const Shards& shards, const Config& config, const std::string& at,
                 Checker& checker) {
  checker.IsCount(at + ".shards", static_cast<uint64_t>(shards.shards_size()), {1, kMostShards});
  for (int i = 0; i < shards.shards_size(); ++i)
    CheckPathOrUrl(shards.shards(i), config.stores(), absl::StrCat(at, ".shards[", i, "]"),
                   checker);
}

void CheckKind(const config::v1::Dataset& dataset, const Config& config, const std::string& at,
               Checker& checker) {
  const int kinds = (dataset.folder().empty() ? 0 : 1) + (dataset.has_idx() ? 1 : 0) +
                    (dataset.has_npy() ? 1 : 0) + (dataset.has_tokens() ? 1 : 0) +
                    (dataset.has_tar() ? 1 : 0) + (dataset.has_tfrecord() ? 1 : 0) +
                    (dataset.text().empty() ? 0 : 1) + (dataset.has_synthetic() ? 1 : 0) +
                    (dataset.has_mixture() ? 1 : 0);
  if (kinds != 1)
    return checker.Refuse(at, kinds == 0 ? "no kind of dataset" : absl::StrCat(kinds, " kinds"),
                          "exactly one of folder, idx, npy, tokens, tar, tfrecord, "
                          "text, synthetic and mixture");
  if (dataset.has_idx()) {
    checker.IsPath(at + ".idx.images", dataset.idx().images());
    checker.IsPath(at + ".idx.labels", dataset.idx().labels());
  } else if (dataset.has_npy()) {
    CheckNpy(dataset.npy(), at + ".npy", checker);
  } else if (dataset.has_tokens()) {
    CheckTokens(dataset.tokens(), at + ".tokens", checker);
  } else if (dataset.has_tar()) {
    CheckShards(dataset.tar(), config, at + ".tar", checker);
  } else if (dataset.has_tfrecord()) {
    CheckShards(dataset.tfrecord(), config, at + ".tfrecord", checker);
  } else if (!dataset.text().empty()) {
    CheckText(dataset.text(), at + ".text", checker);
  } else if (dataset.has_synthetic()) {
    Check(ToSpec(dataset.synthetic()), at + ".synthetic", checker);
  } else if (!dataset.has_mixture()) {
    checker.IsPath(at + ".folder", dataset.folder());
  }
}

void CheckRange(const config::v1::Dataset& dataset, const std::string& at, Checker& checker) {
  if (dataset.range().empty()) return;
  if (const absl::Status wrong = ParseRange(dataset.range()).status(); !wrong.ok())
    checker.RefuseWith(at + ".range", wrong);
  if (dataset.has_mixture())
    checker.Refuse(at + ".range", Checker::Quoted(dataset.range()),
                   "no range for a mixture; set ranges for its parts instead");
}

// A part must be another dataset of this configuration, and must not be a mixture itself.
void CheckPart(const config::v1::MixturePart& part, const Config& config, const std::string& at,
               Checker& checker) {
  const auto& known = config.datasets();
  const auto found = std::find_if(known.begin(), known.end(), [&](const config::v1::Dataset& d) {
    return d.name() == part.dataset();
  });
  if (found == known.end())
    return checker.Refuse(at + ".dataset", Checker::Quoted(part.dataset()),
                          "the name of another dataset in this file");
  if (found->has_mixture() || found->has_synthetic())
    checker.Refuse(at + ".dataset", Checker::Quoted(part.dataset()),
                   "a dataset that is neither a mixture nor synthetic");
}

void CheckMixture(const config::v1::Mixture& mixture, const Config& config, const std::string& at,
                  Checker& checker) {
  checker.IsCount(at + ".epoch_samples", mixture.epoch_samples(), {0, plan::kMaxSamples});
  checker.IsCount(at + ".parts", static_cast<uint64_t>(mixture.parts_size()), {1, plan::kMaxParts});
  for (int i = 0; i < mixture.parts_size(); ++i)
    CheckPart(mixture.parts(i), config, absl::StrCat(at, ".parts[", i, "]"), checker);
  if (!checker.status().ok()) return;
  // The weights can be checked now. The parts' sizes are known only when they are opened.
  plan::MixtureSpec spec = ToMixture(mixture);
  spec.samples.assign(static_cast<size_t>(mixture.parts_size()), 1);
  spec.epoch_samples = 1;
  if (const absl::Status wrong = plan::Mixture::Make(spec).status(); !wrong.ok())
    checker.RefuseWith(at, wrong);
}

void CheckDatasets(const Config& config, Checker& checker) {
  if (config.datasets_size() > kMostDatasets)
    checker.Refuse("datasets", absl::StrCat(config.datasets_size()), "at most 10000");
  std::map<std::string, int> names;
  for (int i = 0; i < config.datasets_size(); ++i) {
    const config::v1::Dataset& dataset = config.datasets(i);
    const std::string at = absl::StrCat("datasets[", i, "]");
    checker.IsName(at + ".name", dataset.name());
    if (const auto [earlier, is_new] = names.emplace(dataset.name(), i); !is_new)
      checker.Refuse(at + ".name", Checker::Quoted(dataset.name()),
                     absl::StrCat("a unique name: datasets[", earlier->second, "] has the same"));
    CheckKind(dataset, config, at, checker);
    CheckRange(dataset, at, checker);
    if (dataset.has_mixture()) CheckMixture(dataset.mixture(), config, at + ".mixture", checker);
    for (int g = 0; g < dataset.groups_size(); ++g)
      checker.IsName(absl::StrCat(at, ".groups[", g, "]"), dataset.groups(g));
  }
}

}  // namespace

absl::Status CheckConfig(const Config& config, const ConfigLines& lines) {
  Checker checker(lines);
  Check(config.server(), checker);
  Check(config.pool(), checker);
  Check(config.gpu(), checker);
  Check(config.workers(), checker);
  Check(config.source(), checker);
  Check(config.decode(), checker);
  Check(config.cache(), checker);
  Check(config.limits(), checker);
  CheckStores(config.stores(), checker);
  CheckDatasets(config, checker);
  PENSTOCK_RETURN_IF_ERROR(checker.status());
  return CheckOperatorsPort(config.server(), lines);
}

}  // namespace penstock::app
