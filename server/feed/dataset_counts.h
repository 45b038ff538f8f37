// What was done for each dataset since the start, over all feeds that came and went. Pure; one
// thread.
//
// What always holds: counts only grow, and there are at most kMaxNames + 1 of them: what clients
// name by a path or a text of their own, and datasets beyond the limit, share the name kOther.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "server/feed/core.h"

namespace penstock::feed {

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

  // By the datasets' names. `sessions` is not counted.
  const std::map<std::string, FeedView>& all() const { return all_; }

 private:
  struct Watched {
    FeedView* into = nullptr;  // in all_, whose members stay where they are
    FeedView counted;
  };
  FeedView& CountsOf(const std::string& dataset);

  std::map<std::string, FeedView> all_;
  std::map<uint64_t, Watched> feeds_;
};

}  // namespace penstock::feed
