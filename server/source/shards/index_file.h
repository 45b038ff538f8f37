// The index of one shard in a file of its own, which lies beside the shard in an object store:
// SHARD.idx (kIndexFileSuffix). It holds what a scan of the shard found, so that nobody else needs
// to scan it.
//
// An index is believed only for the very shard that it was made of: it names the shard's size, and
// the versions in which a store may have it (its ETags). It holds no path. Little-endian, as all
// stored indexes (../files/checked_header.h).
//
// Pure. `WriteIndexFile` belongs to the daemon, `ReadIndexFile` to the parsers, because the file
// may be hostile (../parse/parsers.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/shards/shard_manifest_builder.h"

namespace penstock::source {

inline constexpr size_t kMostIndexVersions = 64;
inline constexpr size_t kLongestIndexText = 8 << 10;  // of a version, of the roles

enum class IndexedKind : uint32_t { kTar = 1, kRecords = 2 };

// What an index is about, apart from the version.
struct IndexTopic {
  IndexedKind kind = IndexedKind::kTar;
  // Which members or features are image and label. Another choice finds other things.
  std::string roles = {};
  uint64_t shard_bytes = 0;
};

// The roles of these names in a ShardsSpec, as a text.
std::string ToTarRoles(absl::string_view image, absl::string_view label);
std::string ToRecordRoles(absl::string_view image, absl::string_view label);

// The largest file that is taken for the index of a shard of that size.
uint64_t MostIndexFileBytes(uint64_t shard_bytes);

// `path`: of the shard, as `scanned` has it in its example. **Requires**: there is a version, there
// are at most kMostIndexVersions, and none is longer than kLongestIndexText.
std::string WriteIndexFile(const ScannedShard& scanned, const IndexTopic& topic,
                           std::span<const std::string> versions, absl::string_view path);

// A shard's version, and its path for messages and for the example.
struct IndexedShard {
  std::string version;
  std::string path;
};

// What a scan of that version of the shard would find, without its state. Believes no count, but
// does not check that what is found can be in the shard (server/indexer/wire/checks.h).
// **Errors**: DataLoss: damaged, or no index; FailedPrecondition: of another version of the format
// or of the shard, or of other roles. All say what is wrong, and none names the file.
absl::StatusOr<ScannedShard> ReadIndexFile(std::span<const std::byte> file, const IndexTopic& topic,
                                           const IndexedShard& shard);

// The file's beginning. After it come, without gaps: as many uint32 as there are versions, with
// their lengths; extensions (IndexFileExtension), samples (ShardSample), members (ShardMember),
// arrays (ArrayShape), the numbers of members' arrays (uint32); and the texts: the roles, the
// example behind the shard's path, the versions, the names of the extensions.
struct IndexFileHeader {
  char magic[8] = {};
  uint32_t version = 0;
  uint32_t kind = 0;  // IndexedKind
  uint64_t shard_bytes = 0;
  uint64_t samples = 0, members = 0, extensions = 0, arrays = 0;
  uint64_t numbered = 0;  // `members`, or 0 if no member is an array
  uint64_t images = 0, labeled = 0, digest = 0;
  uint32_t versions = 0;
  uint32_t roles_bytes = 0, example_bytes = 0;
  uint32_t reserved = 0;    // zero
  uint64_t text_bytes = 0;  // of all texts
  uint64_t checksum = 0;    // of the whole file, this field zero
};
static_assert(sizeof(IndexFileHeader) == 120);

struct IndexFileExtension {
  uint32_t kind = 0, array = 0;
  uint64_t first_sample = 0, samples = 0, least = 0, most = 0;
  uint64_t name_bytes = 0;
};
static_assert(sizeof(IndexFileExtension) == 48);

inline constexpr char kIndexFileMagic[8] = {'P', 'S', 'T', 'K', 'S', 'I', 'D', 'X'};
inline constexpr uint32_t kIndexFileVersion = 1;

}  // namespace penstock::source
