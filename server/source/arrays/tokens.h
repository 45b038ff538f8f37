// The `tokens` source: windows over files of tokens, as language models read them. A sample's row
// is `length` tokens and one more; `tokens` and `targets` are two views of it, one token apart.
// Files are mapped; bytes go from the page cache into the slot once.
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

namespace penstock::source {

struct TokensOptions {
  TokensSpec spec;
  std::vector<std::string> roots = {};  // nothing outside is read; none: the files' own folders
  Tree::Confinement confinement = Tree::Confinement::kKernel;
};

// Errors: Validate's and OpenTokenFiles'; DataLoss: the first or the last sample has a token that
// is not of the vocabulary. What CopyRows finds beyond that is DataLoss, too, with file, byte and
// token.
absl::StatusOr<std::unique_ptr<Dataset>> OpenTokens(const TokensOptions& options);

// A number that changes when one of the files does. Reads none of them.
absl::StatusOr<FilesStamp> TokensStamp(const TokensOptions& options);

}  // namespace penstock::source
