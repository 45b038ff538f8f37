// The index that DALI's wds2idx makes beside a shard: "v1.2 SAMPLES", then one line a sample, for
// each of its members "EXTENSION OFFSET SIZE NAME". Pure: whether it is right, the shard says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/tar/tar_walk.h"

namespace penstock::source {

// Where wds2idx puts a shard's index: the name up to its first dot, with .idx.
std::string WdsIndexNameOf(absl::string_view shard);

// The members, in the order of the file: one behind the other, each within the shard, on whole
// blocks and with at least a header's room before it; a line's members of one sample, and no two
// lines that follow each other. InvalidArgument says which line is wrong, and how.
absl::StatusOr<std::vector<TarMember>> ParseWdsIndex(absl::string_view text, uint64_t shard_bytes,
                                                     const std::string& path);

}  // namespace penstock::source
