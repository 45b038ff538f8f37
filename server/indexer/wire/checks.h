// Whether what an indexer found in a file can be there. A wrong answer may make the data of its own
// dataset wrong, as the file itself could; it must not make the daemon read, write or count beyond
// what exists. Pure.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "server/indexer/wire/results.h"
#include "server/source/parse/parsers.h"

namespace penstock::indexer {

// **Errors** of all: Lie says what cannot be.
absl::Status CheckTar(const source::ScannedShard& scanned, uint64_t file_bytes);
absl::Status CheckRecords(const source::ScannedShard& scanned, uint64_t file_bytes);
absl::Status CheckNpy(const source::NpyHeader& header);
// `asked`: the format that was asked for, or kAuto.
absl::Status CheckTokens(const source::FoundTokens& found, source::TokenFormat asked,
                         uint64_t file_bytes);
absl::Status CheckMegatron(const source::MegatronPieces& pieces, uint64_t bin_bytes);
absl::Status CheckIdx(const IdxAnswer& answer, source::IdxRole role);

}  // namespace penstock::indexer
