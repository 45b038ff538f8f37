// The parsers of penstockd: they let processes parse.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "server/indexer/indexers.h"
#include "server/source/parse/parsers.h"

namespace penstock::indexer {

// Makes the parsers of one opening; `owner` is a number of their own, `cancelled` as in
// Indexers::NewParsers.
std::shared_ptr<source::Parsers> MakeProcessParsers(std::shared_ptr<Indexers> indexers,
                                                    uint64_t owner,
                                                    std::function<bool()> cancelled);

}  // namespace penstock::indexer
