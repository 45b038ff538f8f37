// One folder's entries, and when they were so.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/files/file_state.h"
#include "server/source/files/tree.h"

namespace penstock::source {

enum class EntryKind { kFolder, kLink, kOther };

struct FolderTimes {
  uint64_t entries = 0;  // without . and ..
  int64_t mtime_ns = 0;
  uint64_t device = 0;
  uint64_t inode = 0;
};

// Waits until what changed at this time can change no more without another time: file times are
// taken from a clock that moves in steps. 20 ms at most. Whether it had to.
enum class Waited { kNo, kYes };
Waited WaitForTick(int64_t time_ns);

// When a folder changed last, without a look at its entries.
struct FolderChange {
  int64_t mtime_ns = 0;  // of its entries; can be set
  int64_t ctime_ns = 0;  // of anything in it; cannot
  uint64_t device = 0, inode = 0;
  // Whether both are this kernel's own: of a file system on this machine that always keeps them.
  bool is_sure = false;
};
absl::StatusOr<FolderChange> ChangeOf(const Tree& tree, const std::string& folder);

// Calls `begin` and then `each` for every entry, in the folder's own order. Begins again when the
// folder changed meanwhile; Aborted when it does not hold still. A folder that changed within the
// last clock tick is left alone until the tick is over, so that no later change can carry the same
// time.
absl::StatusOr<FolderTimes> ListFolder(
    const Tree& tree, const std::string& folder, const std::function<void()>& begin,
    const std::function<void(absl::string_view, EntryKind)>& each);

}  // namespace penstock::source
