// Parses in the calling thread. penstockd contains neither this nor the parsers that it uses,
// because only penstock-indexer may parse files that can be hostile.
// **Thread safety**: any thread.
#pragma once

#include <memory>

#include "server/source/parse/parsers.h"

namespace penstock::source {

std::shared_ptr<Parsers> DirectParsers();

// Takes the pieces that a Megatron index describes, a few at a time. An index may describe several
// hundred million, too many to keep in memory.
using TakePieces = std::function<absl::Status(std::span<const MegatronPiece>)>;
struct MegatronFacts {
  base::DType type = base::DType::kUInt16;
  uint64_t hash = 0;
  uint64_t sequences = 0;
};
absl::Status ReadMegatronPieces(const ForeignFile& index, const ForeignFile& bin,
                                const std::function<absl::Status(const MegatronFacts&)>& begin,
                                const TakePieces& take);

}  // namespace penstock::source
