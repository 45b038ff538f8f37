// Parses in the calling thread. penstockd does not contain this, nor any of the parsers that it
// uses: they look into files that may be hostile, which is penstock-indexer's work.
// **Thread safety**: any thread.
#pragma once

#include <memory>

#include "server/source/parse/parsers.h"

namespace penstock::source {

std::shared_ptr<Parsers> DirectParsers();

// The pieces that a Megatron index describes, a few at a time, so that none of several hundred
// millions need be kept.
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
