// Opens and maps the files of a dataset of tokens, and finds their formats and the positions of
// their windows.
// **Thread safety**: one thread opens them; any thread copies from them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/dtype.h"
#include "common/base/status.h"
#include "server/source/arrays/token_windows.h"
#include "server/source/arrays/tokens_spec.h"
#include "server/source/core/remote_ranges.h"
#include "server/source/files/mapped_file.h"
#include "server/source/parse/parsers.h"

namespace penstock::source {

struct TokenFile {
  std::unique_ptr<const MappedFile> mapped = {};    // null: it is in an object store
  std::unique_ptr<const RemoteRanges> remote = {};  // null: it is not
  uint64_t offset = 0, bytes = 0;                   // offset and size of its tokens
  uint64_t index_hash = 0;  // for a Megatron pair; of a remote file, its version

  std::string path() const { return mapped != nullptr ? mapped->path() : remote->path(); }
  bool changed() const { return mapped != nullptr ? mapped->changed() : remote->changed(); }
  // Fills `into` from an offset in the file. **Errors**: those of MappedFile and RemoteRanges.
  absl::Status Read(uint64_t offset_in_file, std::span<std::byte> into) const {
    return mapped != nullptr ? mapped->Read(offset_in_file, into)
                             : remote->ReadOnce(offset_in_file, into);
  }
};

struct TokenFiles {
  std::vector<TokenFile> files;
  base::DType type = base::DType::kUInt16;
  TokenWindows windows;
};

// **Requires**: `spec` is valid.
// **Errors**: InvalidArgument if a file doesn't match its format, has a different token type than
// the others, or is too short for one window; those of FileFinder. Messages name the file, the
// offset, what was expected and found.
absl::StatusOr<TokenFiles> OpenTokenFiles(const TokensSpec& spec, FileFinder& finder,
                                          Parsers& parsers);

// Identifies the files, including indexes, and their states. Reads none of them.
absl::StatusOr<FilesStamp> TokensStamp(const TokensSpec& spec, FileFinder& finder);

}  // namespace penstock::source
