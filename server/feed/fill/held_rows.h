// Rows whose samples could not be read, until they are tried again. The core takes them for given
// out meanwhile. Pure; one thread.
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
  std::shared_ptr<Feed> feed;  // as a row in flight
  std::string reason;          // why it could not be read, the last time
};

class HeldRows {
 public:
  void Hold(HeldRow row, base::TimePoint again);

  // The one on that fill path that was to be tried first by now, of a dataset and user, and may be.
  using MayGoOn = absl::FunctionRef<bool(const HeldRow&)>;
  std::optional<HeldRow> Next(FillPath fill_path, base::TimePoint now, MayGoOn may_go_on);

  // Gives each that is not wanted any more to `drop`, and forgets it.
  void Drop(absl::FunctionRef<bool(const HeldRow&)> is_wanted,
            absl::FunctionRef<void(const HeldRow&)> drop);

  // Of the feed's, the one that could not be read for longest; null: none. Until the next change.
  const HeldRow* OldestOf(const Feed& feed) const;
  // Of all.
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
  std::map<Key, ByTime> held_;  // none is empty
};

}  // namespace penstock::feed
