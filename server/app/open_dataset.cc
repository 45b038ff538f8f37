#include "server/app/open_dataset.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/source/folder.h"
#include "server/source/idx_pair.h"
#include "server/source/roots.h"

namespace penstock::app {
namespace {

source::IdxOptions IdxOptionsOf(const NamedDataset& dataset, const OpeningOptions& options) {
  return {.files = *dataset.idx,
          .roots = options.roots,
          .max_unpacked_bytes = options.max_unpacked_bytes};
}

absl::StatusOr<OpenedDataset> OpenPhotographs(const NamedDataset& dataset,
                                              const OpeningOptions& options,
                                              const std::function<bool(uint64_t)>& seen) {
  source::FolderOptions folder;
  folder.path = dataset.path;
  folder.roots = options.roots;
  folder.state_dir = options.state_dir;
  folder.threads = static_cast<size_t>(options.index_threads);
  folder.progress = [&seen](const source::ScanProgress& progress) { return seen(progress.found); };
  PENSTOCK_ASSIGN_OR_RETURN(source::OpenedFolder opened, source::OpenFolder(folder));
  OpenedDataset result;
  PENSTOCK_ASSIGN_OR_RETURN(result.identity.key, source::RealPath(dataset.path));
  result.dataset = std::move(opened.dataset);
  result.from_cache = opened.from_cache;
  result.warning = std::move(opened.warning);
  return result;
}

}  // namespace

absl::StatusOr<NamedDataset> SyntheticNamed(const std::string& text) {
  PENSTOCK_ASSIGN_OR_RETURN(const source::SyntheticSpec spec, source::ParseSynthetic(text));
  return NamedDataset{
      .name = text, .path = source::ToString(spec), .groups = {}, .synthetic = spec};
}

absl::StatusOr<NamedDataset> Recognise(NamedDataset dataset, const OpeningOptions& options) {
  if (!dataset.by_path) return dataset;
  const std::vector<std::string> own = {dataset.path};
  const auto real =
      source::ResolveUnderRoots(dataset.path, options.roots.empty() ? own : options.roots);
  if (!real.ok()) return base::Annotate(real.status(), "opening a dataset");
  PENSTOCK_ASSIGN_OR_RETURN(dataset.idx, source::FindIdxPair(dataset.path));
  dataset.by_path = false;
  return dataset;
}

absl::StatusOr<std::optional<DatasetIdentity>> QuickIdentity(const NamedDataset& dataset,
                                                             const OpeningOptions& options) {
  if (dataset.synthetic) return DatasetIdentity{.key = dataset.path};
  if (!dataset.idx) return std::nullopt;
  DatasetIdentity identity;
  PENSTOCK_ASSIGN_OR_RETURN(identity.stamp, source::IdxStamp(IdxOptionsOf(dataset, options)));
  PENSTOCK_ASSIGN_OR_RETURN(const std::string images, source::RealPath(dataset.idx->images));
  PENSTOCK_ASSIGN_OR_RETURN(const std::string labels, source::RealPath(dataset.idx->labels));
  identity.key = absl::StrCat(images, " ", labels);
  return identity;
}

absl::StatusOr<OpenedDataset> OpenDataset(const NamedDataset& dataset,
                                          const OpeningOptions& options,
                                          const std::function<bool(uint64_t)>& seen) {
  // Before it is opened: what changes meanwhile is noticed the next time.
  PENSTOCK_ASSIGN_OR_RETURN(const std::optional<DatasetIdentity> identity,
                            QuickIdentity(dataset, options));
  if (!identity) return OpenPhotographs(dataset, options, seen);
  OpenedDataset result;
  result.identity = *identity;
  if (dataset.synthetic) {
    result.dataset = source::MakeSynthetic(*dataset.synthetic);
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(result.dataset, source::OpenIdx(IdxOptionsOf(dataset, options)));
  }
  return result;
}

}  // namespace penstock::app
