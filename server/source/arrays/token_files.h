// The files of a dataset of tokens, opened and mapped: which format each has, and where its windows
// lie. One thread opens them; any thread copies from them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/dtype.h"
#include "common/base/status.h"
#include "server/source/arrays/token_windows.h"
#include "server/source/arrays/tokens_spec.h"
#include "server/source/files/mapped_file.h"

namespace penstock::source {

struct TokenFile {
  std::unique_ptr<const MappedFile> mapped;
  uint64_t offset = 0, bytes = 0;  // of its tokens
  uint64_t index_hash = 0;         // of a Megatron pair's index
};

struct TokenFiles {
  std::vector<TokenFile> files;
  base::DType type = base::DType::kUInt16;
  TokenWindows windows;
};

// `spec` is valid. InvalidArgument: a file is not what its format wants, or has other tokens than
// the others, or too few for one window; FileFinder's errors. Each names file, byte, wanted and
// got.
absl::StatusOr<TokenFiles> OpenTokenFiles(const TokensSpec& spec, FileFinder& finder);

// A number that changes when one of the files does, indexes among them. Reads none of them.
absl::StatusOr<FilesStamp> TokensStamp(const TokensSpec& spec, FileFinder& finder);

}  // namespace penstock::source
