// Arbitrary bytes as a tar shard, whose members are grouped into samples: the members lie within
// the shard and don't overlap.
#include <cstdint>
#include <span>

#include "common/base/check.h"
#include "server/source/tar/tar_walk.h"
#include "server/source/tar/wds_samples.h"

using namespace penstock::source;

namespace {

void CheckFound(const ScannedShard& found, uint64_t members) {
  PENSTOCK_CHECK(found.members.size() <= members);
  uint64_t next = 0;
  for (const ShardSample& sample : found.samples) {
    PENSTOCK_CHECK(sample.place >= next);
    PENSTOCK_CHECK(sample.place < found.members.size());
    next = sample.place + 1;
  }
  for (const ShardMember& member : found.members)
    PENSTOCK_CHECK(member.extension < found.extensions.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto shard = std::as_bytes(std::span(data, size));
  const WdsRoles roles = WdsRoles::Of("", "");
  TarWalk walk("x.tar", size);
  WdsSamples samples("x.tar", roles);
  uint64_t end = 0, members = 0;
  while (!walk.done()) {
    const TarWalk::ByteRange range = walk.wants();
    PENSTOCK_CHECK(range.bytes <= size && range.offset <= size - range.bytes);
    const auto member = walk.Take(shard.subspan(range.offset, range.bytes));
    if (!member.ok() || !*member) continue;
    const TarMember& found = **member;
    PENSTOCK_CHECK(found.offset >= end && found.bytes <= size - found.offset);
    end = found.offset + found.bytes;
    ++members;
    const auto added = samples.Add(found);
    if (!added.ok()) return 0;
    if (*added != WdsSamples::Added::kLabel) continue;
    const auto* label = reinterpret_cast<const char*>(data) + found.offset;
    if (!samples.SetLabel(found, {label, found.bytes}).ok()) return 0;
  }
  CheckFound(std::move(samples).Finish(), members);
  return 0;
}
