// Closes datasets on threads of their own, so that nobody has to wait who happens to be the last to
// use one: the last close of a file on a FUSE server waits for that server, and freeing the memory
// of a large index takes a while, too.
//
// **Thread safety**: any thread; calls wait for the start of a thread at most, except where noted.
// **Ownership**: owned by the catalogue. A dataset that outlives it is closed by its last owner.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/loose_threads.h"
#include "server/source/core/dataset.h"

namespace penstock::source {

class DatasetCloser : public std::enable_shared_from_this<DatasetCloser> {
 public:
  // `most`: that may be in the middle of closing when another one is opened.
  explicit DatasetCloser(size_t most) : most_(most) {}
  ~DatasetCloser() { Stop(); }

  // One without files (Storage::kNothing, kMade) is closed by its last owner: that takes no time.
  std::shared_ptr<const Dataset> Share(std::unique_ptr<const Dataset> dataset);
  // Whether opening this one has to wait for room: it has files.
  static bool IsCounted(const Dataset& dataset);
  // Waits until another dataset may be opened, for `patience` at most, while `is_wanted` says so.
  // **Errors**: ResourceExhausted says for how long one has been closing, and the log which one;
  // Cancelled.
  absl::Status AwaitRoom(base::Duration patience, const std::function<bool()>& is_wanted);
  // Waits until all are closed. Those that follow are closed by their last owners.
  void Stop();

 private:
  // A dataset that is being closed.
  struct Closing {
    posix::LooseThreads::Thread thread;
    std::string what;  // for people
    base::TimePoint begun;

    bool has_ended() const { return thread.ended->load(std::memory_order_acquire); }
    int64_t Seconds(base::TimePoint now) const;
  };
  void Close(std::unique_ptr<const Dataset> dataset);
  void Sweep() PENSTOCK_REQUIRES(mutex_);
  // The one that began first; null: all have ended.
  const Closing* Longest() const PENSTOCK_REQUIRES(mutex_);
  void SayIfTheyHang(base::TimePoint now) PENSTOCK_REQUIRES(mutex_);

  const size_t most_;
  base::Mutex mutex_;
  bool stopped_ PENSTOCK_GUARDED_BY(mutex_) = false;
  // In the order in which they began. Those that have ended stay until another one is opened.
  std::list<Closing> closing_ PENSTOCK_GUARDED_BY(mutex_);
  base::TimePoint said_ PENSTOCK_GUARDED_BY(mutex_){};
};

}  // namespace penstock::source
