#include "server/source/tfrecord/tfrecord.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "common/base/digits.h"
#include "server/source/files/escape.h"
#include "server/source/shards/shard_dataset.h"
#include "server/source/shards/shard_index.h"
#include "server/source/shards/shard_list.h"
#include "server/source/tfrecord/tfrecord_sample.h"

namespace penstock::source {
namespace {

class RecordDataset final : public ShardDataset<RecordState> {
 public:
  explicit RecordDataset(std::shared_ptr<const RecordState> state)
      : ShardDataset(std::move(state)) {}

  absl::string_view kind() const override { return "tfrecord"; }
  bool packed() const override { return storage() == Storage::kRows; }
  uint64_t largest_sample() const override { return state().largest_record; }
  absl::StatusOr<Selection> Select(std::span<const FieldRequest> requests) const override {
    PENSTOCK_ASSIGN_OR_RETURN(Selection selection, Dataset::Select(requests));
    if (storage() == Storage::kEncoded || !selection.fields.empty()) return selection;
    return absl::InvalidArgumentError(absl::StrCat(
        "the samples have no image ('", EscapeForDisplay(state().roles.image),
        "') and no fixed-size feature; request some of their features, each with its maximum "
        "length: ",
        absl::StrJoin(state().fields, ", ", NameOf)));
  }

  std::unique_ptr<Reader> NewReader() const override { return MakeRecordReader(shared_state()); }

 private:
  static void NameOf(std::string* out, const RecordField& field) { out->append(field.field.name); }
};

absl::Status CheckRecordImage(const ShardManifest& manifest, const std::string& asked) {
  if (asked.empty() || manifest.header().images > 0) return absl::OkStatus();
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min<size_t>(manifest.extensions().size(), 10); ++i)
    names.push_back(EscapeForDisplay(std::string(manifest.ExtensionName(i))));
  return absl::NotFoundError(absl::StrCat(
      "no record in '", EscapeForDisplay(manifest.PathOf(0)), "' has the image '",
      EscapeForDisplay(asked), "' that was requested; they have ", absl::StrJoin(names, ", ")));
}

}  // namespace

ShardIndexer MakeRecordsIndexer(const ShardsSpec& spec, Parsers& parsers) {
  const RecordRoles roles = RecordRoles::Of(spec.image, spec.label);
  return {.scan = [roles, &parsers](
                      const ForeignFile& file, const TreeFile&,
                      const ScanWatch& watch) { return parsers.ScanRecords(file, roles, watch); },
          .beside = {.kind = IndexedKind::kRecords,
                     .roles = ToRecordRoles(spec.image, spec.label),
                     .parsers = &parsers}};
}

absl::StatusOr<OpenedShards> OpenRecords(const ShardOptions& options,
                                         const std::shared_ptr<Parsers>& parsers) {
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<TreeFile> files, ListFiles(options, kRecordsSuffix));
  RecordRoles roles = RecordRoles::Of(options.spec.image, options.spec.label);
  PENSTOCK_ASSIGN_OR_RETURN(IndexedShards indexed,
                            IndexShards(files, ShardsNumber(files, options.spec, kRecordsSuffix),
                                        options, MakeRecordsIndexer(options.spec, *parsers)));
  PENSTOCK_RETURN_IF_ERROR(CheckRecordImage(indexed.manifest, options.spec.image));
  auto state = std::make_shared<const RecordState>(std::move(files), std::move(indexed.manifest),
                                                   std::move(roles));
  return OpenedShards{std::make_unique<RecordDataset>(std::move(state)), indexed.from_cache,
                      std::move(indexed.warning)};
}

namespace {

// TensorFlow's naming of shards: train-00003-of-01024.
bool IsPartOfASet(absl::string_view path) {
  const size_t of = path.rfind("-of-");
  if (of == absl::string_view::npos) return false;
  const absl::string_view count = path.substr(of + 4);
  return base::IsDigits(count);
}

}  // namespace

bool IsRecordsPath(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return !NamesEndingIn(path, kRecordsSuffix).empty();
  return absl::EndsWith(path, kRecordsSuffix) || absl::EndsWith(path, ".tfrecords") ||
         IsPartOfASet(path);
}

}  // namespace penstock::source
