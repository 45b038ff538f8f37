// Datasets of every kind, as the configuration or a client names them, and how they are opened. Any
// thread; opening reads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/app/config/range_text.h"
#include "server/plan/mixture.h"
#include "server/source/arrays/idx.h"
#include "server/source/arrays/npy_spec.h"
#include "server/source/arrays/tokens_spec.h"
#include "server/source/core/dataset.h"
#include "server/source/core/synthetic.h"
#include "server/source/shards/shards.h"

namespace penstock::app {

// Datasets that are fed as one.
struct NamedMixture {
  std::vector<std::string> parts;  // their names
  plan::MixtureSpec plan;          // but the parts' samples; epoch_samples 0: as many as they have
};

struct NamedDataset {
  std::string name;
  // For people: a folder; of `idx` the images; of `tar` and `tfrecord` the shards; of `npy`,
  // `tokens` and `synthetic` their text.
  std::string path;
  std::vector<gid_t> groups;  // who may open it; empty: everyone
  // None of them: a folder of photographs.
  std::optional<source::IdxFiles> idx = {};
  std::optional<source::SyntheticSpec> synthetic = {};
  std::optional<source::NpySpec> npy = {};
  std::optional<source::TokensSpec> tokens = {};
  std::optional<source::ShardsSpec> tar = {};
  std::optional<source::ShardsSpec> tfrecord = {};
  // Only the path is known: what lies there says which kind it is.
  bool by_path = false;
  std::optional<RangeText> range = {};  // this part of it alone
  std::optional<NamedMixture> mixture = {};
};

// A synthetic dataset that is named by its text.
absl::StatusOr<NamedDataset> SyntheticNamed(const std::string& text);

// Whether it is a text that names files: of arrays, of tokens. And such a dataset.
bool NamesFiles(const std::string& text);
absl::StatusOr<NamedDataset> FilesNamed(const std::string& text);

// The shards for people, with what was asked of them.
std::string PathOf(const source::ShardsSpec& spec);

struct OpeningOptions {
  std::vector<std::string> roots;  // nothing outside of these is read
  std::string state_dir;           // where manifests are cached; empty: nowhere
  std::shared_ptr<source::StateAccess> access = {};
  int index_threads = 1;
  uint64_t max_unpacked_bytes = uint64_t{1} << 30;
  std::optional<base::Duration> look_for = {};  // FolderOptions'
};

// Which kind lies at a path. What is known already stays. Errors: ResolveUnderRoots',
// FindIdxPair's.
absl::StatusOr<NamedDataset> Recognise(NamedDataset dataset, const OpeningOptions& options);

// What tells whether an open dataset is the one that is asked for: `key` names it, whatever it is
// called; `stamp` says which files these are, in which state: equal for the very same files alone,
// never for two datasets that only look alike. Nothing for folders, whose manifest knows, and for
// mixtures, whose parts know.
struct DatasetIdentity {
  std::string key;
  std::string stamp;
  int64_t changed_ns = 0;  // when a file changed last; 0: not known
};
absl::StatusOr<std::optional<DatasetIdentity>> QuickIdentity(const NamedDataset& dataset,
                                                             const OpeningOptions& options);

struct OpenedDataset {
  std::unique_ptr<const source::Dataset> dataset;
  std::shared_ptr<const plan::Mixture> mixture = {};  // of a mixture; shared by its feeds
  DatasetIdentity identity;
  uint64_t files = 0;  // DatasetState's; 0: to be found from the rest (FilesOf)
  bool from_cache = false;
  std::string warning;
  bool all_examined = true;  // OpenedFolder's
};

// `seen` is told how many files were found so far; false cancels.
absl::StatusOr<OpenedDataset> OpenDataset(const NamedDataset& dataset,
                                          const OpeningOptions& options,
                                          const std::function<bool(uint64_t)>& seen);

// DatasetState's `files` of what was opened.
uint64_t FilesOf(const OpenedDataset& opened);

}  // namespace penstock::app
