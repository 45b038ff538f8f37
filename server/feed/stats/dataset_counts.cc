#include "server/feed/stats/dataset_counts.h"

namespace penstock::feed {
namespace {

// A count below the previous one has restarted at 0, because the core had forgotten the feed.
uint64_t Growth(uint64_t before, uint64_t now) { return now < before ? now : now - before; }

}  // namespace

// Configured names contain none of these characters. Paths and dataset descriptions do.
std::string DatasetCounts::NameOf(const std::string& dataset) {
  return dataset.find_first_of("/:") == std::string::npos ? dataset : kOther;
}

void DatasetCounts::Watch(FeedId feed, const std::string& dataset, const FeedView& counted) {
  feeds_.try_emplace(feed.value(), Watched{&TotalsOf(dataset).counts, counted});
}

void DatasetCounts::Settle(FeedId feed, const FeedView& counted) {
  const auto found = feeds_.find(feed.value());
  if (found == feeds_.end()) return;
  FeedView& into = *found->second.into;
  FeedView& before = found->second.counted;
  into.batches_decoded += Growth(before.batches_decoded, counted.batches_decoded);
  into.batches_announced += Growth(before.batches_announced, counted.batches_announced);
  into.rows_decoded += Growth(before.rows_decoded, counted.rows_decoded);
  into.rows_replaced += Growth(before.rows_replaced, counted.rows_replaced);
  before = counted;
}

DatasetTotals& DatasetCounts::TotalsOf(const std::string& dataset) {
  const std::string name = NameOf(dataset);
  const bool has_place = all_.contains(name) || all_.size() < kMaxNames;
  return all_[has_place ? name : kOther];
}

}  // namespace penstock::feed
