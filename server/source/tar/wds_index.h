// The index that DALI's wds2idx creates beside a shard: "v1.2 SAMPLES", then one line per sample,
// with "EXTENSION OFFSET SIZE NAME" for each of its members. Pure; the caller compares the index
// with the shard.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/tar/tar_walk.h"

namespace penstock::source {

// Returns the members in file order. They must not overlap; each must lie within the shard, on
// whole blocks, with space for a header before it; the members of a line must form one sample, and
// consecutive lines different samples.
// **Errors**: InvalidArgument names the line and the problem.
absl::StatusOr<std::vector<TarMember>> ParseWdsIndex(absl::string_view text, uint64_t shard_bytes,
                                                     const std::string& path);

}  // namespace penstock::source
