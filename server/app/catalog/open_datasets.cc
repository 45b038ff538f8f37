#include "server/app/catalog/open_datasets.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace penstock::app {
namespace {

// Such a dataset is cheap to reopen, so it isn't kept without users.
bool CostsNothing(const source::Dataset& dataset) {
  return dataset.storage() == source::Storage::kNothing;
}

}  // namespace

void OpenDatasets::SetConfigured(size_t names) {
  const base::MutexLock lock(mutex_);
  configured_ = names;
}

OpenDatasets::State OpenDatasets::Find(const NamedDataset& dataset) const {
  const base::MutexLock lock(mutex_);
  const auto key = keys_.find(dataset.path);
  const auto found = open_.find(key == keys_.end() ? dataset.path : key->second);
  return found == open_.end() ? nullptr : found->second.state;
}

void OpenDatasets::Name(const NamedDataset& dataset, const std::string& key) {
  const base::MutexLock lock(mutex_);
  Remember(dataset, key);
}

OpenDatasets::State OpenDatasets::FindUnchanged(const NamedDataset& dataset,
                                                const DatasetIdentity& identity) {
  const base::MutexLock lock(mutex_);
  const auto found = open_.find(identity.key);
  if (found == open_.end() || !found->second.Is(identity)) return nullptr;
  Remember(dataset, identity.key);
  found->second.opened = ++openings_;
  return found->second.state;
}

OpenDatasets::State OpenDatasets::FindExamined(const NamedDataset& dataset, const std::string& path,
                                               base::TimePoint asked) {
  const base::MutexLock lock(mutex_);
  const auto found = open_.find(path);
  if (found == open_.end() || found->second.examined < asked) return nullptr;
  if (found->second.state->dataset->changed()) return nullptr;
  Remember(dataset, path);
  return found->second.state;
}

void OpenDatasets::NoteExamined(const State& state, base::TimePoint begun) {
  const base::MutexLock lock(mutex_);
  ++examinations_;
  for (auto& [key, entry] : open_)
    if (entry.state == state) entry.examined = std::max(entry.examined, begun);
}

// The name may be an alias: a link, or a text in different words. Names of datasets that are no
// longer open are forgotten when there are many.
void OpenDatasets::Remember(const NamedDataset& dataset, const std::string& key) {
  if (keys_.size() >= most_ + configured_) {
    for (auto each = keys_.begin(); each != keys_.end();)
      each = open_.contains(each->second) ? std::next(each) : keys_.erase(each);
  }
  keys_[dataset.path] = key;
}

// Closes all but those opened last.
void OpenDatasets::CloseUnusedPython(std::vector<State>& closed) {
  std::vector<uint64_t> unused;
  const auto is_unused = [](const Entry& entry) {
    return entry.state.use_count() == 1 &&
           entry.state->dataset->storage() == source::Storage::kMade;
  };
  for (const auto& [key, entry] : open_)
    if (is_unused(entry)) unused.push_back(entry.opened);
  if (unused.size() <= kUnusedPythonDatasets) return;
  std::sort(unused.begin(), unused.end());
  const uint64_t first_kept = unused[unused.size() - kUnusedPythonDatasets];
  CloseIf(closed,
          [&](const Entry& entry) { return is_unused(entry) && entry.opened < first_kept; });
}

void OpenDatasets::CloseIf(std::vector<State>& closed,
                           const std::function<bool(const Entry&)>& is_closed) {
  for (auto each = open_.begin(); each != open_.end();) {
    if (!is_closed(each->second)) {
      ++each;
      continue;
    }
    closed.push_back(std::move(each->second.state));
    each = open_.erase(each);
  }
}

absl::Status OpenDatasets::Reserve(const DatasetIdentity& identity, const source::Dataset& opened) {
  std::vector<State> closed;  // after the lock: their file server may not answer
  const base::MutexLock lock(mutex_);
  CloseUnusedPython(closed);
  const auto is_counted = [](const auto& each) {
    return !CostsNothing(*each.second.state->dataset);
  };
  const bool is_new = !open_.contains(identity.key) && !CostsNothing(opened);
  const auto is_full = [&]() PENSTOCK_REQUIRES(mutex_) {
    return std::ranges::count_if(open_, is_counted) >= static_cast<std::ptrdiff_t>(most_);
  };
  const bool full = is_new && is_full();
  CloseIf(closed, [full](const Entry& entry) {
    return entry.state.use_count() == 1 && (full || CostsNothing(*entry.state->dataset));
  });
  if (!full || !is_full()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(most_, " datasets are open, all in use; close sessions"));
}

OpenDatasets::State OpenDatasets::Add(const DatasetIdentity& identity, State state,
                                      const State& known, bool may_share) {
  State replaced;  // closed after the lock, as in Reserve
  const base::MutexLock lock(mutex_);
  Entry& entry = open_[identity.key];
  const bool another_came_first = entry.state != nullptr && entry.state != known;
  if (another_came_first && may_share && entry.Is(identity)) return entry.state;
  replaced = std::move(entry.state);
  entry = {.state = std::move(state), .stamp = identity.stamp, .opened = ++openings_};
  return entry.state;
}

std::vector<DatasetView> OpenDatasets::List(
    const std::vector<NamedDataset>& datasets,
    const std::function<bool(const State&)>& is_shown) const {
  std::vector<DatasetView> views;
  std::set<std::string> shown;
  const base::MutexLock lock(mutex_);
  for (const NamedDataset& dataset : datasets) {
    const auto key = keys_.find(dataset.path);
    const auto found = key == keys_.end() ? open_.end() : open_.find(key->second);
    views.push_back({dataset.name, dataset.path,
                     found == open_.end() ? nullptr : found->second.state, dataset.range});
    if (found != open_.end()) shown.insert(found->first);
  }
  for (const auto& [key, entry] : open_)
    if (!shown.contains(key) && is_shown(entry.state))
      views.push_back({entry.state->name, key, entry.state, {}});
  return views;
}

uint64_t OpenDatasets::examinations() const {
  const base::MutexLock lock(mutex_);
  return examinations_;
}

}  // namespace penstock::app
