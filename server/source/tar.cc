#include "server/source/tar.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "common/base/check.h"
#include "server/source/braces.h"
#include "server/source/for_people.h"
#include "server/source/hash.h"
#include "server/source/python_order.h"
#include "server/source/shard_list.h"
#include "server/source/tar_index.h"
#include "server/source/tar_sample.h"

namespace penstock::source {
namespace {

constexpr absl::string_view kSuffix = ".tar";
constexpr int32_t kMostClasses = 65536;

absl::StatusOr<std::vector<TreeFile>> List(const TarOptions& options) {
  return ListShards({.shards = options.shards.shards,
                     .suffix = kSuffix,
                     .roots = options.roots,
                     .confinement = options.confinement});
}

// The numbers 0 … the largest label; none where there are negative or very large ones.
std::vector<std::string> ClassesOf(const ShardManifest& manifest) {
  if (manifest.header().labeled == 0) return {};
  int32_t least = 0, most = 0;
  for (uint64_t i = 0; i < manifest.header().samples; ++i) {
    least = std::min(least, manifest.sample(i).label);
    most = std::max(most, manifest.sample(i).label);
  }
  std::vector<std::string> classes;
  if (least < 0 || most >= kMostClasses) return classes;
  for (int32_t label = 0; label <= most; ++label) classes.push_back(absl::StrCat(label));
  return classes;
}

class TarDataset final : public Dataset {
 public:
  explicit TarDataset(std::shared_ptr<const TarState> state)
      : state_(std::move(state)), classes_(ClassesOf(state_->manifest)) {}

  absl::string_view kind() const override { return "tar"; }
  uint64_t samples() const override { return header().samples; }
  uint64_t digest() const override { return header().digest; }
  const std::vector<std::string>& classes() const override { return classes_; }
  bool labeled() const override { return header().labeled != 0; }
  int64_t label(uint64_t sample) const override { return state_->manifest.sample(sample).label; }
  std::string path(uint64_t sample) const override { return state_->PathForPeople(sample); }
  // Of shards written alike the last one is shorter.
  uint64_t shard_samples() const override {
    const std::span<const ShardRecord> shards = state_->manifest.shards();
    uint64_t most = 0;
    for (size_t i = 0; i < shards.size(); ++i) {
      const uint64_t end = i + 1 < shards.size() ? shards[i + 1].first_sample : samples();
      most = std::max(most, end - shards[i].first_sample);
    }
    return most;
  }

  Storage storage() const override {
    return header().images > 0 ? Storage::kEncoded : Storage::kRows;
  }
  std::vector<Field> fields() const override {
    std::vector<Field> fields;
    for (const TarField& field : state_->fields) fields.push_back(field.field);
    return fields;
  }
  absl::StatusOr<Selection> Select(std::span<const Wish> wishes) const override {
    PENSTOCK_ASSIGN_OR_RETURN(Selection selection, Dataset::Select(wishes));
    if (storage() == Storage::kEncoded || !selection.fields.empty()) return selection;
    const auto name_of = [](std::string* out, const TarField& field) {
      out->append(field.field.name);
    };
    return absl::InvalidArgumentError(absl::StrCat(
        "the samples have no image (jpg, jpeg, png or webp) and nothing of one shape; say which of "
        "their members you want, and how long these are at most: ",
        absl::StrJoin(state_->fields, ", ", name_of)));
  }

  std::unique_ptr<Reader> NewReader() const override {
    PENSTOCK_CHECK(storage() == Storage::kEncoded);
    return MakeTarReader(state_);
  }

  absl::Status CopyRows(const Selection& selection, std::span<const uint64_t> samples,
                        std::span<std::byte* const> blocks) const override {
    for (size_t row = 0; row < samples.size(); ++row) {
      PENSTOCK_ASSIGN_OR_RETURN(const TarSample sample, TarSample::Open(*state_, samples[row]));
      PENSTOCK_RETURN_IF_ERROR(CopyRow(selection, sample, samples[row], row, blocks));
      PENSTOCK_RETURN_IF_ERROR(sample.CheckUnchanged());
    }
    return absl::OkStatus();
  }

 private:
  const ShardManifestHeader& header() const { return state_->manifest.header(); }

  absl::Status CopyRow(const Selection& selection, const TarSample& from, uint64_t sample,
                       size_t row, std::span<std::byte* const> blocks) const {
    for (size_t i = 0; i < selection.fields.size(); ++i) {
      const Tensor& tensor = selection.layout.tensors[i];
      const TarField& field = state_->fields[selection.fields[i]];
      TarSample::Rows rows = {.values = blocks[tensor.block] + row * tensor.bytes()};
      if (tensor.lengths_block) rows.length = blocks[*tensor.lengths_block] + row * sizeof(int32_t);
      PENSTOCK_ASSIGN_OR_RETURN(const base::Fault fault, from.Fill(field, tensor, rows));
      if (fault != base::Fault::kNone)
        return absl::DataLossError(absl::StrCat("'", path(sample), "': '", field.field.name,
                                                "': ", base::FaultName(fault),
                                                "; mend the sample, or ask for other members"));
    }
    return absl::OkStatus();
  }

  std::shared_ptr<const TarState> state_;  // with the readers, which may outlive the dataset
  const std::vector<std::string> classes_;
};

absl::Status CheckImage(const ShardManifest& manifest, const std::string& asked) {
  if (asked.empty() || manifest.header().images > 0) return absl::OkStatus();
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min<size_t>(manifest.extensions().size(), 10); ++i)
    names.push_back(ForPeople(std::string(manifest.ExtensionName(i))));
  return absl::NotFoundError(absl::StrCat("no sample in '", ForPeople(manifest.PathOf(0)),
                                          "' has the image '", asked,
                                          "' that was asked for; they "
                                          "have ",
                                          absl::StrJoin(names, ", ")));
}

}  // namespace

absl::StatusOr<OpenedTar> OpenTar(const TarOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<TreeFile> files, List(options));
  std::optional<ShardCache> cache;
  if (!options.state_dir.empty())
    cache.emplace(options.state_dir, TarIndexIdentity(files, options.shards));
  PENSTOCK_ASSIGN_OR_RETURN(IndexedTar indexed, IndexTar(files, cache, options));
  PENSTOCK_RETURN_IF_ERROR(CheckImage(indexed.manifest, options.shards.image));
  PENSTOCK_ASSIGN_OR_RETURN(auto state,
                            TarState::Make(std::move(files), std::move(indexed.manifest)));
  return OpenedTar{std::make_unique<TarDataset>(std::move(state)), indexed.from_cache,
                   std::move(indexed.warning)};
}

absl::StatusOr<TarIdentity> IdentityOfTar(const TarOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<TreeFile> files, List(options));
  std::vector<uint64_t> numbers;
  for (const TreeFile& file : files) {
    PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd opened, file.Open());
    PENSTOCK_ASSIGN_OR_RETURN(const FileIdentity identity, IdentityOf(opened, file.path()));
    for (const uint64_t number : {identity.device, identity.inode, identity.bytes,
                                  static_cast<uint64_t>(identity.mtime_ns)})
      numbers.push_back(number);
  }
  const uint64_t which = TarIndexIdentity(files, options.shards);
  const std::string others =
      files.size() == 1 ? "" : absl::StrCat(" and ", files.size() - 1, " more");
  return TarIdentity{
      .key = absl::StrCat(files.front().path(), others, " ", absl::Hex(which, absl::kZeroPad16)),
      .stamp = Hash(std::as_bytes(std::span(numbers)))};
}

bool IsTarPath(const std::string& path) {
  std::error_code ignored;
  if (HasBraces(path) && !std::filesystem::exists(path, ignored)) return true;
  if (std::filesystem::is_directory(path, ignored)) return !NamesEndingIn(path, kSuffix).empty();
  const std::string name = absl::AsciiStrToLower(path.substr(path.rfind('/') + 1));
  return absl::EndsWith(name, kSuffix) || absl::StrContains(name, ".tar.") ||
         absl::EndsWith(name, ".tgz");
}

}  // namespace penstock::source
