// The datasets that this daemon serves. Opening may index a million files, and storage may not
// respond, so each dataset has its own job queue (`desks.h`) that opens one request after another.
// All other calls are answered at once. Its parts: the offered datasets and who may open them
// (`offered_datasets.h`), the open ones (`open_datasets.h`), and how they are opened
// (`dataset_loader.h`).
//
// **Ownership**: owned by the daemon. **Thread safety**: any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/app/catalog/dataset_loader.h"
#include "server/app/catalog/described_lately.h"
#include "server/app/catalog/desks.h"
#include "server/app/catalog/offered_datasets.h"
#include "server/app/catalog/open_datasets.h"
#include "server/app/catalog/opener.h"
#include "server/app/catalog/waiting_callers.h"
#include "server/rpc/controller.h"

namespace penstock::app {

class Catalog {
 public:
  using Offer = DatasetOffer;
  using State = OpenDatasets::State;
  struct Options {
    Offer offer = {};
    bool any_path = false;                // for private daemons: also paths
    std::vector<std::string> roots = {};  // paths must resolve to below one of these
    std::string state_dir;                // for manifests and quarantines; empty: not stored
    int index_threads = 1;
    uint64_t max_unpacked_bytes = uint64_t{1} << 30;  // per compressed file of rows
    uint32_t max_datasets = 256;                      // maximum number of open datasets
    Desks::Options desks = {};
    std::optional<base::Duration> look_for = {};         // as in FolderOptions
    DatasetLoader::SamplesInSlots in_slots = {};         // called on an opening thread
    std::shared_ptr<kept::KeptRowStore> kept_rows = {};  // null: none are kept
    NewParsers new_parsers = {};                         // parse files; needed for most kinds
    source::RemoteFiles* remote = nullptr;               // outlives it; null: URLs are refused
    base::Duration asked_again_within = std::chrono::seconds(3);  // as in WaitingCallers
  };

  explicit Catalog(const Options& options);
  ~Catalog();  // calls Stop

  // Applies to later openings. Open datasets stay as they are.
  void SetOffer(Offer offer);

  // Stops opening datasets: cancels waiting requests and indexing in progress.
  void Close();
  // As Close, and waits for the threads, which a read in progress may delay.
  void Stop();

  using Cancelled = WaitingCallers::Cancelled;
  static bool NeverCancelled() { return false; }

  // Opens the dataset, or finds it open and unchanged. `done` is called on a thread of the
  // catalogue, or within this call. An opening that nobody waits for any more, neither its caller
  // nor another one at the same desk, is cancelled, and its indexers end. **Errors**: Cancelled.
  void Open(const std::string& dataset, const Opener& opener, const rpc::Callback<State>& done,
            Cancelled cancelled = NeverCancelled);
  // As Open, for a session. A dataset of a store that was described to this user a moment ago is
  // not looked for again: the session then gets what was described.
  void OpenForSession(const std::string& dataset, const Opener& opener,
                      const rpc::Callback<State>& done, Cancelled cancelled = NeverCancelled);
  // As Open, to describe it.
  void OpenToDescribe(const std::string& dataset, const Opener& opener,
                      const rpc::Callback<State>& done, Cancelled cancelled = NeverCancelled);
  // As Open, with progress. To fetch is another job, for which no opening waits; so is to export
  // indexes, which opens nothing. An index that is exported is given to `progress` by several
  // threads, which wait until it was taken.
  void Index(const rpc::IndexRequest& request, const Opener& opener, Cancelled cancelled,
             const rpc::Callback<rpc::IndexProgress>& progress);
  // Runs a job that reads the dataset's files, on a thread that may block. The job gets an error if
  // it must not read, because of shutdown or because too many are waiting.
  void Read(const feed::DatasetState& state, const Opener& opener,
            const std::function<void(absl::Status)>& job);
  // Whether something is being opened or indexed, or is waiting.
  bool busy() const { return desks_.busy(); }

  // The samples of an open dataset that the name stands for: all, or the configured range.
  // **Errors**: InvalidArgument if the range exceeds the dataset.
  absl::StatusOr<plan::Range> RangeOf(const std::string& dataset,
                                      const feed::DatasetState& state) const;
  // The state if the dataset is open, without checking for changes; null if not. **Errors**: those
  // of Open.
  absl::StatusOr<State> FindOpen(const std::string& dataset, const Opener& opener) const;
  // Whether the dataset exists but this opener may not open it.
  bool IsKeptFrom(const std::string& dataset, const Opener& opener) const {
    return offered()->IsKeptFrom(dataset, opener);
  }
  // The datasets that this opener may open, and open ones without a name if it may see those;
  // nullopt stands for the daemon itself, which sees all.
  std::vector<DatasetView> List(const std::optional<Opener>& opener = {}) const;

  // The current problem with the state directory, for messages; empty: no known problem.
  std::string state_trouble() const { return access_->trouble(); }
  // How many times a folder's files were all checked, or indexed, so far.
  uint64_t examinations() const { return open_.examinations(); }

 private:
  using SharedCaller = std::shared_ptr<const WaitingCallers::WaitingCaller>;
  SharedCaller Join(const NamedDataset& dataset, Cancelled cancelled);
  absl::StatusOr<DatasetLoader::Loaded> Load(const NamedDataset& dataset, base::TimePoint asked,
                                             const WaitingCallers::WaitingCaller& caller,
                                             const std::function<void(uint64_t)>& seen) const;
  void Fetch(const DatasetLoader::Loaded& loaded, const NamedDataset& named, uid_t user,
             const Cancelled& cancelled, const rpc::Callback<rpc::IndexProgress>& progress);
  void Export(const NamedDataset& named, uid_t user, const Cancelled& cancelled,
              const rpc::Callback<rpc::IndexProgress>& progress);
  bool stopping() const { return stopping_.load(); }
  std::shared_ptr<const OfferedDatasets> offered() const;

  const bool any_path_;
  const std::shared_ptr<source::StateAccess> access_;  // shared with quarantines
  mutable base::Mutex mutex_;
  // Shared with calls in progress.
  std::shared_ptr<const OfferedDatasets> offered_ PENSTOCK_GUARDED_BY(mutex_);
  std::atomic<bool> stopping_ = false;
  const std::shared_ptr<source::DatasetCloser> closer_;  // never shared for longer than a closing
  OpenDatasets open_;
  const OpeningOptions opening_;
  const DatasetLoader loader_;
  DescribedLately described_;
  WaitingCallers callers_;
  Desks desks_;  // declared last, because their jobs use all members above
};

}  // namespace penstock::app
