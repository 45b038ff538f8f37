// Datasets of every kind, as named by the configuration or a client, and opening them.
// **Thread safety**: any thread. Opening reads files.
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
#include "server/source/annotated/annotated_spec.h"
#include "server/source/arrays/idx.h"
#include "server/source/arrays/npy_spec.h"
#include "server/source/arrays/tokens_spec.h"
#include "server/source/cifar/cifar_spec.h"
#include "server/source/core/dataset.h"
#include "server/source/core/synthetic.h"
#include "server/source/lists/list_spec.h"
#include "server/source/lists/named_folder.h"
#include "server/source/made/python_dataset.h"
#include "server/source/parse/parsers.h"
#include "server/source/shards/shards.h"

namespace penstock::app {

// Datasets that are combined into one.
struct NamedMixture {
  std::vector<std::string> parts;  // names of the parts
  plan::MixtureSpec plan;          // without the parts' sizes; epoch_samples 0: their sum
};

struct NamedDataset {
  std::string name;
  // For display: the folder; for `idx` the images; for `tar` and `tfrecord` the shards; for all
  // others their text form.
  std::string path;
  std::vector<gid_t> groups = {};  // who may open it; empty: everyone
  // If none of these is set: a folder of images.
  std::optional<source::IdxFiles> idx = {};
  std::optional<source::SyntheticSpec> synthetic = {};
  std::optional<source::PythonSpec> python = {};
  std::optional<source::NpySpec> npy = {};
  std::optional<source::TokensSpec> tokens = {};
  std::optional<source::CifarSpec> cifar = {};
  std::optional<source::ListSpec> list = {};
  std::optional<source::NamedFolderSpec> named_folder = {};
  std::optional<source::AnnotatedSpec> annotated = {};
  std::optional<source::ShardsSpec> tar = {};
  std::optional<source::ShardsSpec> tfrecord = {};
  // Only the path is known; the kind is recognised from its content.
  bool by_path = false;
  std::optional<RangeText> range = {};  // restricts it to these samples
  std::optional<NamedMixture> mixture = {};
};

// A synthetic dataset that is given by its text form.
absl::StatusOr<NamedDataset> SyntheticNamed(const std::string& text);

// A Python dataset that is given by its text form.
absl::StatusOr<NamedDataset> PythonNamed(const std::string& text);

// Whether the text names files, as those of arrays, tokens and lists do; and the dataset that it
// names.
bool NamesFiles(const std::string& text);
absl::StatusOr<NamedDataset> FilesNamed(const std::string& text);

// The shards and the options, for display.
std::string PathOf(const source::ShardsSpec& spec);

// Makes the parsers for one opening. `cancelled`: for calls that have no watch of their own; may be
// empty.
using NewParsers = std::function<std::shared_ptr<source::Parsers>(std::function<bool()> cancelled)>;

struct OpeningOptions {
  std::vector<std::string> roots;  // nothing outside of these is read
  std::string state_dir;           // where manifests are cached; empty: not cached
  std::shared_ptr<source::StateAccess> access = {};
  int index_threads = 1;
  uint64_t max_unpacked_bytes = uint64_t{1} << 30;
  std::optional<base::Duration> look_for = {};  // as in FolderOptions
  NewParsers new_parsers = {};                  // for each opening
  source::RemoteFiles* remote = nullptr;        // finds URLs; null: they are refused
};

// How its shards are opened. **Requires**: it is a tar or TFRecord dataset.
source::ShardOptions ToShardOptions(const NamedDataset& dataset, const OpeningOptions& options);

// Determines the kind of dataset at a path; keeps what is already known. **Errors**: those of
// ResolveUnderRoots and FindIdxPair.
absl::StatusOr<NamedDataset> Recognise(NamedDataset dataset, const OpeningOptions& options);

// Tells whether an open dataset is the requested one. `key` identifies the request; `stamp`
// identifies the files and their states, so two datasets that merely look alike differ. Empty for
// folders (see their manifest) and mixtures (see their parts).
struct DatasetIdentity {
  std::string key;
  std::string stamp = {};
  int64_t changed_ns = 0;  // the latest change of a file; 0: unknown
};
absl::StatusOr<std::optional<DatasetIdentity>> QuickIdentity(const NamedDataset& dataset,
                                                             const OpeningOptions& options);

// The key of a dataset that has no quick identity: folders, lists and annotated images. **Errors**:
// those of RealPath.
absl::StatusOr<std::string> KeyOfFiles(const NamedDataset& dataset);

struct OpenedDataset {
  std::unique_ptr<const source::Dataset> dataset;
  std::shared_ptr<const plan::Mixture> mixture = {};  // set for a mixture; shared by its feeds
  DatasetIdentity identity;
  uint64_t files = 0;  // as in DatasetState; 0: computed by FilesOf
  bool from_cache = false;
  std::string warning;
  bool all_examined = true;  // as in OpenedFolder
};

// `seen` gets the number of files found so far; false cancels.
absl::StatusOr<OpenedDataset> OpenDataset(const NamedDataset& dataset,
                                          const OpeningOptions& options,
                                          const std::function<bool(uint64_t)>& seen);

// DatasetState's `files` for an opened dataset.
uint64_t FilesOf(const OpenedDataset& opened);

}  // namespace penstock::app
