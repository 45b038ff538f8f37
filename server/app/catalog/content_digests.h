// SHA-256 digests of datasets' content, computed on request and kept while the dataset is open.
// Requests for a digest in progress wait for it. One that has not started is queued for each user
// who waits, and made once, by the first of them who has a thread. Datasets are digested in
// parallel (desks.h): one whose storage blocks delays only its own requests.
// **Thread safety**: any thread. Only the destructor blocks.
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
    size_t threads = 1;  // reading threads per digest
    size_t most_askers = 256;
    size_t most_askers_of_a_user = 16;
    Desks::Options desks = {.most_threads = 16,
                            .most_of_a_user = 2,
                            // More than may ask: what was made for another user stays queued.
                            .most_waiting_of_a_user = 64,
                            .thread_name = "digest",
                            .priority = posix::Priority::kLowest};
  };
  explicit ContentDigests(const Options& options);
  ~ContentDigests();  // a read in progress may delay it

  // Calls `done` once, on a digest's thread or within this call. `cancelled` is checked several
  // times a second; a digest that nobody waits for any more is cancelled. **Errors**:
  // ResourceExhausted if too many requests are waiting, in total or of this user.
  void Ask(std::shared_ptr<const source::Dataset> dataset, uint64_t user,
           std::function<bool()> cancelled, const Done& done);
  // Computes nothing any more; cancels waiting requests.
  void Close();

 private:
  struct Asker {
    uint64_t user = 0;
    std::function<bool()> cancelled;
    Done done;
  };
  struct Job {
    std::shared_ptr<const source::Dataset> dataset;  // shared with the catalogue and feeds
    std::vector<Asker> askers = {};
    bool has_begun = false;
  };
  // Shared by jobs_ and the thread that makes the digest. Queues refer to it weakly, because it may
  // be queued for several users.
  using SharedJob = std::shared_ptr<Job>;
  struct Made {
    std::weak_ptr<const source::Dataset> dataset;
    std::string digest;
  };

  std::optional<std::string> Known(const source::Dataset& dataset) PENSTOCK_REQUIRES(mutex_);
  absl::Status MayWait(uint64_t user) const PENSTOCK_REQUIRES(mutex_);
  SharedJob JobFor(std::shared_ptr<const source::Dataset> dataset) PENSTOCK_REQUIRES(mutex_);
  void Queue(const SharedJob& job, uint64_t user);
  void Refuse(const SharedJob& job, uint64_t user, const absl::Status& error);
  bool Begin(Job& job);
  bool GoOn(const Job& job);
  static bool Wanted(const Job& job);
  static bool WaitsAt(const Job& job, uint64_t user);
  void Run(const SharedJob& job);
  bool Finish(const SharedJob& job, const absl::StatusOr<std::string>& digest);

  const Options options_;
  base::Mutex mutex_;
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  // Each is running, or waiting for its queue; all that they hold is guarded, too.
  std::list<SharedJob> jobs_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<Made> made_ PENSTOCK_GUARDED_BY(mutex_);
  Desks desks_;  // declared last, because its jobs use all members above
};

}  // namespace penstock::app
