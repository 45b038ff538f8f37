// Lets processes parse. The parsers of penstockd.
#pragma once

#include <cstdint>
#include <memory>

#include "server/indexer/indexers.h"
#include "server/source/parse/parsers.h"

namespace penstock::indexer {

// Those of `owner`, a number that no other ones have.
std::shared_ptr<source::Parsers> MakeProcessParsers(std::shared_ptr<Indexers> indexers,
                                                    uint64_t owner);

}  // namespace penstock::indexer
