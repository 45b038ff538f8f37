#include "server/feed/fill/use_plan.h"

#include <algorithm>
#include <limits>

#include "server/feed/identity/next_use.h"

namespace penstock::feed {
namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
// A feed's share of the rows is that of about so many of them.
constexpr double kRecentRows = 20'000;

}  // namespace

void UsePlan::Begin(const std::shared_ptr<const Feed>& feed, const Core::Ahead& batch) {
  const auto known = feeds_.find(feed->id);
  const bool is_new = known == feeds_.end();
  if (is_new) DropEnded();
  // One that begins has the average share.
  const double first = feeds_.empty() ? 1 : AllShares() / static_cast<double>(feeds_.size());
  FeedUse& progress = is_new ? feeds_[feed->id] : known->second;
  if (is_new) progress.share = first;
  if (is_new || progress.ranks.ranks != batch.ranks.ranks) said_[feed->dataset.get()] = 0;
  progress.feed = feed;
  progress.dataset = feed->dataset.get();
  progress.ranks = batch.ranks;
  progress.at = {.epoch = batch.position.epoch, .place = batch.position.first};
  const double part = std::min(1.0, batch.position.rows / kRecentRows);
  for (auto& [id, each] : feeds_) each.share *= 1 - part;
  progress.share += part;
  now_ += batch.position.rows;
}

// A dataset whose feeds have become fewer is said anew.
void UsePlan::DropEnded() {
  std::erase_if(feeds_, [&](const auto& each) {
    const bool has_ended = each.second.feed.expired();
    if (has_ended) said_.erase(each.second.dataset);
    return has_ended;
  });
}

double UsePlan::AllShares() const {
  double sum = 0;
  for (const auto& [id, progress] : feeds_) sum += progress.share;
  return sum;
}

uint64_t UsePlan::RowsUntil(const FeedUse& progress, const Feed& feed, const Place& after,
                            uint64_t sample) const {
  const std::optional<Place> next = FindNextPlace(feed.spec, sample, after, progress.ranks);
  if (!next) return kNever;
  const double rows = static_cast<double>(next->epoch - after.epoch) *
                          static_cast<double>(feed.spec.epoch_samples()) +
                      static_cast<double>(next->place) - static_cast<double>(after.place);
  const double here = static_cast<double>(progress.ranks.ranks.size()) / progress.ranks.world;
  const double share = std::max(progress.share / AllShares(), 1 / kRecentRows);
  return static_cast<uint64_t>(std::max(1.0, rows * here / share));
}

source::UseTimes UsePlan::Times(const Feed& feed, const Place* at, uint64_t sample) const {
  uint64_t nearest = kNever;
  for (const auto& [id, progress] : feeds_) {
    const std::shared_ptr<const Feed> other = progress.feed.lock();
    if (other == nullptr || progress.dataset != feed.dataset.get()) continue;
    if (!TellsPlaces(other->spec)) return {.now = now_};
    const Place& after = at != nullptr && id == feed.id ? *at : progress.at;
    nearest = std::min(nearest, RowsUntil(progress, *other, after, sample));
  }
  return {.now = now_, .next = nearest == kNever ? kNever : now_ + nearest};
}

source::UseTimes UsePlan::TimesAfter(const Feed& feed, const Place& at, uint64_t sample) const {
  return Times(feed, &at, sample);
}

source::UseTimes UsePlan::NextTimes(const Feed& feed, uint64_t sample) const {
  return Times(feed, nullptr, sample);
}

std::pair<uint64_t, uint64_t> UsePlan::TakeUnsaid(const Feed& feed, uint64_t most) {
  uint64_t& said = said_[feed.dataset.get()];
  const uint64_t first = said;
  said += std::min(most, feed.spec.samples - std::min(said, feed.spec.samples));
  return {first, said};
}

}  // namespace penstock::feed
