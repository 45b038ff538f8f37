// Arbitrary bytes as the index beside a shard in a store. The first byte decides whether the header
// gets the right magic, version and checksum, because whoever may write to the store can compute
// those. If the daemon's checks accept what is read, a manifest is built of it.
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "common/base/check.h"
#include "server/indexer/wire/checks.h"
#include "server/source/files/checked_header.h"
#include "server/source/shards/index_file.h"

namespace source = penstock::source;

namespace {

void Forge(std::span<std::byte> bytes) {
  if (bytes.size() < sizeof(source::IndexFileHeader)) return;
  source::IndexFileHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::memcpy(header.magic, source::kIndexFileMagic, sizeof(header.magic));
  header.version = source::kIndexFileVersion;
  source::WriteChecked(header, bytes);
}

// The size that the file speaks of, so that it gets further.
uint64_t ShardBytes(std::span<const std::byte> bytes) {
  source::IndexFileHeader header;
  if (bytes.size() < sizeof(header)) return 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header.shard_bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto given = std::as_bytes(std::span(data + 1, size - 1));
  std::vector<std::byte> bytes(given.begin(), given.end());
  if (data[0] % 4 != 0) Forge(bytes);
  const bool is_tar = data[0] % 2 != 0;
  const source::IndexTopic topic = {
      .kind = is_tar ? source::IndexedKind::kTar : source::IndexedKind::kRecords,
      .roles = is_tar ? source::ToTarRoles("", "") : source::ToRecordRoles("", "none"),
      .shard_bytes = ShardBytes(bytes)};
  auto read = source::ReadIndexFile(bytes, topic, {.version = "etag", .path = "s3://b/x"});
  if (!read.ok()) return 0;
  PENSTOCK_CHECK(read->samples.size() * sizeof(source::ShardSample) <= size);
  if (!penstock::indexer::CheckIndexed(*read, topic).ok()) return 0;
  const auto manifest =
      source::BuildShardManifest({.identity = 1, .paths = {"x"}, .shards = {*std::move(read)}});
  if (!manifest.ok()) return 0;
  for (uint64_t sample = 0; sample < manifest->header().samples; ++sample)
    PENSTOCK_CHECK(manifest->ShardOf(sample) == 0);
  return 0;
}
