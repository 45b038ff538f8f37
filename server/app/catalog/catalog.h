// The datasets that this daemon serves: by name, or by path where it is a private one. Opening may
// index a million files, and storage may not answer, so that each dataset has a desk of its own
// (`desks.h`), at which one after the other is opened; everything else is answered at once. Any
// thread may call.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/app/catalog/desks.h"
#include "server/app/catalog/open_dataset.h"
#include "server/feed/engine/rows.h"
#include "server/rpc/controller.h"

namespace penstock::app {

// Who wants to open a dataset, or to see what there is.
struct Opener {
  uid_t uid = 0;
  std::vector<gid_t> groups;
  bool is_operator = false;  // may open and see all that is configured
};

struct DatasetView {
  std::string name, path;
  std::shared_ptr<feed::DatasetState> state;  // null until it was opened
  std::optional<RangeText> range = {};        // that the name means; none: all of it
};

class Catalog {
 public:
  // What is served, and when so much of a dataset is bad that it is served no more. What is open
  // stays as it is.
  struct Offer {
    std::vector<NamedDataset> datasets;
    feed::FaultPolicy::Options faults;
  };
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
    // The samples of an open dataset that slots hold rows of: what opening could not look at must
    // not come out of there. Nothing: not known. Waits a moment; a thread that opens calls it.
    std::function<std::optional<std::vector<uint64_t>>(const feed::DatasetState&)> in_slots = {};
  };
  using State = std::shared_ptr<feed::DatasetState>;

  explicit Catalog(Options options);
  ~Catalog();  // stops

  // For what is opened from now on.
  void SetOffer(Offer offer);

  // Nothing is opened from now on: what waits is answered so, an index being made is broken off.
  void Close();
  // Besides waits for the end of the thread, which a read in progress may hold up.
  void Stop();

  // Opens, or finds open and unchanged. `done` is called on one of the catalogue's threads, or
  // here.
  void Open(const std::string& dataset, const Opener& opener, rpc::Callback<State> done);
  // Which of an open dataset's samples that name means: all of them, or those of the configured
  // range. InvalidArgument: there are not so many.
  absl::StatusOr<plan::Range> RangeOf(const std::string& dataset,
                                      const feed::DatasetState& state) const;
  // The one that is open, as when it was last opened; null: it is not. Its errors are Open's.
  absl::StatusOr<State> FindOpen(const std::string& dataset, const Opener& opener) const;
  // The same as Open, telling how far it is.
  void Index(const std::string& dataset, const Opener& opener, std::function<bool()> cancelled,
             rpc::Callback<rpc::IndexProgress> progress);

  // Whether there is such a dataset, and this one may not open it.
  bool IsKeptFrom(const std::string& dataset, const Opener& opener) const;
  // What this one may open; nullopt: the daemon itself, which sees everything.
  std::vector<DatasetView> List(const std::optional<Opener>& opener = {}) const;
  // What is wrong with the state directory, for people; empty: nothing that is known.
  std::string state_trouble() const { return access_->trouble(); }
  // How often all files of a folder were looked at, or indexed, so far.
  uint64_t examinations() const;
  // Whether something is being opened or indexed, or waits for that.
  bool busy() const { return desks_.busy(); }
  // Does what reads in that dataset's files, on a thread that may wait for them. Not OK: it may not
  // read, since it is the end, or too many wait.
  void Read(const feed::DatasetState& state, const Opener& opener,
            std::function<void(absl::Status)> job);

 private:
  struct Entry {
    State state;
    std::string stamp;
    // Of a folder: when a look at all its files began that found what is open. Whoever asked before
    // that needs no other.
    base::TimePoint examined{};
  };
  struct Opened {
    State state;
    bool from_cache = false;
    std::string warning;
    bool all_examined = true;
  };
  absl::StatusOr<NamedDataset> Locate(const std::string& dataset, const Opener* opener) const;
  static bool MayOpen(const NamedDataset& dataset, const Offer& offer, const Opener& opener);
  // Opens, or finds open, what is there at `asked` or later: when it was asked for.
  absl::StatusOr<Opened> OpenNow(const NamedDataset& dataset, base::TimePoint asked,
                                 std::function<bool(uint64_t)> seen);
  absl::StatusOr<OpenedDataset> OpenFiles(const NamedDataset& dataset, base::TimePoint asked,
                                          const std::function<bool(uint64_t)>& seen);
  absl::StatusOr<OpenedDataset> OpenParts(const NamedDataset& dataset, base::TimePoint asked,
                                          const std::function<bool(uint64_t)>& seen);
  void Remember(const NamedDataset& dataset, const std::string& key) PENSTOCK_REQUIRES(mutex_);
  static bool IsSame(const Entry& entry, const DatasetIdentity& identity);
  State FindExamined(const NamedDataset& dataset, base::TimePoint asked);
  void NoteExamined(const State& state, base::TimePoint begun);
  State FindUnchanged(const NamedDataset& dataset, const DatasetIdentity& identity);
  absl::StatusOr<State> Adopt(const NamedDataset& dataset, OpenedDataset opened);
  bool IsSafeToShare(const feed::DatasetState& state, const OpenedDataset& opened) const;
  absl::Status UnknownDataset(const std::string& dataset, const Opener* opener) const;
  std::string NamesFor(const Opener* opener) const;
  bool stopping() const { return stopping_.load(); }
  std::shared_ptr<const Offer> offer() const;

  OpeningOptions OpeningOf() const;

  const Options options_;
  const std::shared_ptr<source::StateAccess> access_;  // with quarantines
  mutable base::Mutex mutex_;
  // Shared with calls under way.
  std::shared_ptr<const Offer> offer_ PENSTOCK_GUARDED_BY(mutex_);
  std::atomic<bool> stopping_ = false;
  uint64_t examinations_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Entry> open_ PENSTOCK_GUARDED_BY(mutex_);  // by identity's key
  // Their keys, by the path that the configuration or a client has; once opened.
  std::map<std::string, std::string> configured_ PENSTOCK_GUARDED_BY(mutex_);
  Desks desks_;  // last: their jobs use all of the above
};

}  // namespace penstock::app
