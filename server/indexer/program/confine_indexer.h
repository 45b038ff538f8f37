// Puts the indexer into its sandbox, before it reads the first foreign byte. It can then read files
// that are sent to it, but cannot open files, start processes or connect to anything.
#pragma once

#include "common/base/status.h"

namespace penstock::indexer {

// Cannot be undone. `sandboxed` false: only limits memory and open files. **Requires**: the process
// has one thread. **Errors**: those of sandbox::Enter.
absl::Status ConfineIndexer(bool sandboxed);

}  // namespace penstock::indexer
