// Finds the samples of one tar shard: by the index that lies beside it, where that is there and
// right, else from header to header. Reads headers and labels, and nothing else. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/base/status.h"
#include "server/source/files/tree_file.h"
#include "server/source/shards/shard_manifest_builder.h"
#include "server/source/tar/wds_samples.h"

namespace penstock::source {

// Adds to `found` each sample as it goes. InvalidArgument: what is no tar, compressed, truncated,
// or holds what cannot be used, with the place in it; Aborted: it changed meanwhile; what reading
// it gives. An index that is not right is a warning of the shard.
absl::StatusOr<ScannedShard> ScanTarShard(const TreeFile& shard, const WdsRoles& roles,
                                          std::atomic<uint64_t>& found);

// The key of the sample whose first member in the shard has its data at `offset`, reading from
// `from` on, which is a header's place before it. For people: control characters are escaped.
absl::StatusOr<std::string> ReadKey(const posix::Fd& shard, const std::string& path,
                                    uint64_t shard_bytes, uint64_t from, uint64_t offset);

}  // namespace penstock::source
