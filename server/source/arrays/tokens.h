// The `tokens` source: windows over files of tokens, as language models read them. A sample's row
// has `length` + 1 tokens; `tokens` and `targets` are two views of it, one token apart. Files are
// mapped, and bytes are copied once, from the page cache into the slot.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/arrays/tokens_spec.h"
#include "server/source/core/dataset.h"
#include "server/source/files/tree.h"
#include "server/source/files/tree_file.h"
#include "server/source/parse/parsers.h"

namespace penstock::source {

struct TokensOptions {
  TokensSpec spec;
  // Nothing outside of these is read; empty: the files' own folders.
  std::vector<std::string> roots = {};
  Tree::Confinement confinement = Tree::Confinement::kKernel;
  RemoteFiles* remote = nullptr;  // finds URLs; null: they are refused
};

// Opens the files.
// **Errors**: those of Validate and OpenTokenFiles; DataLoss if the first or last sample has a
// token outside of the vocabulary. CopyRows returns DataLoss, with file, byte and token, for other
// such tokens.
absl::StatusOr<std::unique_ptr<Dataset>> OpenTokens(const TokensOptions& options, Parsers& parsers);

// Identifies the files and their states. Reads none of them.
absl::StatusOr<FilesStamp> TokensStamp(const TokensOptions& options);

}  // namespace penstock::source
