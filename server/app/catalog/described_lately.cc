#include "server/app/catalog/described_lately.h"

namespace penstock::app {
namespace {

constexpr size_t kMostDescribed = 256;

}  // namespace

void DescribedLately::Note(const std::string& dataset, uid_t user, const State& state,
                           base::TimePoint now) {
  if (!state->dataset->is_remote()) return;
  const base::MutexLock lock(mutex_);
  if (described_.size() >= kMostDescribed)
    std::erase_if(described_, [&](const auto& each) { return now - each.second.when > kLately; });
  if (described_.size() >= kMostDescribed) return;
  described_[{user, dataset}] = {.state = state, .when = now};
}

DescribedLately::State DescribedLately::Find(const std::string& dataset, uid_t user,
                                             base::TimePoint now) const {
  const base::MutexLock lock(mutex_);
  const auto found = described_.find({user, dataset});
  if (found == described_.end() || now - found->second.when > kLately) return nullptr;
  State state = found->second.state.lock();
  return state != nullptr && !state->dataset->changed() ? state : nullptr;
}

}  // namespace penstock::app
