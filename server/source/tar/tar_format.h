// The tar format, one block of 512 bytes at a time: POSIX ustar (IEEE Std 1003.1, pax), what came
// before it, and GNU tar's numbers. https://www.gnu.org/software/tar/manual/html_node/Standard.html
// Pure. What lies around a header (long names, extended headers) is tar_walk.h's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

inline constexpr uint64_t kTarBlock = 512;

// What a header is of.
enum class TarKind {
  kEnd,             // a block of zeros
  kFile,            // its data are a member's
  kLongName,        // GNU: its data are the next header's name
  kExtended,        // pax: its data are records about the next member …
  kExtendedForAll,  // … about all members behind it
  kLink,            // a symbolic or a hard one: it has no data
  kPartial,         // a sparse file, or one that began in another volume
  kOther,           // folders, devices, labels: of no interest, though it may have data
};

struct TarHeader {
  TarKind kind = TarKind::kEnd;
  std::string name;    // as it is written; not checked
  uint64_t bytes = 0;  // of the data behind the header
};

// Where bytes of a shard are, for messages.
struct TarPlace {
  absl::string_view shard;
  uint64_t offset = 0;
};

// InvalidArgument "'SHARD' at byte N: …".
template <typename... Words>
absl::Status Wrong(const TarPlace& place, const Words&... words) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", place.shard, "' at byte ", place.offset, ": ", words...));
}

// Wrong for a block whose checksum is wrong or whose size is none.
absl::StatusOr<TarHeader> ParseTarHeader(std::span<const std::byte, kTarBlock> block,
                                         const TarPlace& place);

// The place of the next header behind data that begin at `data`: rounded up to whole blocks.
// `data + bytes` fits 63 bits.
inline uint64_t TarDataEnd(uint64_t data, uint64_t bytes) {
  return data + (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
}

// What a pax extended header says that matters here.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<uint64_t> bytes;
  bool is_sparse = false;
};

// InvalidArgument where a record is not "LENGTH KEY=VALUE\n", or a size is no number. A later
// record of one key wins.
absl::StatusOr<PaxRecords> ParsePaxRecords(std::span<const std::byte> data, const TarPlace& place);

// "gzip", "zstd", …, by the first bytes of a file; empty: none that is known.
absl::string_view CompressionOf(std::span<const std::byte> begin);

// InvalidArgument where a member's name is absolute or has a `..`: whoever unpacks such a shard
// writes elsewhere.
absl::Status CheckMemberName(const std::string& name, const TarPlace& place);

}  // namespace penstock::source
