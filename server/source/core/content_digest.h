// The full digest of a dataset's content: of every byte, in an order that a copy has, too. A
// fingerprint tells datasets apart by names, sizes, labels and, of arrays, by bytes or samples of
// them; this tells apart whatever differs.
//
// SHA-256 over: "penstock content 1", the kind, the manifest's digest (names, sizes, labels,
// shapes), the number of pieces, and each piece's own SHA-256. A piece is a file with its relative
// path, label and size, or 64 MiB of one that holds many samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "common/base/status.h"
#include "server/source/core/dataset.h"
#include "server/source/files/parallel_for.h"
#include "server/source/files/sha256.h"

namespace penstock::source {

// 64 hexadecimal digits. Reads everything, on the parallel-for's threads, and may take hours.
// Cancelled when the parallel-for's watch said so; DataLoss where a file is not the one that was
// indexed; a read's error.
absl::StatusOr<std::string> ContentDigest(const Dataset& dataset, const ParallelFor& parallel_for);

// How many pieces so many bytes are.
uint64_t PiecesOf(uint64_t bytes);
// Adds piece `piece` of them, which `read` brings: read(offset, into).
absl::Status AddPiece(uint64_t bytes, uint64_t piece,
                      const std::function<absl::Status(uint64_t, std::span<std::byte>)>& read,
                      Sha256& sum);

}  // namespace penstock::source
