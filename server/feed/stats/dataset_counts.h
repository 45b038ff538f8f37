// What was done for each dataset since the start, and where the time went, over all feeds that came
// and went. Pure; one thread.
//
// What always holds: counts only grow, and there are at most kMaxNames + 1 of them: what clients
// name by a path or a text of their own, and datasets beyond the limit, share the name kOther.
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

  // The dataset's own name where it has one, else kOther.
  static std::string NameOf(const std::string& dataset);

  // A feed over this dataset begins, or goes on, and counts so much already. What it counts from
  // here on is the dataset's.
  void Watch(FeedId feed, const std::string& dataset, const FeedView& counted);
  // What a watched feed counts now.
  void Settle(FeedId feed, const FeedView& counted);
  void Forget(FeedId feed) { feeds_.erase(feed.value()); }

  // What a feed over this dataset sums up into; stays where it is.
  FlowTotals* FlowOf(const std::string& dataset) { return &TotalsOf(dataset).flow; }

  // By the datasets' names.
  const std::map<std::string, DatasetTotals>& all() const { return all_; }

 private:
  struct Watched {
    FeedView* into = nullptr;  // in all_, whose members stay where they are
    FeedView counted;
  };
  DatasetTotals& TotalsOf(const std::string& dataset);

  std::map<std::string, DatasetTotals> all_;
  std::map<uint64_t, Watched> feeds_;
};

}  // namespace penstock::feed
