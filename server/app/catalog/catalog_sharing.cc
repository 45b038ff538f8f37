// Who shares what is open: those who mean the very same files.
#include <algorithm>
#include <chrono>
#include <utility>

#include "common/telemetry/log.h"
#include "server/app/catalog/catalog.h"
#include "server/source/files/parallel_for.h"
#include "server/source/files/roots.h"

namespace penstock::app {
namespace {

constexpr size_t kAskedAtOnce = 16;  // over a network an answer takes a while

// To open it again: so it is not kept for nobody.
bool CostsNothing(const source::Dataset& dataset) {
  return dataset.storage() == source::Storage::kNothing;
}

}  // namespace

// Ranks of a training open the same folder at the same time: one look at its files, begun after all
// of them had asked, is enough for all.
Catalog::State Catalog::FindExamined(const NamedDataset& dataset, base::TimePoint asked) {
  if (dataset.mixture) return nullptr;
  const absl::StatusOr<std::string> key = source::RealPath(dataset.path);
  if (!key.ok()) return nullptr;
  base::MutexLock lock(mutex_);
  const auto found = open_.find(*key);
  if (found == open_.end() || found->second.examined < asked) return nullptr;
  if (found->second.state->dataset->changed()) return nullptr;
  Remember(dataset, *key);
  return found->second.state;
}

void Catalog::NoteExamined(const State& state, base::TimePoint begun) {
  base::MutexLock lock(mutex_);
  ++examinations_;
  for (auto& [key, entry] : open_)
    if (entry.state == state) entry.examined = std::max(entry.examined, begun);
}

// A state is shared with those alone who ask for the very same files, and with nobody new once a
// read found that they changed.
bool Catalog::IsSame(const Entry& entry, const DatasetIdentity& identity) {
  return entry.stamp == identity.stamp && !entry.state->dataset->changed();
}

// Where not all files could be looked at, those must be what they were whose rows are in slots; all
// others are looked at when they are read.
bool Catalog::IsSafeToShare(const feed::DatasetState& state, const OpenedDataset& opened) const {
  if (opened.all_examined) return true;
  if (!options_.in_slots) return false;
  const auto samples = options_.in_slots(state);
  if (!samples) return false;
  source::ParallelFor parallel_for;
  parallel_for.threads = kAskedAtOnce;
  const absl::Status unchanged = parallel_for.ForEach(samples->size(), [&](size_t i) {
    const uint64_t sample = (*samples)[i];
    const bool same = sample >= opened.dataset->samples() || opened.dataset->IsUnchanged(sample);
    return same ? absl::OkStatus() : absl::FailedPreconditionError("changed");
  });
  return unchanged.ok();
}

// The one that is open, if that is still what it is. Null: none.
Catalog::State Catalog::FindUnchanged(const NamedDataset& dataset,
                                      const DatasetIdentity& identity) {
  base::MutexLock lock(mutex_);
  const auto found = open_.find(identity.key);
  if (found == open_.end() || !IsSame(found->second, identity)) return nullptr;
  Remember(dataset, identity.key);
  return found->second.state;
}

// What it is called may be another name for it: a link, a text with other words. Names of what is
// open no more are forgotten once there are many.
void Catalog::Remember(const NamedDataset& dataset, const std::string& key) {
  if (configured_.size() >= options_.max_datasets + offer_->datasets.size())
    for (auto each = configured_.begin(); each != configured_.end();)
      each = open_.contains(each->second) ? std::next(each) : configured_.erase(each);
  configured_[dataset.path] = key;
}

// The state of a dataset that is open already and did not change goes on, by whatever name it was
// found; else a new one begins.
absl::StatusOr<Catalog::State> Catalog::Adopt(const NamedDataset& dataset, OpenedDataset opened) {
  const DatasetIdentity identity = opened.identity;
  State known;
  {
    base::MutexLock lock(mutex_);
    Remember(dataset, identity.key);
    const auto found = open_.find(identity.key);
    if (found != open_.end() && IsSame(found->second, identity)) known = found->second.state;
  }
  if (known != nullptr && IsSafeToShare(*known, opened)) return known;
  {
    base::MutexLock lock(mutex_);
    const auto found = open_.find(identity.key);
    const bool full = found == open_.end() && open_.size() >= options_.max_datasets;
    std::erase_if(open_, [full](const auto& entry) {
      const State& state = entry.second.state;
      return state.use_count() == 1 && (full || CostsNothing(*state->dataset));
    });
    if (found == open_.end() && open_.size() >= options_.max_datasets)
      return absl::ResourceExhaustedError(
          absl::StrCat(options_.max_datasets, " datasets are open, all in use; close sessions"));
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  source::Quarantine::Loaded loaded = source::Quarantine::Load(
      options_.state_dir, source::Quarantine::NumberOf(opened.dataset->digest(), identity.key),
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), access_);
  if (!loaded.warning.empty())
    PENSTOCK_LOG(kWarning, "quarantine_lost", {"dataset", dataset.name},
                 {"reason", loaded.warning});
  loaded.quarantine.ForgetOthers([&](uint64_t sample) {
    return sample < opened.dataset->samples() ? opened.dataset->stamp(sample) : 0;
  });
  const uint64_t files = FilesOf(opened);
  feed::FaultPolicy policy(opened.dataset->samples(), offer()->faults);
  for (const source::BadSample& bad : loaded.quarantine.Entries()) policy.OnRefused(bad.sample);
  auto state = std::make_shared<feed::DatasetState>(
      feed::DatasetState{dataset.name, std::move(opened.dataset), std::move(loaded.quarantine),
                         std::move(policy), std::move(opened.mixture), files});
  base::MutexLock lock(mutex_);
  Entry& entry = open_[identity.key];
  const bool another_came_first =
      entry.state != nullptr && entry.state != known;  // by another name
  if (another_came_first && opened.all_examined && IsSame(entry, identity)) return entry.state;
  entry = {state, identity.stamp};
  return state;
}

}  // namespace penstock::app
