// What the stored indexes of datasets have in common: a header with a magic number, a version and a
// checksum over the whole index, followed by sections whose sizes the header gives. The formats are
// ManifestHeader (../images/manifest.h) and ShardManifestHeader (../shards/shard_manifest.h).
// Little-endian. **Thread safety**: pure functions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/hash.h"

namespace penstock::source {

static_assert(std::endian::native == std::endian::little, "stored indexes are little-endian");

inline absl::Status DamagedIndex(absl::string_view why) {
  return absl::DataLossError(absl::StrCat("the manifest is damaged: ", why));
}

// Subtracts count × size from `left`; false if that would underflow.
inline bool TakeSection(uint64_t& left, uint64_t count, uint64_t size) {
  if (count > left / size) return false;
  left -= count * size;
  return true;
}

// Hashes the whole index, with the field `checksum` of its header as zero.
// **Requires**: the bytes begin with a Header.
template <typename Header>
uint64_t ChecksumUnder(std::span<const std::byte> index) {
  Header header;
  std::memcpy(&header, index.data(), sizeof header);
  header.checksum = 0;
  base::Hasher hasher;
  hasher.Add(base::Hash(std::as_bytes(std::span(&header, 1))));
  hasher.Add(base::Hash(index.subspan(sizeof header)));
  return hasher.Digest();
}

// Writes the header, with its checksum, in front of the sections that `index` already holds.
template <typename Header>
void WriteChecked(Header header, std::span<std::byte> index) {
  header.checksum = 0;
  std::memcpy(index.data(), &header, sizeof header);
  header.checksum = ChecksumUnder<Header>(index);
  std::memcpy(index.data(), &header, sizeof header);
}

// Reads the header and checks its magic number, version, sizes (`sizes_agree(header, bytes)`) and
// checksum, in this order. **Errors**: DataLoss says what is wrong; FailedPrecondition for another
// version.
template <typename Header, typename SizesAgree>
absl::StatusOr<Header> ReadChecked(std::span<const std::byte> index, const char (&magic)[8],
                                   uint32_t version, SizesAgree sizes_agree) {
  Header header;
  if (index.size() < sizeof header) return DamagedIndex("it ends within its header");
  std::memcpy(&header, index.data(), sizeof header);
  if (std::memcmp(header.magic, magic, sizeof magic) != 0)
    return DamagedIndex("it does not begin like a manifest");
  if (header.version != version)
    return absl::FailedPreconditionError(
        absl::StrCat("the manifest has version ", header.version, ", wanted ", version));
  if (!sizes_agree(header, index.size())) return DamagedIndex("its size differs from its header");
  if (header.checksum != ChecksumUnder<Header>(index)) return DamagedIndex("its checksum is wrong");
  return header;
}

}  // namespace penstock::source
