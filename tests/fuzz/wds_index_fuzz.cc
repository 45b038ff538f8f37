// Arbitrary text as DALI's index of a shard, after four bytes with the shard's size.
#include <cstdint>
#include <cstring>

#include "common/base/check.h"
#include "server/source/tar/wds_index.h"

using namespace penstock::source;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint32_t shard_bytes = 0;
  if (size < sizeof shard_bytes) return 0;
  std::memcpy(&shard_bytes, data, sizeof shard_bytes);
  const absl::string_view text(reinterpret_cast<const char*>(data) + sizeof shard_bytes,
                               size - sizeof shard_bytes);
  const auto members = ParseWdsIndex(text, shard_bytes, "x.idx");
  if (!members.ok()) return 0;
  uint64_t end = 0;
  for (const TarMember& member : *members) {
    PENSTOCK_CHECK(member.offset % kTarBlock == 0 && member.offset >= end + kTarBlock);
    PENSTOCK_CHECK(member.bytes <= shard_bytes && member.offset <= shard_bytes - member.bytes);
    end = TarDataEnd(member.offset, member.bytes);
  }
  return 0;
}
