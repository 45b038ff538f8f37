#include "server/feed/engine/feed_book.h"

#include <utility>

#include "common/base/check.h"
#include "server/feed/fill/rows.h"

namespace penstock::feed {
namespace {

// True for the same object, not for one at a reused address.
template <typename T>
bool IsSame(const std::weak_ptr<T>& one, const std::shared_ptr<T>& other) {
  return !one.owner_before(other) && !other.owner_before(one);
}

session::FeedOptions ToFeedOptions(const FeedSpec& spec) {
  session::FeedOptions options = static_cast<const session::FeedOptions&>(spec);
  options.range = spec.Within();
  return options;
}

// Compares everything except the given order and what follows from the dataset.
bool AsksForTheSame(const FeedSpec& a, const FeedSpec& b) {
  return ToFeedOptions(a) == ToFeedOptions(b) && a.storage == b.storage &&
         a.selection == b.selection && a.mixture == b.mixture;
}

}  // namespace

FeedId FeedBook::IdOf(UserId user, const std::shared_ptr<const DatasetState>& dataset,
                      const FeedSpec& spec) {
  const uint64_t looks = Fingerprint(spec);
  const auto [first, last] = by_looks_.equal_range(looks);
  for (auto at = first; at != last; ++at) {
    const Entry& known = entries_.at(at->second);
    if (!known.is_over && known.user == user && IsSame(known.dataset, dataset) &&
        IsSame(known.given, spec.given) && AsksForTheSame(known.spec, spec))
      return FeedId(at->second);
  }
  const uint64_t number = next_++;
  Entry entry{.user = user, .dataset = dataset, .spec = spec, .given = spec.given, .feed = {}};
  entry.spec.given = nullptr;
  entries_.emplace(number, std::move(entry));
  by_looks_.emplace(looks, number);
  return FeedId(number);
}

FeedBook::Entry& FeedBook::At(FeedId feed) {
  const auto found = entries_.find(feed.value());
  PENSTOCK_CHECK(found != entries_.end());
  return found->second;
}

const FeedBook::Entry& FeedBook::At(FeedId feed) const {
  const auto found = entries_.find(feed.value());
  PENSTOCK_CHECK(found != entries_.end());
  return found->second;
}

std::shared_ptr<Feed> FeedBook::InUse(FeedId id) const {
  std::shared_ptr<Feed> feed = At(id).feed.lock();
  PENSTOCK_CHECK(feed != nullptr);
  return feed;
}

bool FeedBook::HasIdle() const {
  for (const auto& [number, entry] : entries_)
    if (entry.feed.expired()) return true;
  return false;
}

void FeedBook::Prune(const absl::flat_hash_set<FeedId>& in_slots) {
  std::erase_if(entries_, [&](const auto& entry) {
    return entry.second.feed.expired() && !in_slots.contains(FeedId(entry.first));
  });
  std::erase_if(by_looks_, [&](const auto& named) { return !entries_.contains(named.second); });
}

}  // namespace penstock::feed
