// Rows whose samples could not be read, until the next attempt. The core considers them given out.
// Pure.
// **Thread safety**: one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "common/base/clock.h"
#include "server/feed/core/core.h"
#include "server/feed/fill/rows.h"

namespace penstock::feed {

struct HeldRow {
  RowTask task;
  std::shared_ptr<Feed> feed;  // as for a row in progress
  std::string reason;          // why the last read failed
};

class HeldRows {
 public:
  void Hold(HeldRow row, base::TimePoint again);

  // The row on this fill path whose attempt was due first, of a dataset and user that may go on.
  using MayGoOn = absl::FunctionRef<bool(const HeldRow&)>;
  std::optional<HeldRow> Next(FillPath fill_path, base::TimePoint now, MayGoOn may_go_on);

  // Passes each row that is no longer wanted to `drop`, and forgets it.
  void Drop(absl::FunctionRef<bool(const HeldRow&)> is_wanted,
            absl::FunctionRef<void(const HeldRow&)> drop);

  // The feed's row that has been unreadable for longest; null if none. Valid until the next change.
  const HeldRow* OldestOf(const Feed& feed) const;
  // Number of all rows.
  size_t size() const;
  std::optional<base::TimePoint> oldest_since() const;

 private:
  using ByTime = std::multimap<base::TimePoint, HeldRow>;
  struct Key {
    const DatasetState* dataset;
    UserId user;
    FillPath fill_path;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, ByTime> held_;  // no element is empty
};

}  // namespace penstock::feed
