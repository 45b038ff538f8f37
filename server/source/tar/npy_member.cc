#include "server/source/tar/npy_member.h"

#include <algorithm>
#include <limits>

#include "server/source/arrays/npy_format.h"

namespace penstock::source {
namespace {

constexpr uint64_t kUsualHeader = 512;  // most have 128 bytes

ArrayMember AsTensor(const NpyHeader& header, uint64_t member_bytes) {
  ArrayMember found = {.array = {.type = static_cast<uint32_t>(header.type)},
                       .header_bytes = static_cast<uint32_t>(header.header_bytes)};
  if (header.shape.size() > ArrayShape::kMostSides) return {};
  for (size_t i = 0; i < header.shape.size(); ++i) {
    if (header.shape[i] > std::numeric_limits<uint32_t>::max()) return {};
    found.array.sides[i] = static_cast<uint32_t>(header.shape[i]);
  }
  if (header.header_bytes + header.item_bytes * header.items() != member_bytes) return {};
  found.array.dimensions = static_cast<uint32_t>(header.shape.size());
  return found;
}

}  // namespace

absl::StatusOr<ArrayMember> ReadNpyMember(const TarMember& member, ShardWindow& window) {
  for (const uint64_t most : {kUsualHeader, uint64_t{kLongestNpyHeader}}) {
    PENSTOCK_ASSIGN_OR_RETURN(const auto begin,
                              window.Read(member.offset, std::min(member.bytes, most)));
    const auto header = ParseNpyHeader(begin, "a member", NoItems::kAllow);
    if (header.ok()) return AsTensor(*header, member.bytes);
    if (member.bytes <= most) break;
  }
  return ArrayMember{};
}

}  // namespace penstock::source
