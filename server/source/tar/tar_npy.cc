#include "server/source/tar/tar_npy.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "server/source/arrays/npy_format.h"
#include "server/source/core/row_layout.h"
#include "server/source/tar/tar_sample.h"

namespace penstock::source {
namespace {

std::optional<NpyMember> AsTensor(const NpyHeader& header, uint64_t member_bytes) {
  if (header.shape.size() > kMaxDimensions) return std::nullopt;
  NpyMember member = {.header = {}, .type = header.type};
  for (const uint64_t side : header.shape) {
    if (side > UINT32_MAX) return std::nullopt;
    member.shape.push_back(static_cast<uint32_t>(side));
  }
  if (header.header_bytes + header.item_bytes * header.items() != member_bytes) return std::nullopt;
  return member;
}

}  // namespace

bool IsNpyExtension(absl::string_view extension) {
  return extension == "npy" || absl::EndsWith(extension, ".npy");
}

absl::StatusOr<std::optional<NpyMember>> ReadNpyMember(const TarSample& sample,
                                                       const ShardMember& member) {
  std::string begin(std::min<size_t>(member.bytes, kLongestNpyHeader), '\0');
  PENSTOCK_RETURN_IF_ERROR(sample.Read(member, 0, std::as_writable_bytes(std::span(begin))));
  const auto header = ParseNpyHeader(std::as_bytes(std::span(begin)), "a member");
  if (!header.ok()) return std::nullopt;
  std::optional<NpyMember> found = AsTensor(*header, member.bytes);
  if (found) found->header = begin.substr(0, header->header_bytes);
  return found;
}

absl::StatusOr<base::Fault> FillNpy(const TarSample& sample, const ShardMember& member,
                                    const NpyMember& wanted, std::span<std::byte> into) {
  uint64_t header_bytes = wanted.header.size();
  std::string begin(std::min<size_t>(header_bytes, member.bytes), '\0');
  PENSTOCK_RETURN_IF_ERROR(sample.Read(member, 0, std::as_writable_bytes(std::span(begin))));
  if (begin != wanted.header || member.bytes != header_bytes + into.size()) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::optional<NpyMember> found, ReadNpyMember(sample, member));
    if (!found || found->type != wanted.type || found->shape != wanted.shape)
      return base::Fault::kMalformed;
    header_bytes = found->header.size();
  }
  PENSTOCK_RETURN_IF_ERROR(sample.Read(member, header_bytes, into));
  return base::Fault::kNone;
}

}  // namespace penstock::source
