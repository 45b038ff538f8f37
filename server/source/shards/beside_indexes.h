// The indexes of remote shards, from the files beside them (index_file.h). A shard whose index is
// missing, damaged, or of another version is left to be scanned.
// **Thread safety**: any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/files/parallel_for.h"
#include "server/source/files/tree_file.h"
#include "server/source/parse/parsers.h"
#include "server/source/shards/index_file.h"

namespace penstock::source {

// How the files of one source are indexed.
struct IndexFileUser {
  IndexedKind kind = IndexedKind::kTar;
  std::string roles = {};  // as in IndexTopic
  Parsers* parsers = nullptr;
};

struct BesideIndexes {
  std::vector<std::optional<ScannedShard>>
      shards;           // one for each file; not set: it must be scanned
  std::string warning;  // which one could not be used, and why
};

// Asks for the index of the first shards, a request for each at the same time; and for those of the
// others, unless none of the first ones has one. Local files have none.
// `watch`: as in ParallelFor. **Errors**: Cancelled.
absl::StatusOr<BesideIndexes> ReadBesideIndexes(const std::vector<TreeFile>& files,
                                                const IndexFileUser& user,
                                                const std::function<bool()>& watch);

}  // namespace penstock::source
