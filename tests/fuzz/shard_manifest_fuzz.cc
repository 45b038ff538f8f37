// Arbitrary bytes as an index of shards from the state directory. The first byte decides whether
// the header gets the right magic, version and checksum, because an attacker can compute those. If
// the manifest is accepted, every shard, sample and member can be queried.
#include <cstdint>
#include <cstring>
#include <span>

#include "common/base/check.h"
#include "server/source/files/checked_header.h"
#include "server/source/shards/shard_manifest.h"
#include "tests/fuzz/stored_bytes.h"

namespace source = penstock::source;

namespace {

void MakeSound(std::span<std::byte> bytes) {
  if (bytes.size() < sizeof(source::ShardManifestHeader)) return;
  source::ShardManifestHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::memcpy(header.magic, source::kShardMagic, sizeof(header.magic));
  header.version = source::kShardVersion;
  source::WriteChecked(header, bytes);
}

void Ask(const source::ShardManifest& manifest, uint64_t sample) {
  PENSTOCK_CHECK(manifest.ShardOf(sample) < manifest.shards().size());
  (void)manifest.sample(sample);
  if (manifest.header().members == 0) return;
  const auto members = manifest.MembersOf(sample);
  PENSTOCK_CHECK(!members.empty());
  for (const source::ShardMember& member : members)
    PENSTOCK_CHECK(member.extension < manifest.extensions().size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  auto mapping = penstock::testing::Stored({data + 1, size - 1});
  if (data[0] % 4 != 0) MakeSound(penstock::testing::Writable(mapping));
  const auto manifest = source::ShardManifest::FromMapping(std::move(mapping));
  if (!manifest.ok()) return 0;
  PENSTOCK_CHECK(manifest->States().size() == manifest->shards().size());
  for (size_t shard = 0; shard < manifest->shards().size(); ++shard)
    PENSTOCK_CHECK(manifest->PathOf(shard).size() <= size);
  for (size_t i = 0; i < manifest->extensions().size(); ++i)
    PENSTOCK_CHECK(manifest->ExtensionName(i).size() <= size);
  for (uint64_t sample = 0; sample < manifest->header().samples; ++sample) Ask(*manifest, sample);
  PENSTOCK_CHECK(manifest->LongestShard() <= manifest->header().samples);
  PENSTOCK_CHECK(manifest->Classes().size() <= 65536);
  return 0;
}
