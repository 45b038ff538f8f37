// The datasets that this daemon serves. Opening may index a million files, and storage may not
// answer, so that each dataset has a desk of its own (`desks.h`), at which one after the other is
// opened; everything else is answered at once. Its parts: what is offered, and to whom
// (`offered_datasets.h`); what is open (`open_datasets.h`); how it is opened (`dataset_loader.h`).
//
// **Ownership**: the daemon. **Thread safety**: any thread.
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
#include "server/app/catalog/desks.h"
#include "server/app/catalog/offered_datasets.h"
#include "server/app/catalog/open_datasets.h"
#include "server/app/catalog/opener.h"
#include "server/rpc/controller.h"

namespace penstock::app {

class Catalog {
 public:
  using Offer = DatasetOffer;
  using State = OpenDatasets::State;
  struct Options {
    Offer offer;
    bool any_path = false;           // a private daemon: paths, too
    std::vector<std::string> roots;  // paths must resolve below one of these
    std::string state_dir;           // manifests and quarantines; empty: not kept
    int index_threads = 1;
    uint64_t max_unpacked_bytes = uint64_t{1} << 30;  // of a compressed file of rows
    uint32_t max_datasets = 256;                      // open at once
    Desks::Options desks = {};
    std::optional<base::Duration> look_for = {};  // FolderOptions'
    DatasetLoader::SamplesInSlots in_slots = {};  // a thread that opens calls it
  };

  explicit Catalog(const Options& options);
  ~Catalog();  // stops

  // For what is opened from now on. What is open stays as it is.
  void SetOffer(Offer offer);

  // Nothing is opened from now on: what waits is answered so, an index being made is broken off.
  void Close();
  // Besides waits for the end of the threads, which a read in progress may hold up.
  void Stop();

  // Opens, or finds open and unchanged. `done` is called on one of the catalogue's threads, or
  // here.
  void Open(const std::string& dataset, const Opener& opener, rpc::Callback<State> done);
  // The same as Open, telling how far it is.
  void Index(const std::string& dataset, const Opener& opener, std::function<bool()> cancelled,
             rpc::Callback<rpc::IndexProgress> progress);
  // Does what reads in that dataset's files, on a thread that may wait for them. Not OK: it may not
  // read, since it is the end, or too many wait.
  void Read(const feed::DatasetState& state, const Opener& opener,
            std::function<void(absl::Status)> job);
  // Whether something is being opened or indexed, or waits for that.
  bool busy() const { return desks_.busy(); }

  // Which of an open dataset's samples that name means: all of them, or those of the configured
  // range. InvalidArgument: there are not so many.
  absl::StatusOr<plan::Range> RangeOf(const std::string& dataset,
                                      const feed::DatasetState& state) const;
  // The one that is open, as when it was last opened; null: it is not. Its errors are Open's.
  absl::StatusOr<State> FindOpen(const std::string& dataset, const Opener& opener) const;
  // Whether there is such a dataset, and this one may not open it.
  bool IsKeptFrom(const std::string& dataset, const Opener& opener) const {
    return offered()->IsKeptFrom(dataset, opener);
  }
  // What this one may open; nullopt: the daemon itself, which sees everything.
  std::vector<DatasetView> List(const std::optional<Opener>& opener = {}) const;

  // What is wrong with the state directory, for people; empty: nothing that is known.
  std::string state_trouble() const { return access_->trouble(); }
  // How often all files of a folder were looked at, or indexed, so far.
  uint64_t examinations() const { return open_.examinations(); }

 private:
  bool stopping() const { return stopping_.load(); }
  std::shared_ptr<const OfferedDatasets> offered() const;

  const bool any_path_;
  const std::shared_ptr<source::StateAccess> access_;  // with quarantines
  mutable base::Mutex mutex_;
  // Shared with calls under way.
  std::shared_ptr<const OfferedDatasets> offered_ PENSTOCK_GUARDED_BY(mutex_);
  std::atomic<bool> stopping_ = false;
  OpenDatasets open_;
  const DatasetLoader loader_;
  Desks desks_;  // last: their jobs use all of the above
};

}  // namespace penstock::app
