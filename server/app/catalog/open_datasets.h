// The open datasets, shared by all who refer to the very same files, under whatever name.
//
// **Ownership**: owned by the catalogue. **Thread safety**: any thread.
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

// A Python dataset's id may be random, so that it is never opened again. Only this many are kept
// without users, for trainers that close a session and open another one.
inline constexpr size_t kUnusedPythonDatasets = 8;

struct DatasetView {
  std::string name, path;
  std::shared_ptr<feed::DatasetState> state;  // null until it is opened
  std::optional<RangeText> range = {};        // the range of the name; unset: all samples
};

class OpenDatasets {
 public:
  using State = std::shared_ptr<feed::DatasetState>;

  // `most`: the maximum number of open datasets. Besides the configured names, the same number of
  // other names for datasets is remembered.
  explicit OpenDatasets(size_t most) : most_(most) {}
  void SetConfigured(size_t names);

  // The state for the dataset's name, as when it was last opened; null if it is not open.
  State Find(const NamedDataset& dataset) const;
  // Makes the dataset's name stand for the dataset with that key, once that is open.
  void Name(const NamedDataset& dataset, const std::string& key);
  // The state with that identity, if its files are unchanged. The dataset's name then stands for
  // it.
  State FindUnchanged(const NamedDataset& dataset, const DatasetIdentity& identity);
  // The folder at that real path, if a complete check of its files began after `asked`. The ranks
  // of a training open the same folder at about the same time; one check, begun after all of them
  // asked, is enough.
  State FindExamined(const NamedDataset& dataset, const std::string& path, base::TimePoint asked);
  // Records that a complete check of a folder's files, begun at that time, found the open state
  // current.
  void NoteExamined(const State& state, base::TimePoint begun);

  // Makes room for another dataset by closing unused ones: as many as necessary, and those that
  // nobody is likely to open again. Generated ones need no room. **Errors**: ResourceExhausted.
  absl::Status Reserve(const DatasetIdentity& identity, const source::Dataset& opened);
  // Adds the state, unless `may_share` and another one with the same files was added first under
  // another name. `known`: a state that must not be shared any more. Returns the state that is open
  // now.
  State Add(const DatasetIdentity& identity, State state, const State& known, bool may_share);

  // These datasets, open or not; then those that are open under other names for which `is_shown` is
  // true.
  std::vector<DatasetView> List(const std::vector<NamedDataset>& datasets,
                                const std::function<bool(const State&)>& is_shown) const;
  // How many times a folder's files were all checked, or indexed, so far.
  uint64_t examinations() const;

 private:
  struct Entry {
    State state;
    std::string stamp;
    // For a folder: when the last complete check of its files began. Requests from before that time
    // need no other.
    base::TimePoint examined{};
    uint64_t opened = 0;  // the last opening's number; later ones have larger numbers

    // A state is shared only with those who request the very same files, and with nobody new once a
    // read found a change.
    bool Is(const DatasetIdentity& identity) const {
      return stamp == identity.stamp && !state->dataset->changed();
    }
  };
  void Remember(const NamedDataset& dataset, const std::string& key) PENSTOCK_REQUIRES(mutex_);
  // These move what they close to `closed`.
  void CloseUnusedPython(std::vector<State>& closed) PENSTOCK_REQUIRES(mutex_);
  void CloseIf(std::vector<State>& closed, const std::function<bool(const Entry&)>& is_closed)
      PENSTOCK_REQUIRES(mutex_);

  const size_t most_;
  mutable base::Mutex mutex_;
  size_t configured_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  uint64_t examinations_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  uint64_t openings_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Entry> open_ PENSTOCK_GUARDED_BY(mutex_);  // by the identity's key
  // Keys of datasets that were opened, by the path in the configuration or from a client.
  std::map<std::string, std::string> keys_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::app
