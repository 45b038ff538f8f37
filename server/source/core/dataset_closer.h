// Closes datasets on threads of their own, so that nobody has to wait who happens to be the last to
// use one: the last close of a file on a FUSE server waits for that server, and freeing the memory
// of a large index takes a while, too.
//
// **Thread safety**: any thread; calls wait for the start of a thread at most.
// **Ownership**: owned by the catalogue. A dataset that outlives it is closed by its last owner.
#pragma once

#include <cstddef>
#include <memory>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/loose_threads.h"
#include "server/source/core/dataset.h"

namespace penstock::source {

class DatasetCloser : public std::enable_shared_from_this<DatasetCloser> {
 public:
  static constexpr size_t kMost = 64;  // that are being closed when another one may be opened

  std::shared_ptr<const Dataset> Share(std::unique_ptr<const Dataset> dataset);
  // **Errors**: ResourceExhausted while storage that does not answer delays too many.
  absl::Status MayOpen();
  // Waits until all are closed. Those that follow are closed by their last owners.
  void Stop();

 private:
  void Close(std::unique_ptr<const Dataset> dataset);

  base::Mutex mutex_;
  // Null: stopped.
  std::unique_ptr<posix::LooseThreads> threads_ PENSTOCK_GUARDED_BY(mutex_) =
      std::make_unique<posix::LooseThreads>(kMost);
};

}  // namespace penstock::source
