#include "server/pyworkers/stream_queue.h"

#include "common/base/check.h"

namespace penstock::pyworkers {

void StreamQueue::Add(const MakeItem& item) {
  PENSTOCK_CHECK(size_ < kMost && item.part && item.part->stream < shm::kMaxPythonWorkers);
  waiting_[item.part->stream].push_back(item);
  ++size_;
}

// A unit that does not follow the last one begins another iteration, which any process can do.
StreamQueue::Taken StreamQueue::Take(uint32_t place, const MakerName& process) {
  const auto found = waiting_.find(place);
  PENSTOCK_CHECK(found != waiting_.end());
  const MakeItem item = found->second.front();
  found->second.pop_front();
  if (found->second.empty()) waiting_.erase(found);
  --size_;

  const StreamProgress next = {.feed = item.part->feed,
                               .epoch = item.request.epoch,
                               .unit = item.part->unit,
                               .process = process};
  const auto known = progress_.find(place);
  const bool goes_on = known != progress_.end() && known->second.feed == next.feed &&
                       known->second.epoch == next.epoch && known->second.unit < next.unit;
  if (goes_on && known->second.process != process) return {.item = item, .is_lost = true};
  progress_.insert_or_assign(place, next);
  return {.item = item};
}

std::deque<MakeItem> StreamQueue::TakeAll() {
  std::deque<MakeItem> all;
  for (auto& [place, items] : waiting_) all.insert(all.end(), items.begin(), items.end());
  waiting_.clear();
  size_ = 0;
  return all;
}

}  // namespace penstock::pyworkers
