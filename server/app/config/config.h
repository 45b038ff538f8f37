// The daemon's configuration: YAML into penstock.config.v1.Config, checked, with defaults filled
// in. config.proto says what each field means. Errors are InvalidArgument, one line: "file:line:
// key: what was got, what was wanted". Any thread.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/machine.h"
#include "penstock/config/v1/config.pb.h"
#include "server/plan/mixture.h"
#include "server/source/arrays/npy_spec.h"
#include "server/source/arrays/tokens_spec.h"
#include "server/source/core/synthetic.h"
#include "server/source/shards/shards.h"

namespace penstock::app {

// Every field at the default that config.proto names.
config::v1::Config DefaultConfig();

absl::StatusOr<config::v1::Config> LoadConfig(const std::string& path);
absl::StatusOr<config::v1::Config> ParseConfig(const std::string& text,
                                               const std::string& filename);

// A private daemon's: the socket penstock.sock and the folder `state` in `directory`, which is
// absolute; any path that the user may read; at most a quarter of the memory that is left; half the
// cores, at least one; gone after 10 s alone.
absl::StatusOr<config::v1::Config> PrivateConfig(const std::string& directory,
                                                 const posix::Machine& machine);

// The same on this machine. An empty directory: $XDG_RUNTIME_DIR/penstock, else /tmp/penstock-$UID.
absl::StatusOr<config::v1::Config> PrivateConfig(const std::string& directory);

// How many workers: the number configured, or by the machine where that is 0.
uint32_t WorkerCount(const config::v1::Config& config, const posix::Machine& machine);

// The most that `workers.auto` makes of them.
uint32_t MostWorkers(const config::v1::Config& config, const posix::Machine& machine);

// How many row copiers: the number configured, or by the machine where that is 0.
uint32_t RowCopierCount(const config::v1::Config& config, const posix::Machine& machine);

// What is left out has its default.
source::SyntheticSpec SpecOf(const config::v1::Synthetic& synthetic);
source::NpySpec SpecOf(const config::v1::Npy& npy);
// InvalidArgument: a word that is no type or no format.
absl::StatusOr<source::TokensSpec> SpecOf(const config::v1::Tokens& tokens);
source::ShardsSpec SpecOf(const config::v1::Tar& tar);
source::ShardsSpec SpecOf(const config::v1::TfRecord& records);

// The weights by epoch, and an epoch's samples (0: as many as all parts have); not the parts'
// samples.
plan::MixtureSpec MixtureOf(const config::v1::Mixture& mixture);

// After how long alone the daemon ends; 0: never.
base::Duration IdleLimit(const config::v1::Config& config);

}  // namespace penstock::app
