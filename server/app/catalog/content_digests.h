// Full digests of datasets' content, made on request, and kept as long as their datasets are open.
// Whoever asks for one that is being made waits for that. Datasets are digested beside each other
// (desks.h): one whose storage does not answer holds up its own askers alone. Any thread may call;
// nothing here waits but the end.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/app/catalog/desks.h"
#include "server/rpc/controller.h"
#include "server/source/core/dataset.h"

namespace penstock::app {

class ContentDigests {
 public:
  using Done = rpc::Callback<std::string>;

  struct Options {
    size_t threads = 1;  // that read at once for one digest
    size_t most_askers = 256;
    size_t most_askers_of_a_user = 16;
    Desks::Options desks = {.most_threads = 16, .most_of_a_user = 2, .thread_name = "digest"};
  };
  explicit ContentDigests(const Options& options);
  ~ContentDigests();  // stops; a read in progress may hold it up

  // `done` is called once, on a digest's thread or here. `cancelled` is asked several times a
  // second; a digest whose askers have all cancelled is broken off. ResourceExhausted: too many
  // wait, of this user or in all.
  void Ask(std::shared_ptr<const source::Dataset> dataset, uint64_t user,
           std::function<bool()> cancelled, Done done);
  // Nothing is digested from now on; what waits is answered so.
  void Close();

 private:
  struct Asker {
    uint64_t user = 0;
    std::function<bool()> cancelled;
    Done done;
  };
  struct Job {
    std::shared_ptr<const source::Dataset> dataset;  // also with the catalogue and feeds
    std::vector<Asker> askers;
  };
  using Jobs = std::list<Job>;
  struct Made {
    std::weak_ptr<const source::Dataset> dataset;
    std::string digest;
  };

  std::optional<std::string> Known(const source::Dataset& dataset) PENSTOCK_REQUIRES(mutex_);
  absl::Status MayWait(uint64_t user) const PENSTOCK_REQUIRES(mutex_);
  bool GoOn(Jobs::iterator job);
  static bool Wanted(const Job& job);
  void Run(Jobs::iterator job);
  bool Finish(Jobs::iterator job, const absl::StatusOr<std::string>& digest);

  const Options options_;
  base::Mutex mutex_;
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  Jobs jobs_ PENSTOCK_GUARDED_BY(mutex_);  // each is being made, or waits for its desk
  std::vector<Made> made_ PENSTOCK_GUARDED_BY(mutex_);
  Desks desks_;  // last: its jobs use all of the above
};

}  // namespace penstock::app
