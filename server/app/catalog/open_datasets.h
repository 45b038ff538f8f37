// The datasets that are open, shared by all who mean the very same files, by whatever name.
//
// **Ownership**: the catalogue. **Thread safety**: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/app/catalog/open_dataset.h"
#include "server/feed/fill/rows.h"

namespace penstock::app {

struct DatasetView {
  std::string name, path;
  std::shared_ptr<feed::DatasetState> state;  // null until it was opened
  std::optional<RangeText> range = {};        // that the name means; none: all of it
};

class OpenDatasets {
 public:
  using State = std::shared_ptr<feed::DatasetState>;

  // At most `most` are open at once. Of names for them so many are kept, and as many as are
  // configured.
  explicit OpenDatasets(size_t most) : most_(most) {}
  void SetConfigured(size_t names);

  // The one that the dataset's name means, as when it was last opened; null: it is not open.
  State Find(const NamedDataset& dataset) const;
  // From now on the dataset's name means what has that key, once that is open.
  void Name(const NamedDataset& dataset, const std::string& key);
  // The one with that identity, if its files are still the same. The dataset's name means it from
  // now on.
  State FindUnchanged(const NamedDataset& dataset, const DatasetIdentity& identity);
  // A folder at that real path, if a look at all its files began after `asked`. Ranks of a training
  // open the same folder at the same time: one look, begun after all of them had asked, is enough
  // for all.
  State FindExamined(const NamedDataset& dataset, const std::string& path, base::TimePoint asked);
  // A look at all files of a folder began at that time, and found what is open.
  void NoteExamined(const State& state, base::TimePoint begun);

  // Makes place for one more, closing what nobody uses. **Errors**: ResourceExhausted.
  absl::Status Reserve(const DatasetIdentity& identity);
  // Opens the state, unless `may_share` and another with the same files came first by another name.
  // `known`: one that must not be shared any more. Returns what is open now.
  State Add(const DatasetIdentity& identity, State state, const State& known, bool may_share);

  // Those datasets, open or not; then what is open by another name, if `is_shown` says so.
  std::vector<DatasetView> List(const std::vector<NamedDataset>& datasets,
                                const std::function<bool(const State&)>& is_shown) const;
  // How often all files of a folder were looked at, or indexed, so far.
  uint64_t examinations() const;

 private:
  struct Entry {
    State state;
    std::string stamp;
    // Of a folder: when a look at all its files began that found what is open. Whoever asked before
    // that needs no other.
    base::TimePoint examined{};

    // A state is shared with those alone who ask for the very same files, and with nobody new once
    // a read found that they changed.
    bool Is(const DatasetIdentity& identity) const {
      return stamp == identity.stamp && !state->dataset->changed();
    }
  };
  void Remember(const NamedDataset& dataset, const std::string& key) PENSTOCK_REQUIRES(mutex_);

  const size_t most_;
  mutable base::Mutex mutex_;
  size_t configured_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  uint64_t examinations_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Entry> open_ PENSTOCK_GUARDED_BY(mutex_);  // by identity's key
  // Their keys, by the path that the configuration or a client has; once opened.
  std::map<std::string, std::string> keys_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::app
