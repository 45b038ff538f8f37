// The daemon's configuration: parses YAML into penstock.config.v1.Config, fills in defaults and
// validates it. config.proto describes each field.
// **Thread safety**: any thread.
// **Errors**: InvalidArgument with one line: "file:line: key: got …, wanted …".
#pragma once

#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/machine.h"
#include "penstock/config/v1/config.pb.h"
#include "server/app/config/config_lines.h"
#include "server/plan/mixture.h"
#include "server/source/annotated/annotated_spec.h"
#include "server/source/arrays/npy_spec.h"
#include "server/source/arrays/tokens_spec.h"
#include "server/source/cifar/cifar_spec.h"
#include "server/source/core/synthetic.h"
#include "server/source/lists/list_spec.h"
#include "server/source/lists/named_folder.h"
#include "server/source/shards/shards.h"

namespace penstock::app {

// Every field at the default that config.proto states.
config::v1::Config DefaultConfig();

// A configuration, and where its file sets each value; no lines for a private daemon.
struct ConfigFile {
  config::v1::Config config;
  ConfigLines lines = ConfigLines();
};

absl::StatusOr<ConfigFile> LoadConfig(const std::string& path);
absl::StatusOr<ConfigFile> ParseConfigFile(const std::string& text, const std::string& filename);
// The same without the lines.
absl::StatusOr<config::v1::Config> ParseConfig(const std::string& text,
                                               const std::string& filename);

// The configuration of a private daemon: the socket penstock.sock and the folder `state` in
// `directory`; any path that the user may read; at most a quarter of the available memory; workers
// by demand, at first on a quarter of the cores; exits after 10 s without use. **Requires**:
// `directory` is absolute.
absl::StatusOr<config::v1::Config> PrivateConfig(const std::string& directory,
                                                 const posix::Machine& machine);

// The same for this machine and its environment: PENSTOCK_RETRY_FOR is source.retry_for. An empty
// directory stands for $XDG_RUNTIME_DIR/penstock or, without that variable, /tmp/penstock-$UID.
absl::StatusOr<config::v1::Config> PrivateConfig(const std::string& directory);

// The configured number of workers, or, if that is 0, a number derived from the machine.
uint32_t WorkerCount(const config::v1::Config& config, const posix::Machine& machine);

// The maximum number of workers under `workers.auto`.
uint32_t MostWorkers(const config::v1::Config& config, const posix::Machine& machine);

// The configured number of row copiers, or, if that is 0, a number derived from the machine.
uint32_t RowCopierCount(const config::v1::Config& config, const posix::Machine& machine);

// Fields that are not set have their defaults.
source::SyntheticSpec ToSpec(const config::v1::Synthetic& synthetic);
source::NpySpec ToSpec(const config::v1::Npy& npy);
// **Errors**: InvalidArgument for an unknown type or format.
absl::StatusOr<source::TokensSpec> ToSpec(const config::v1::Tokens& tokens);
source::ShardsSpec ToSpec(const config::v1::Tar& tar);
source::ShardsSpec ToSpec(const config::v1::TfRecord& records);

// The weights by epoch, and the samples per epoch (0: the sum of all parts). Doesn't include the
// parts' samples.
plan::MixtureSpec ToMixture(const config::v1::Mixture& mixture);

// How long the daemon stays without sessions and connections; 0: for ever.
base::Duration IdleLimit(const config::v1::Config& config);

}  // namespace penstock::app
