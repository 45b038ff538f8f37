// When samples that lie far away will be needed again, over all feeds of their dataset, so that a
// cache lets go of what is needed last.
//
// Its clock counts the rows that all such feeds have begun. A feed's own distances are exact; with
// several feeds, their recent shares of the rows say how far apart on the clock its uses are.
//
// **Ownership**: owned by RowDispatch. **Thread safety**: the runner's thread only. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "server/feed/core/core.h"
#include "server/feed/fill/rows.h"
#include "server/feed/identity/samples.h"
#include "server/source/files/use_times.h"

namespace penstock::feed {

class UsePlan {
 public:
  // The feed begins to fill this batch.
  void Begin(const std::shared_ptr<const Feed>& feed, const Core::Ahead& batch);

  // For a sample that the feed needs at that place: when any feed of the dataset needs it after
  // that.
  source::UseTimes TimesAfter(const Feed& feed, const Place& at, uint64_t sample) const;

  // Samples of the feed's dataset whose next use nobody has said since its feeds are these, as many
  // as `most`: what an earlier daemon, or another feed, has kept. [first, end) of their numbers.
  std::pair<uint64_t, uint64_t> TakeUnsaid(const Feed& feed, uint64_t most);
  // When any feed of the dataset needs the sample next.
  source::UseTimes NextTimes(const Feed& feed, uint64_t sample) const;

 private:
  struct FeedUse {
    std::weak_ptr<const Feed> feed;
    const DatasetState* dataset = nullptr;  // the feed's
    Place at = {};
    RanksHere ranks = {};
    double share = 0;  // of the rows that were begun lately
  };
  void DropEnded();
  double AllShares() const;
  // Rows on the clock until the feed needs the sample; the maximum: never, as far as one looks.
  uint64_t RowsUntil(const FeedUse& progress, const Feed& feed, const Place& after,
                     uint64_t sample) const;
  source::UseTimes Times(const Feed& feed, const Place* at, uint64_t sample) const;

  uint64_t now_ = 1;
  std::map<FeedId, FeedUse> feeds_;
  std::map<const DatasetState*, uint64_t> said_;  // how many of the samples, the first ones
};

}  // namespace penstock::feed
