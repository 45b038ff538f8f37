// Counters for each dataset since the start, and where the time went, over all feeds, including
// closed ones. Pure; one thread.
//
// Invariant: counters only grow, and there are at most kMaxNames + 1 names. Datasets beyond the
// limit, and those that clients open by a path or a description, share the name kOther.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "server/feed/core/core.h"
#include "server/feed/stats/flow.h"

namespace penstock::feed {

struct DatasetTotals {
  FeedView counts;  // `sessions` is not counted
  FlowTotals flow;
};

class DatasetCounts {
 public:
  static constexpr size_t kMaxNames = 256;
  static constexpr char kOther[] = "(other)";

  // The dataset's configured name, else kOther.
  static std::string NameOf(const std::string& dataset);

  // A feed over this dataset begins or continues, with these counts. Later increases are added to
  // the dataset.
  void Watch(FeedId feed, const std::string& dataset, const FeedView& counted);
  // The current counts of a watched feed.
  void Settle(FeedId feed, const FeedView& counted);
  void Forget(FeedId feed) { feeds_.erase(feed.value()); }

  // The sums for feeds over this dataset. The address is stable.
  FlowTotals* FlowOf(const std::string& dataset) { return &TotalsOf(dataset).flow; }

  // By dataset name.
  const std::map<std::string, DatasetTotals>& all() const { return all_; }

 private:
  struct Watched {
    FeedView* into = nullptr;  // in all_, whose elements have stable addresses
    FeedView counted;
  };
  DatasetTotals& TotalsOf(const std::string& dataset);

  std::map<std::string, DatasetTotals> all_;
  std::map<uint64_t, Watched> feeds_;
};

}  // namespace penstock::feed
