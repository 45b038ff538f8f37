#include "server/source/shards.h"

#include "absl/strings/str_cat.h"
#include "server/source/hash.h"
#include "server/source/shard_list.h"

namespace penstock::source {

absl::StatusOr<std::vector<TreeFile>> FilesOf(const ShardOptions& options,
                                              absl::string_view suffix) {
  return ListShards({.shards = options.spec.shards,
                     .suffix = suffix,
                     .roots = options.roots,
                     .confinement = options.confinement});
}

uint64_t ShardsNumber(const std::vector<TreeFile>& files, const ShardsSpec& spec,
                      absl::string_view suffix) {
  Hasher hasher;
  hasher.Add(suffix);
  hasher.Add(spec.image);
  hasher.Add(spec.label);
  for (const TreeFile& file : files) hasher.Add(file.path());
  return hasher.Digest();
}

absl::StatusOr<ShardsIdentity> IdentityOfShards(const ShardOptions& options,
                                                absl::string_view suffix) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<TreeFile> files, FilesOf(options, suffix));
  std::vector<uint64_t> numbers;
  for (const TreeFile& file : files) {
    PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd opened, file.Open());
    PENSTOCK_ASSIGN_OR_RETURN(const FileIdentity identity, IdentityOf(opened, file.path()));
    for (const uint64_t number : {identity.device, identity.inode, identity.bytes,
                                  static_cast<uint64_t>(identity.mtime_ns)})
      numbers.push_back(number);
  }
  const uint64_t which = ShardsNumber(files, options.spec, suffix);
  const std::string others =
      files.size() == 1 ? "" : absl::StrCat(" and ", files.size() - 1, " more");
  return ShardsIdentity{
      .key = absl::StrCat(files.front().path(), others, " ", absl::Hex(which, absl::kZeroPad16)),
      .stamp = Hash(std::as_bytes(std::span(numbers)))};
}

}  // namespace penstock::source
