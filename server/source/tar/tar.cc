#include "server/source/tar/tar.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "common/base/check.h"
#include "server/source/files/braces.h"
#include "server/source/files/escape.h"
#include "server/source/shards/shard_dataset.h"
#include "server/source/shards/shard_index.h"
#include "server/source/shards/shard_list.h"
#include "server/source/tar/tar_sample.h"
#include "server/source/tar/wds_index_name.h"
#include "server/source/tar/wds_samples.h"

namespace penstock::source {
namespace {

bool HasImage(const ShardManifest& manifest, uint64_t sample) {
  return manifest.extensions()[manifest.MembersOf(sample).front().extension].kind == kWdsImage;
}

class TarDataset final : public ShardDataset<TarState> {
 public:
  explicit TarDataset(std::shared_ptr<const TarState> state) : ShardDataset(std::move(state)) {}

  absl::string_view kind() const override { return "tar"; }
  std::string FindPath(uint64_t sample) const override { return state().FindDisplayPath(sample); }
  std::optional<Extent> extent(uint64_t sample) const override {
    const ShardMember& image = state().manifest.MembersOf(sample).front();
    if (!HasImage(state().manifest, sample) || image.bytes == UINT32_MAX) return std::nullopt;
    return Extent{state().files.path(state().manifest.ShardOf(sample)),
                  uint64_t{image.block} * kTarBlock, image.bytes};
  }
  absl::StatusOr<Selection> Select(std::span<const FieldRequest> requests) const override {
    PENSTOCK_ASSIGN_OR_RETURN(Selection selection, Dataset::Select(requests));
    if (storage() == Storage::kEncoded || !selection.fields.empty()) return selection;
    const auto name_of = [](std::string* out, const TarField& field) {
      out->append(field.field.name);
    };
    return absl::InvalidArgumentError(
        absl::StrCat("the samples have no image (jpg, jpeg, png or webp) and no fixed-size field; "
                     "request some of "
                     "their members, each with its maximum length; available: ",
                     absl::StrJoin(state().fields, ", ", name_of)));
  }

  std::unique_ptr<Reader> NewReader() const override {
    PENSTOCK_CHECK(storage() == Storage::kEncoded);
    return MakeTarReader(shared_state());
  }

  absl::Status CopyRows(const Selection& selection, std::span<const uint64_t> samples,
                        std::span<std::byte* const> blocks) const override {
    for (size_t row = 0; row < samples.size(); ++row) {
      PENSTOCK_ASSIGN_OR_RETURN(const TarSample sample, TarSample::Open(state(), samples[row]));
      PENSTOCK_RETURN_IF_ERROR(CopyRow(selection, sample, samples[row], row, blocks));
      PENSTOCK_RETURN_IF_ERROR(sample.CheckUnchanged());
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CopyRow(const Selection& selection, const TarSample& from, uint64_t sample,
                       size_t row, std::span<std::byte* const> blocks) const {
    for (size_t i = 0; i < selection.fields.size(); ++i) {
      const Tensor& tensor = selection.layout.tensors[i];
      const TarField& field = state().fields[selection.fields[i]];
      TarSample::FieldRows rows = {.values = blocks[tensor.block] + row * tensor.bytes()};
      if (tensor.lengths_block) rows.length = blocks[*tensor.lengths_block] + row * sizeof(int32_t);
      PENSTOCK_ASSIGN_OR_RETURN(const base::Fault fault, from.Fill(field, tensor, rows));
      if (fault != base::Fault::kNone)
        return absl::DataLossError(absl::StrCat("'", FindPath(sample), "': '", field.field.name,
                                                "': ", base::FaultName(fault),
                                                "; repair the sample, or request other members"));
    }
    return absl::OkStatus();
  }
};

absl::Status CheckImage(const ShardManifest& manifest, const std::string& asked) {
  if (asked.empty() || manifest.header().images > 0) return absl::OkStatus();
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min<size_t>(manifest.extensions().size(), 10); ++i)
    names.push_back(EscapeForDisplay(std::string(manifest.ExtensionName(i))));
  return absl::NotFoundError(absl::StrCat("no sample in '", EscapeForDisplay(manifest.PathOf(0)),
                                          "' has the image '", asked,
                                          "' that was requested; they "
                                          "have ",
                                          absl::StrJoin(names, ", ")));
}

// Image formats that the decoder does not support.
bool IsNeverDecoded(absl::string_view extension) {
  constexpr absl::string_view kKinds[] = {"avif", "dng", "exr", "heic", "heif", "j2c", "j2k", "jp2",
                                          "jpc",  "jpf", "jpx", "jxl",  "psd",  "svg", "tga"};
  return std::find(std::begin(kKinds), std::end(kKinds), absl::AsciiStrToLower(extension)) !=
         std::end(kKinds);
}

// Refuses the dataset here, because otherwise every sample would fail and be replaced.
absl::Status CheckKind(const TarState& state, const std::string& asked) {
  if (asked.empty() || !IsNeverDecoded(asked)) return absl::OkStatus();
  const ShardManifest& manifest = state.manifest;
  uint64_t example = 0;
  while (example + 1 < manifest.header().samples && !HasImage(manifest, example)) ++example;
  return absl::InvalidArgumentError(
      absl::StrCat(manifest.header().images, " samples have the image '", asked,
                   "' that was requested, as '", state.FindDisplayPath(example), ".", asked,
                   "' does: a format that Penstock does not decode; convert them, or request the "
                   "field's bytes"));
}

// Scans a shard, with the index beside it if there is one.
absl::StatusOr<ScannedShard> ScanBesideIndex(const ForeignFile& file, const TreeFile& shard,
                                             const TarWanted& wanted, const ScanWatch& watch,
                                             Parsers& parsers) {
  if (shard.remote != nullptr) return parsers.ScanTar(file, nullptr, wanted, watch);
  const TreeFile beside{shard.tree, WdsIndexNameOf(shard.name)};
  if (beside.name == shard.name) return parsers.ScanTar(file, nullptr, wanted, watch);
  const absl::StatusOr<posix::Fd> opened = beside.Open();
  if (!opened.ok()) return parsers.ScanTar(file, nullptr, wanted, watch);
  PENSTOCK_ASSIGN_OR_RETURN(const FileState state, beside.StateOf(*opened));
  const ForeignFile index = {.fd = *opened, .path = beside.path(), .bytes = state.bytes};
  return parsers.ScanTar(file, &index, wanted, watch);
}

}  // namespace

ShardIndexer MakeTarIndexer(const ShardsSpec& spec, Parsers& parsers) {
  const TarWanted wanted = {.image = spec.image, .label = spec.label};
  return {.scan =
              [wanted, &parsers](const ForeignFile& file, const TreeFile& shard,
                                 const ScanWatch& watch) {
                return ScanBesideIndex(file, shard, wanted, watch, parsers);
              },
          .beside = {.kind = IndexedKind::kTar,
                     .roles = ToTarRoles(spec.image, spec.label),
                     .parsers = &parsers}};
}

absl::StatusOr<OpenedShards> OpenTar(const ShardOptions& options,
                                     const std::shared_ptr<Parsers>& parsers) {
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<TreeFile> files, ListFiles(options, kTarSuffix));
  PENSTOCK_ASSIGN_OR_RETURN(IndexedShards indexed,
                            IndexShards(files, ShardsNumber(files, options.spec, kTarSuffix),
                                        options, MakeTarIndexer(options.spec, *parsers)));
  PENSTOCK_RETURN_IF_ERROR(CheckImage(indexed.manifest, options.spec.image));
  auto state =
      std::make_shared<const TarState>(std::move(files), std::move(indexed.manifest), parsers);
  PENSTOCK_RETURN_IF_ERROR(CheckKind(*state, options.spec.image));
  return OpenedShards{std::make_unique<TarDataset>(std::move(state)), indexed.from_cache,
                      std::move(indexed.warning)};
}

bool IsTarPath(const std::string& path) {
  std::error_code ignored;
  if (IsRemotePath(path)) return absl::EndsWith(absl::AsciiStrToLower(path), kTarSuffix);
  if (HasBraces(path) && !std::filesystem::exists(path, ignored)) return true;
  if (std::filesystem::is_directory(path, ignored)) return !NamesEndingIn(path, kTarSuffix).empty();
  const std::string name = absl::AsciiStrToLower(path.substr(path.rfind('/') + 1));
  return absl::EndsWith(name, kTarSuffix) || absl::StrContains(name, ".tar.") ||
         absl::EndsWith(name, ".tgz");
}

}  // namespace penstock::source
