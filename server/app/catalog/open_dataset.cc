#include "server/app/catalog/open_dataset.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/hash.h"
#include "server/app/catalog/open_url.h"
#include "server/source/annotated/annotated.h"
#include "server/source/arrays/idx_pair.h"
#include "server/source/arrays/npy.h"
#include "server/source/arrays/tokens.h"
#include "server/source/cifar/cifar.h"
#include "server/source/files/braces.h"
#include "server/source/files/listing.h"
#include "server/source/files/remote_file.h"
#include "server/source/files/roots.h"
#include "server/source/images/folder.h"
#include "server/source/lists/list.h"
#include "server/source/tar/tar.h"
#include "server/source/tfrecord/tfrecord.h"

namespace penstock::app {
namespace {

source::IdxOptions ToIdxOptions(const NamedDataset& dataset, const OpeningOptions& options) {
  return {.files = *dataset.idx,
          .roots = options.roots,
          .max_unpacked_bytes = options.max_unpacked_bytes};
}

source::CifarOptions ToCifarOptions(const NamedDataset& dataset, const OpeningOptions& options) {
  return {.spec = *dataset.cifar, .roots = options.roots};
}

source::NpyOptions ToNpyOptions(const NamedDataset& dataset, const OpeningOptions& options) {
  return {.spec = *dataset.npy, .roots = options.roots, .remote = options.remote};
}

source::TokensOptions ToTokensOptions(const NamedDataset& dataset, const OpeningOptions& options) {
  return {.spec = *dataset.tokens, .roots = options.roots, .remote = options.remote};
}

// The parsers are used only until this returns.
absl::StatusOr<std::unique_ptr<source::Dataset>> OpenRows(
    const NamedDataset& dataset, const OpeningOptions& options,
    const std::function<bool(uint64_t)>& seen) {
  if (dataset.synthetic) return source::MakeSynthetic(*dataset.synthetic);
  if (dataset.python) return source::MakePython(*dataset.python);
  const auto parsers = options.new_parsers([&seen] { return !seen(0); });
  if (dataset.cifar) return source::OpenCifar(ToCifarOptions(dataset, options), *parsers);
  if (dataset.idx) return source::OpenIdx(ToIdxOptions(dataset, options), *parsers);
  if (dataset.npy) return source::OpenNpy(ToNpyOptions(dataset, options), *parsers);
  return source::OpenTokens(ToTokensOptions(dataset, options), *parsers);
}

absl::StatusOr<OpenedDataset> OpenPhotographs(const NamedDataset& dataset,
                                              const OpeningOptions& options,
                                              const std::function<bool(uint64_t)>& seen) {
  if (source::IsRemotePath(dataset.path)) return OpenFolderUrl(dataset, options, seen);
  source::FolderOptions folder;
  folder.path = dataset.path;
  folder.roots = options.roots;
  folder.state_dir = options.state_dir;
  folder.access = options.access;
  folder.look_for = options.look_for;
  folder.threads = static_cast<size_t>(options.index_threads);
  folder.progress = [&seen](const source::ScanProgress& progress) { return seen(progress.found); };
  PENSTOCK_ASSIGN_OR_RETURN(source::OpenedFolder opened, source::OpenFolder(folder));
  OpenedDataset result;
  PENSTOCK_ASSIGN_OR_RETURN(result.identity.key, KeyOfFiles(dataset));
  result.identity.stamp = std::move(opened.identity);
  result.all_examined = opened.all_examined;
  result.dataset = std::move(opened.dataset);
  result.from_cache = opened.from_cache;
  result.warning = std::move(opened.warning);
  return result;
}

absl::StatusOr<OpenedDataset> OpenListed(const NamedDataset& dataset, const OpeningOptions& options,
                                         const std::function<bool(uint64_t)>& seen) {
  source::ListOptions list = {.spec = *dataset.list,
                              .roots = options.roots,
                              .threads = static_cast<size_t>(options.index_threads),
                              .progress = seen};
  const auto parsers = options.new_parsers([&seen] { return !seen(0); });
  PENSTOCK_ASSIGN_OR_RETURN(source::OpenedList opened, source::OpenList(list, *parsers));
  OpenedDataset result;
  PENSTOCK_ASSIGN_OR_RETURN(result.identity.key, KeyOfFiles(dataset));
  result.identity.stamp = std::move(opened.identity);
  result.dataset = std::move(opened.dataset);
  result.warning = std::move(opened.warning);
  return result;
}

absl::StatusOr<OpenedDataset> OpenNamed(const NamedDataset& dataset, const OpeningOptions& options,
                                        const std::function<bool(uint64_t)>& seen) {
  PENSTOCK_ASSIGN_OR_RETURN(
      source::OpenedNamedFolder opened,
      source::OpenNamedFolder({.spec = *dataset.named_folder,
                               .roots = options.roots,
                               .threads = static_cast<size_t>(options.index_threads),
                               .progress = seen}));
  OpenedDataset result;
  PENSTOCK_ASSIGN_OR_RETURN(result.identity.key, KeyOfFiles(dataset));
  result.identity.stamp = std::move(opened.identity);
  result.dataset = std::move(opened.dataset);
  return result;
}

absl::StatusOr<OpenedDataset> OpenWithAnnotations(const NamedDataset& dataset,
                                                  const OpeningOptions& options,
                                                  const std::function<bool(uint64_t)>& seen) {
  const source::AnnotatedOptions annotated = {.spec = *dataset.annotated,
                                              .roots = options.roots,
                                              .threads = static_cast<size_t>(options.index_threads),
                                              .progress = seen};
  const auto parsers = options.new_parsers([&seen] { return !seen(0); });
  PENSTOCK_ASSIGN_OR_RETURN(source::OpenedAnnotated opened,
                            source::OpenAnnotated(annotated, *parsers));
  OpenedDataset result;
  PENSTOCK_ASSIGN_OR_RETURN(result.identity.key, KeyOfFiles(dataset));
  result.identity.stamp = std::move(opened.identity);
  result.dataset = std::move(opened.dataset);
  result.warning = std::move(opened.warning);
  return result;
}

// Those that index what is remote mostly wait for answers.
size_t IndexThreads(const source::ShardsSpec& spec, const OpeningOptions& options) {
  const auto threads = static_cast<size_t>(options.index_threads);
  const bool is_remote = !spec.shards.empty() && source::IsRemotePath(spec.shards.front());
  return is_remote ? std::max(threads, kRemoteIndexThreads) : threads;
}

absl::StatusOr<OpenedDataset> OpenShards(const NamedDataset& dataset, const OpeningOptions& options,
                                         const std::function<bool(uint64_t)>& seen) {
  source::ShardOptions shards = ToShardOptions(dataset, options);
  shards.progress = seen;
  const auto parsers = options.new_parsers({});  // a scan has a watch; names are read later, too
  PENSTOCK_ASSIGN_OR_RETURN(
      source::OpenedShards opened,
      dataset.tar ? source::OpenTar(shards, parsers) : source::OpenRecords(shards, parsers));
  OpenedDataset result;
  result.dataset = std::move(opened.dataset);
  result.from_cache = opened.from_cache;
  result.warning = std::move(opened.warning);
  return result;
}

// The options, as text. Different options make a different dataset of the same files.
std::string NpyWords(const source::NpySpec& spec) {
  const auto name_of = [](std::string* out, const source::NpyArray& array) {
    absl::StrAppend(out, array.name, ",");
  };
  return absl::StrJoin(spec.arrays, "", name_of);
}

std::string TokensWords(source::TokensSpec spec) {
  for (std::string& file : spec.files) file.clear();
  return source::ToString(spec);
}

// Where YOLO's labels are may follow from the path by which the images are named.
absl::StatusOr<std::string> KeyOfAnnotated(source::AnnotatedSpec spec) {
  const std::string named = source::ToString(spec);
  for (std::string* const path : source::PathsOf(spec)) {
    PENSTOCK_ASSIGN_OR_RETURN(*path, source::RealPath(*path));
  }
  const auto* const yolo = std::get_if<source::YoloSpec>(&spec);
  const bool follows = yolo != nullptr && yolo->labels.empty();
  return absl::StrCat(source::ToString(spec), follows ? " " : "", follows ? named : "");
}

DatasetIdentity MakeIdentity(const std::string& words, const source::FilesStamp& files) {
  return {.key = absl::StrCat(files.paths, words.empty() ? "" : " ", words),
          .stamp = absl::StrCat(files.stamp, " ", words),
          .changed_ns = files.changed_ns};
}

}  // namespace

source::ShardOptions ToShardOptions(const NamedDataset& dataset, const OpeningOptions& options) {
  const source::ShardsSpec& spec = dataset.tar ? *dataset.tar : *dataset.tfrecord;
  return {.spec = spec,
          .roots = options.roots,
          .state_dir = options.state_dir,
          .access = options.access,
          .threads = IndexThreads(spec, options),
          .remote = options.remote};
}

std::string PathOf(const source::ShardsSpec& spec) {
  return absl::StrCat(absl::StrJoin(spec.shards, ", "),
                      spec.image.empty() ? "" : absl::StrCat(" image=", spec.image),
                      spec.label.empty() ? "" : absl::StrCat(" label=", spec.label));
}

absl::StatusOr<NamedDataset> SyntheticNamed(const std::string& text) {
  PENSTOCK_ASSIGN_OR_RETURN(const source::SyntheticSpec spec, source::ParseSynthetic(text));
  return NamedDataset{
      .name = text, .path = source::ToString(spec), .groups = {}, .synthetic = spec};
}

absl::StatusOr<NamedDataset> PythonNamed(const std::string& text) {
  PENSTOCK_ASSIGN_OR_RETURN(const source::PythonSpec spec, source::ParsePython(text));
  return NamedDataset{.name = text, .path = source::ToString(spec), .groups = {}, .python = spec};
}

bool NamesFiles(const std::string& text) {
  return source::IsNpyText(text) || source::IsTokens(text) || source::IsListText(text) ||
         source::IsNamedFolderText(text) || source::IsCifarText(text) ||
         source::IsAnnotatedText(text);
}

absl::StatusOr<NamedDataset> FilesNamed(const std::string& text) {
  NamedDataset dataset{.name = text, .path = text, .groups = {}};
  if (source::IsNpyText(text)) {
    PENSTOCK_ASSIGN_OR_RETURN(dataset.npy, source::ParseNpyText(text));
    dataset.path = source::ToString(*dataset.npy);
  } else if (source::IsCifarText(text)) {
    PENSTOCK_ASSIGN_OR_RETURN(dataset.cifar, source::ParseCifarText(text));
    dataset.path = source::ToString(*dataset.cifar);
  } else if (source::IsListText(text)) {
    PENSTOCK_ASSIGN_OR_RETURN(dataset.list, source::ParseListText(text));
    dataset.path = source::ToString(*dataset.list);
  } else if (source::IsNamedFolderText(text)) {
    PENSTOCK_ASSIGN_OR_RETURN(dataset.named_folder, source::ParseNamedFolderText(text));
    dataset.path = source::ToString(*dataset.named_folder);
  } else if (source::IsAnnotatedText(text)) {
    PENSTOCK_ASSIGN_OR_RETURN(dataset.annotated, source::ParseAnnotatedText(text));
    dataset.path = source::ToString(*dataset.annotated);
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(dataset.tokens, source::ParseTokens(text));
    dataset.path = source::ToString(*dataset.tokens);
  }
  return dataset;
}

absl::StatusOr<NamedDataset> Recognise(NamedDataset dataset, const OpeningOptions& options) {
  if (!dataset.by_path) return dataset;
  if (source::IsRemotePath(dataset.path)) return RecogniseUrl(std::move(dataset), options);
  if (source::HasBraces(dataset.path) && source::IsTarPath(dataset.path)) {
    // Paths in the specification are checked when they are opened.
    (source::IsRecordsPath(dataset.path) ? dataset.tfrecord
                                         : dataset.tar) = {.shards = {dataset.path}};
    dataset.by_path = false;
    return dataset;
  }
  const std::vector<std::string> own = {dataset.path};
  const auto real =
      source::ResolveUnderRoots(dataset.path, options.roots.empty() ? own : options.roots);
  if (!real.ok()) return base::Annotate(real.status(), "opening a dataset");
  if (absl::EndsWith(*real, ".npy")) {
    dataset.npy = {.arrays = {{.name = "", .file = dataset.path}}};
  } else if (source::IsTarPath(dataset.path)) {
    dataset.tar = {.shards = {dataset.path}};
  } else if (source::IsRecordsPath(dataset.path)) {
    dataset.tfrecord = {.shards = {dataset.path}};
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(dataset.idx, source::FindIdxPair(dataset.path));
  }
  dataset.by_path = false;
  return dataset;
}

absl::StatusOr<std::optional<DatasetIdentity>> QuickIdentity(const NamedDataset& dataset,
                                                             const OpeningOptions& options) {
  if (dataset.synthetic || dataset.python) return DatasetIdentity{.key = dataset.path};
  if (dataset.npy) {
    PENSTOCK_ASSIGN_OR_RETURN(source::FilesStamp files,
                              source::NpyStamp(ToNpyOptions(dataset, options)));
    return MakeIdentity(NpyWords(*dataset.npy), files);
  }
  if (dataset.cifar) {
    PENSTOCK_ASSIGN_OR_RETURN(source::FilesStamp files,
                              source::CifarStamp(ToCifarOptions(dataset, options)));
    source::CifarSpec options_only = *dataset.cifar;
    options_only.folder.clear();
    return MakeIdentity(ToString(options_only), files);
  }
  if (dataset.tokens) {
    PENSTOCK_ASSIGN_OR_RETURN(source::FilesStamp files,
                              source::TokensStamp(ToTokensOptions(dataset, options)));
    return MakeIdentity(TokensWords(*dataset.tokens), files);
  }
  if (dataset.tar || dataset.tfrecord) {
    const absl::string_view suffix = dataset.tar ? source::kTarSuffix : source::kRecordsSuffix;
    PENSTOCK_ASSIGN_OR_RETURN(source::ShardsIdentity shards,
                              source::IdentityOfShards(ToShardOptions(dataset, options), suffix));
    return DatasetIdentity{.key = std::move(shards.key),
                           .stamp = std::move(shards.files.stamp),
                           .changed_ns = shards.files.changed_ns};
  }
  if (!dataset.idx) return std::nullopt;  // a folder, a list or annotated images
  PENSTOCK_ASSIGN_OR_RETURN(source::FilesStamp files,
                            source::IdxStamp(ToIdxOptions(dataset, options)));
  return MakeIdentity("", files);
}

absl::StatusOr<std::string> KeyOfFiles(const NamedDataset& dataset) {
  if (dataset.list) {
    source::ListSpec spec = *dataset.list;
    PENSTOCK_ASSIGN_OR_RETURN(spec.file, source::RealPath(spec.file));
    if (!spec.root.empty()) {
      PENSTOCK_ASSIGN_OR_RETURN(spec.root, source::RealPath(spec.root));
    }
    return ToString(spec);
  }
  if (dataset.annotated) return KeyOfAnnotated(*dataset.annotated);
  if (!dataset.named_folder && source::IsRemotePath(dataset.path)) return dataset.path;
  if (!dataset.named_folder) return source::RealPath(dataset.path);
  source::NamedFolderSpec spec = *dataset.named_folder;
  PENSTOCK_ASSIGN_OR_RETURN(spec.folder, source::RealPath(spec.folder));
  return ToString(spec);
}

// The identity from before the files were read is valid only if it is the same afterwards, and no
// change within the same clock tick of the file system can have gone unnoticed.
absl::StatusOr<OpenedDataset> OpenDataset(const NamedDataset& dataset,
                                          const OpeningOptions& options,
                                          const std::function<bool(uint64_t)>& seen) {
  PENSTOCK_ASSIGN_OR_RETURN(std::optional<DatasetIdentity> identity,
                            QuickIdentity(dataset, options));
  if (dataset.list) return OpenListed(dataset, options, seen);
  if (dataset.named_folder) return OpenNamed(dataset, options, seen);
  if (dataset.annotated) return OpenWithAnnotations(dataset, options, seen);
  if (!identity) return OpenPhotographs(dataset, options, seen);
  if (source::WaitForTick(identity->changed_ns) == source::Waited::kYes) {
    PENSTOCK_ASSIGN_OR_RETURN(identity, QuickIdentity(dataset, options));
  }
  OpenedDataset result;
  if (dataset.tar || dataset.tfrecord) {
    PENSTOCK_ASSIGN_OR_RETURN(result, OpenShards(dataset, options, seen));
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(result.dataset, OpenRows(dataset, options, seen));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::optional<DatasetIdentity> now,
                            QuickIdentity(dataset, options));
  if (now->stamp != identity->stamp)
    return absl::AbortedError(absl::StrCat(
        "'", dataset.path, "' changed while it was opened; open it again when it is complete"));
  result.identity = *std::move(identity);
  return result;
}

// For folders, whose stamp is empty, uses each sample's stamp.
uint64_t FilesOf(const OpenedDataset& opened) {
  const source::Storage storage = opened.dataset->storage();
  const bool has_files = storage != source::Storage::kNothing && storage != source::Storage::kMade;
  if (opened.files != 0 || !has_files) return opened.files;
  base::Hasher hash;
  hash.Add(opened.identity.stamp);
  if (opened.identity.stamp.empty())
    for (uint64_t i = 0; i < opened.dataset->samples(); ++i) hash.Add(opened.dataset->stamp(i));
  return std::max<uint64_t>(hash.Digest(), 1);
}

}  // namespace penstock::app
