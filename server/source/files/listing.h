// Lists one folder's entries, with the times at which the listing was valid.
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
  uint64_t entries = 0;  // excluding . and ..
  int64_t mtime_ns = 0;
  uint64_t device = 0;
  uint64_t inode = 0;
};

// File times come from a clock that moves in ticks. Waits until that clock has passed `time_ns`, so
// that any later change gets a different time. Waits 20 ms at most; returns whether it had to wait.
enum class Waited { kNo, kYes };
Waited WaitForTick(int64_t time_ns);

// When a folder last changed, found without listing its entries.
struct FolderChange {
  int64_t mtime_ns = 0;  // when entries last changed; can be set
  int64_t ctime_ns = 0;  // when anything last changed; cannot be set
  uint64_t device = 0, inode = 0;
  // Whether this kernel sets both times: true for local file systems that always maintain them.
  bool is_sure = false;
};
absl::StatusOr<FolderChange> FindChange(const Tree& tree, const std::string& folder);

// Calls `begin`, then `each` for every entry, in the file system's order. Starts over if the folder
// changed meanwhile. If the folder changed within the last clock tick, waits for the tick to end
// first, so that no later change can have the same time.
// **Errors**: Aborted if the folder keeps changing.
absl::StatusOr<FolderTimes> ListFolder(
    const Tree& tree, const std::string& folder, const std::function<void()>& begin,
    const std::function<void(absl::string_view, EntryKind)>& each);

}  // namespace penstock::source
