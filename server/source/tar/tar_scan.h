// Finds the samples of one tar shard: from the index beside it if that is present and valid, else
// from header to header. Reads only headers and labels.
// **Thread safety**: any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/base/status.h"
#include "server/source/files/tree_file.h"
#include "server/source/shards/shard_manifest_builder.h"
#include "server/source/tar/wds_samples.h"

namespace penstock::source {

// Increments `found` for each sample. An invalid index only adds a warning to the result.
// **Errors**: InvalidArgument, with the offset, if the shard is not a tar file, is compressed or
// truncated, or contains something unusable; Aborted if it changed meanwhile; read errors.
absl::StatusOr<ScannedShard> ScanTarShard(const TreeFile& shard, const WdsRoles& roles,
                                          std::atomic<uint64_t>& found);

// Returns the key of the sample whose first member has its data at `offset`, with control
// characters escaped for display. Reads from `from`, the position of an earlier header.
absl::StatusOr<std::string> ReadKey(const posix::Fd& shard, const std::string& path,
                                    uint64_t shard_bytes, uint64_t from, uint64_t offset);

}  // namespace penstock::source
