// Checks whether a file can contain what an indexer says it found. A wrong answer may falsify the
// data of its own dataset, as the file itself could. It must not make the daemon read, write or
// count beyond the file's end. Pure.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "server/indexer/wire/results.h"
#include "server/source/parse/parsers.h"

namespace penstock::indexer {

// **Errors** of all: Lie, with what is impossible.
absl::Status CheckTar(const source::ScannedShard& scanned, uint64_t file_bytes);
absl::Status CheckRecords(const source::ScannedShard& scanned, uint64_t file_bytes);
absl::Status CheckIndexed(const source::ScannedShard& scanned, const source::IndexTopic& topic);
absl::Status CheckNpy(const source::NpyHeader& header);
// `asked`: the format that was asked for, or kAuto.
absl::Status CheckTokens(const source::FoundTokens& found, source::TokenFormat asked,
                         uint64_t file_bytes);
absl::Status CheckMegatron(const source::MegatronPieces& pieces, uint64_t bin_bytes);
absl::Status CheckIdx(const IdxAnswer& answer, source::IdxRole role);

}  // namespace penstock::indexer
