// Looks at what datasets are made of, with the eyes of the daemon: its user, its mount namespace.
// For `penstockctl check`, which may be elsewhere.
//
// One thread looks at a time, and it is left behind if the storage does not answer; then the
// requests after it get "no answer" until it comes back.
//
// **Ownership**: owned by the service. **Thread safety**: any thread; Tick on one.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "penstock/v1/admin.pb.h"
#include "server/rpc/controller.h"

namespace penstock::app {

// The path's first part that this process may not enter or read, and the type of its file system.
v1::DatasetPlace LookAtPlace(const std::string& path);

class PlaceLooks {
 public:
  using Look = std::function<v1::DatasetPlace(const std::string& path)>;
  explicit PlaceLooks(Look look = LookAtPlace, base::Duration patience = std::chrono::seconds(3));
  ~PlaceLooks();  // answers Unavailable to those who wait

  // Sets `place` of each dataset that has files, and calls `done` on the thread of Tick, soon after
  // `patience` at the latest. **Errors**: ResourceExhausted if too many wait.
  using Done = rpc::Callback<v1::ListDatasetsResponse>;
  void Ask(v1::ListDatasetsResponse datasets, Done done);

  // Answers those whose places are known or whose patience is over. Call it several times a second.
  void Tick(base::TimePoint now);

 private:
  struct Round;
  struct Waiting {
    v1::ListDatasetsResponse datasets;
    Done done;
    base::TimePoint until;
    std::shared_ptr<Round> round = {};  // null: not begun
  };
  std::vector<Waiting> TakeAnswered(base::TimePoint now);
  void Begin(Waiting& waiting) PENSTOCK_REQUIRES(mutex_);

  const Look look_;
  const base::Duration patience_;
  base::Mutex mutex_;
  std::deque<Waiting> waiting_ PENSTOCK_GUARDED_BY(mutex_);
  std::shared_ptr<Round> current_ PENSTOCK_GUARDED_BY(mutex_);  // the last that has begun
};

}  // namespace penstock::app
