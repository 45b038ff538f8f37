// NumPy's arrays as members of tar shards: one array is a sample's tensor, whole. Any thread.
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

// What an array is, and the header that said so: most arrays of a kind have the same.
struct NpyMember {
  std::string header;
  base::DType type = base::DType::kUInt8;
  std::vector<uint32_t> shape;
};

// Whether members of this extension are arrays: npy, or anything that ends in .npy.
bool IsNpyExtension(absl::string_view extension);

// What the member is. Nothing: no array, or one that cannot be a tensor. Errors: TarSample::Read's.
absl::StatusOr<std::optional<NpyMember>> ReadNpyMember(const TarSample& sample,
                                                       const ShardMember& member);

// Reads the elements of an array that is to be as `wanted`; kMalformed: it is not.
absl::StatusOr<base::Fault> FillNpy(const TarSample& sample, const ShardMember& member,
                                    const NpyMember& wanted, std::span<std::byte> into);

}  // namespace penstock::source
