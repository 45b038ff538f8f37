// NumPy arrays as members of tar shards: each array is a sample's whole tensor.
// **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/dtype.h"
#include "common/base/fault.h"
#include "common/base/status.h"
#include "server/source/shards/shard_manifest.h"

namespace penstock::source {

class TarSample;

// An array's type and shape, and the header that states them; most arrays of one kind have the same
// header.
struct NpyMember {
  std::string header;
  base::DType type = base::DType::kUInt8;
  std::vector<uint32_t> shape = {};
};

// Whether members with this extension are arrays: npy, or anything ending in .npy.
bool IsNpyExtension(absl::string_view extension);

// Reads the member's header. Nullopt if it is not an array, or not one that can be a tensor.
// **Errors**: those of TarSample::Read.
absl::StatusOr<std::optional<NpyMember>> ReadNpyMember(const TarSample& sample,
                                                       const ShardMember& member);

// Reads the elements of an array that must match `wanted`; kMalformed if it doesn't.
absl::StatusOr<base::Fault> FillNpy(const TarSample& sample, const ShardMember& member,
                                    const NpyMember& wanted, std::span<std::byte> into);

}  // namespace penstock::source
