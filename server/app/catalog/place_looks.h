// Looks at what datasets are made of, with the eyes of the daemon: its user, its mount namespace.
// For `penstockctl check`, which may be elsewhere.
//
// Several threads look at once, so that a place whose storage hangs holds up no other place. Its
// thread is left behind; until it comes back, requests for that place wait for it and no other
// thread looks there. Threads and requests are limited in total and for each user.
//
// **Ownership**: owned by the service. **Thread safety**: any thread; Tick on one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

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
  struct Options {
    base::Duration patience = std::chrono::seconds(3);
    size_t most_threads = 64;
    size_t most_threads_of_a_user = 8;
    size_t most_waiting = 64;
    size_t most_waiting_of_a_user = 8;
  };
  PlaceLooks() : PlaceLooks(LookAtPlace, Options{}) {}
  PlaceLooks(Look look, const Options& options);
  ~PlaceLooks();  // answers Unavailable to those who wait

  // Sets `place` of each dataset that has files, and calls `done` on the thread of Tick, soon after
  // the patience at the latest. A place that did not answer until then is SIGHT_SILENT. **Errors**:
  // ResourceExhausted if too many wait, in total or of this user.
  using Done = rpc::Callback<v1::ListDatasetsResponse>;
  void Ask(v1::ListDatasetsResponse datasets, uint64_t user, Done done);

  // Starts threads for those who wait, and answers those whose places are known or whose patience
  // is over. Call it several times a second.
  void Tick(base::TimePoint now);

 private:
  struct Sight;
  class Board;
  struct Waiting {
    v1::ListDatasetsResponse datasets;
    uint64_t user = 0;
    Done done;
    base::TimePoint until;
    std::map<std::string, std::shared_ptr<Sight>> sights = {};  // by path; shared with the board
  };
  bool Take(Waiting& waiting);
  std::list<Waiting> TakeAnswered(base::TimePoint now);

  const Options options_;
  // Shared with the threads that look, which may outlive everything else.
  const std::shared_ptr<Board> board_;
  base::Mutex mutex_;
  std::list<Waiting> waiting_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::app
