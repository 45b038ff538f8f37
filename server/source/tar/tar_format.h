// Parses the tar format, one 512-byte block at a time: POSIX ustar (IEEE Std 1003.1, pax), its
// predecessors, and GNU tar's numbers.
// https://www.gnu.org/software/tar/manual/html_node/Standard.html
// Long names and extended headers, which span blocks, are handled in tar_walk.h. Pure.
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

// What a header describes.
enum class TarKind {
  kEnd,             // a block of zeros
  kFile,            // a regular file: its data belongs to a member. If its whole name, which may
                    // be in a note, ends in a slash, it is a folder (before POSIX)
  kLongName,        // GNU: its data is the next header's name
  kLongLink,        // GNU: its data is what the next header links to; may stand beside kLongName
  kExtended,        // pax: its data is records about the next member …
  kExtendedForAll,  // … or about all following members
  kLink,            // a symbolic or hard link, which has no data
  kPartial,         // a sparse file, or one that began in another volume
  kOther,           // folders, devices, labels: ignored, though they may have data
};

struct TarHeader {
  TarKind kind = TarKind::kEnd;
  std::string name;    // as written, not validated; cut off if a note has all of it
  uint64_t bytes = 0;  // size of the data that follows the header
};

// A position in a shard, for messages.
struct TarPlace {
  absl::string_view shard;
  uint64_t offset = 0;
};

// Returns InvalidArgument "'SHARD' at byte N: …".
template <typename... Words>
absl::Status Wrong(const TarPlace& place, const Words&... words) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", place.shard, "' at byte ", place.offset, ": ", words...));
}

// **Errors**: Wrong if the checksum does not match or the size is invalid.
absl::StatusOr<TarHeader> ParseTarHeader(std::span<const std::byte, kTarBlock> block,
                                         const TarPlace& place);

// The offset of the next header after `bytes` bytes of data at offset `data`, rounded up to whole
// blocks. **Requires**: `data + bytes` fits in 63 bits.
inline uint64_t TarDataEnd(uint64_t data, uint64_t bytes) {
  return data + (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
}

// The fields of a pax extended header that we use.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<uint64_t> bytes;
  bool is_sparse = false;
};

// If a key occurs twice, the later record wins. **Errors**: InvalidArgument if a record is not
// "LENGTH KEY=VALUE\n", or a size is not a number.
absl::StatusOr<PaxRecords> ParsePaxRecords(std::span<const std::byte> data, const TarPlace& place);

// Recognises "gzip", "zstd", … by a file's first bytes; empty if none is recognised.
absl::string_view CompressionOf(std::span<const std::byte> begin);

// Refuses member names that are absolute or contain `..`: unpacking such a shard would write
// elsewhere. **Errors**: InvalidArgument.
absl::Status CheckMemberName(const std::string& name, const TarPlace& place);

}  // namespace penstock::source
