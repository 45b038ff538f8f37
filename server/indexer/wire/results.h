// Results of parsing, as streams of bytes. The Take functions believe no length: they refuse a
// result that is too large for a file of the given size, allocate memory only as bytes arrive, and
// ask for it first. checks.h then decides whether the numbers in a result are possible.
// **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/indexer/wire/answer_stream.h"
#include "server/source/parse/parsers.h"

namespace penstock::indexer {

inline constexpr uint32_t kMostTextBytes = 8 << 10;  // of a message or a name for display
inline constexpr uint64_t kMostNameBytes = uint64_t{64} << 20;  // of all extensions of a shard

// The status with which parsing ended; too long a message is cut. TakeOutcome sets `outcome` to the
// status that the indexer sent, and returns an error if it sent none.
absl::Status PutOutcome(AnswerSink& sink, const absl::Status& outcome);
absl::Status TakeOutcome(AnswerSource& source, absl::Status& outcome);

absl::Status PutText(AnswerSink& sink, absl::string_view text);
// Escaped for display.
absl::StatusOr<std::string> TakeText(AnswerSource& source);

// `file_bytes` bounds the counts of samples and members.
absl::Status PutScanned(AnswerSink& sink, const source::ScannedShard& scanned);
absl::StatusOr<source::ScannedShard> TakeScanned(AnswerSource& source, uint64_t file_bytes,
                                                 AnswerMemory& memory);

absl::Status PutNpy(AnswerSink& sink, const source::NpyHeader& header);
absl::StatusOr<source::NpyHeader> TakeNpy(AnswerSource& source);

absl::Status PutTokens(AnswerSink& sink, const source::FoundTokens& found);
absl::StatusOr<source::FoundTokens> TakeTokens(AnswerSource& source);

struct IdxAnswer {
  source::IdxHeader header = {};
  bool packed = false;
};
absl::Status PutIdx(AnswerSink& sink, const IdxAnswer& answer);
absl::StatusOr<IdxAnswer> TakeIdx(AnswerSource& source);

// The facts about the index. After them come its pieces in groups; an empty group is the last.
struct MegatronHead {
  uint32_t type = 0, reserved = 0;
  uint64_t hash = 0;
};
absl::Status PutPieces(AnswerSink& sink, std::span<const source::MegatronPiece> group);
absl::StatusOr<source::MegatronPieces> TakeMegatron(AnswerSource& source, uint64_t index_bytes,
                                                    AnswerMemory& memory);

}  // namespace penstock::indexer
