// Finds the samples of one tar shard: from the index beside it if that is present and valid, else
// from header to header. Reads only headers, labels and the headers of NumPy arrays.
// **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "server/source/parse/parsers.h"

namespace penstock::source {

// See Parsers::ScanTar and Parsers::TarKey.
absl::StatusOr<ScannedShard> ScanTarShard(const ForeignFile& shard, const ForeignFile* index,
                                          const TarWanted& wanted, const ScanWatch& watch);
absl::StatusOr<std::string> ReadTarKey(const ForeignFile& shard, uint64_t from, uint64_t offset);

}  // namespace penstock::source
