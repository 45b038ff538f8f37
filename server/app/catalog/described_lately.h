// Remembers which datasets of stores were described a moment ago, and to whom. A client that opens
// a session describes its dataset first; both are one opening, so the store is asked once for the
// versions of its files.
// **Thread safety**: any thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "server/app/catalog/open_datasets.h"

namespace penstock::app {

class DescribedLately {
 public:
  using State = OpenDatasets::State;
  static constexpr base::Duration kLately = std::chrono::seconds(2);

  // `dataset`: names it and its files. Local files are looked at anew each time, which costs
  // little.
  void Note(const std::string& dataset, uid_t user, const State& state, base::TimePoint now);
  // The state that was described to this user; null: there is none, it has changed since, or it is
  // not open any more.
  State Find(const std::string& dataset, uid_t user, base::TimePoint now) const;

 private:
  struct Described {
    std::weak_ptr<feed::DatasetState> state;
    base::TimePoint when;
  };
  mutable base::Mutex mutex_;
  // At most those of the last seconds, when there are many.
  std::map<std::pair<uid_t, std::string>, Described> described_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::app
