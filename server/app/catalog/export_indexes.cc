#include "server/app/catalog/export_indexes.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/source/tar/tar.h"
#include "server/source/tfrecord/tfrecord.h"

namespace penstock::app {

absl::StatusOr<size_t> ExportIndexes(
    const NamedDataset& named, const OpeningOptions& options,
    const std::function<bool(uint64_t)>& watch,
    const std::function<absl::Status(source::ExportedIndex, size_t shards)>& take) {
  PENSTOCK_ASSIGN_OR_RETURN(const NamedDataset dataset, Recognise(named, options));
  if (!dataset.tar && !dataset.tfrecord)
    return absl::FailedPreconditionError(
        absl::StrCat("'", named.name, "' has no shards: only those of tar and TFRecord files have ",
                     "index files"));
  const source::ShardOptions shards = ToShardOptions(dataset, options);
  PENSTOCK_ASSIGN_OR_RETURN(
      const std::vector<source::TreeFile> files,
      source::ListFiles(shards, dataset.tar ? source::kTarSuffix : source::kRecordsSuffix));
  const auto parsers = options.new_parsers({});  // a scan has a watch
  const source::ShardIndexer indexer = dataset.tar
                                           ? source::MakeTarIndexer(shards.spec, *parsers)
                                           : source::MakeRecordsIndexer(shards.spec, *parsers);
  const source::IndexExport exported = {
      .threads = shards.threads, .watch = watch, .take = [&](source::ExportedIndex index) {
        return take(std::move(index), files.size());
      }};
  PENSTOCK_RETURN_IF_ERROR(source::ExportIndexFiles(files, indexer, exported));
  return files.size();
}

}  // namespace penstock::app
