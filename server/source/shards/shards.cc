#include "server/source/shards/shards.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/hash.h"
#include "server/source/shards/shard_list.h"

namespace penstock::source {

absl::StatusOr<std::vector<TreeFile>> ListFiles(const ShardOptions& options,
                                                absl::string_view suffix) {
  return ListShards({.shards = options.spec.shards,
                     .suffix = suffix,
                     .roots = options.roots,
                     .confinement = options.confinement,
                     .remote = options.remote});
}

uint64_t ShardsNumber(const std::vector<TreeFile>& files, const ShardsSpec& spec,
                      absl::string_view suffix) {
  base::Hasher hasher;
  hasher.Add(suffix);
  hasher.Add(spec.image);
  hasher.Add(spec.label);
  for (const TreeFile& file : files) hasher.Add(file.path());
  return hasher.Digest();
}

absl::StatusOr<ShardsIdentity> IdentityOfShards(const ShardOptions& options,
                                                absl::string_view suffix) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<TreeFile> files, ListFiles(options, suffix));
  PENSTOCK_ASSIGN_OR_RETURN(FilesStamp stamp, StampFiles(files));
  const uint64_t which = ShardsNumber(files, options.spec, suffix);
  std::string key = absl::StrCat(stamp.paths, " ", absl::Hex(which, absl::kZeroPad16));
  return ShardsIdentity{.key = std::move(key), .files = std::move(stamp)};
}

}  // namespace penstock::source
