// NumPy arrays as members of tar shards: each array is a sample's whole tensor, or as much of it as
// the sample has.
// **Thread safety**: any thread.
#pragma once

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/shards/shard_manifest.h"
#include "server/source/shards/shard_window.h"
#include "server/source/tar/tar_walk.h"

namespace penstock::source {

// Whether members with this extension are arrays: npy, or anything ending in .npy.
inline bool IsNpyExtension(absl::string_view extension) {
  return extension == "npy" || absl::EndsWith(extension, ".npy");
}

struct ArrayMember {
  ArrayShape array;  // no dimensions: the member is not an array that can be a tensor
  // Before the elements, which are the rest of the member.
  uint32_t header_bytes = 0;
};

// Reads the member's header.
// **Errors**: those of ShardWindow::Read.
absl::StatusOr<ArrayMember> ReadNpyMember(const TarMember& member, ShardWindow& window);

}  // namespace penstock::source
