// The digest of every byte of a dataset, in an order that a copy of the dataset shares. A
// fingerprint distinguishes datasets by names, sizes and labels (for arrays, by all bytes or a
// selection of them). This digest distinguishes datasets that differ in any byte.
//
// It is the SHA-256 of "penstock content 1", the kind, the manifest's digest (names, sizes, labels,
// shapes), the number of pieces, and the SHA-256 of each piece. A piece is a file with its relative
// path, label and size, or 64 MiB of a file that holds many samples.
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

// Returns 64 hexadecimal digits. Reads the whole dataset on the threads of `parallel_for`; this can
// take hours.
// **Errors**: Cancelled if `parallel_for.watch` returned false; DataLoss if a file has changed
// since it was indexed; read errors.
absl::StatusOr<std::string> ContentDigest(const Dataset& dataset, const ParallelFor& parallel_for);

// Number of pieces in that many bytes.
uint64_t PiecesOf(uint64_t bytes);
// Adds piece number `piece` of `bytes` bytes to `sum`. Gets the content from read(offset, into).
absl::Status AddPiece(uint64_t bytes, uint64_t piece,
                      const std::function<absl::Status(uint64_t, std::span<std::byte>)>& read,
                      Sha256& sum);

}  // namespace penstock::source
