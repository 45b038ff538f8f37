// Shuts the indexer in, before its first foreign byte: it may read files that are sent to it, and
// can open nothing, start nothing and connect to nothing.
#pragma once

#include "common/base/status.h"

namespace penstock::indexer {

// **Requires**: the process has one thread. For good.
// `sandboxed` false: only limits. **Errors**: those of sandbox::Enter.
absl::Status ConfineIndexer(bool sandboxed);

}  // namespace penstock::indexer
