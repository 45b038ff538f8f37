// Many HTTP requests at a time, by one thread and libcurl. It knows nothing of stores.
//
// Connections are kept and used again. Certificates are verified. Redirects are followed only by
// requests that say so. An answer counts only if it is of the range that was asked for, and
// complete.
// **Thread safety**: any thread. `done` and sinks are called on the transfers' thread, and must not
// wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "server/store/client/curl.h"
#include "server/store/client/transfer.h"

namespace penstock::store {

class Transfers {
 public:
  struct Options {
    std::string ca_file = {};         // certificates to trust; empty: the system's
    std::string ca_folder = {};       // the same, as a folder with hashed names
    std::string proxy = {};           // empty: as the environment says (https_proxy, no_proxy, …)
    uint32_t most_connections = 256;  // to one host
    base::Duration connect_timeout = std::chrono::seconds(10);
    base::Duration stall_timeout = std::chrono::seconds(20);  // without a byte
  };
  using Done = std::function<void(TransferAnswer)>;

  // **Requires**: `curl` outlives this.
  Transfers(const Curl& curl, const Options& options);
  ~Transfers();  // calls Stop
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // Ends all transfers with Cancelled, and those that are started later, too.
  void Stop();

  // Calls `done` once, even if the transfer cannot begin.
  void Start(TransferRequest request, Done done);
  // Waits for the answer. **Requires**: not on the transfers' thread.
  TransferAnswer Perform(TransferRequest request);

  struct Counts {
    uint64_t requests = 0, bytes = 0;  // of answers that succeeded, as far as they got
    uint64_t under_way = 0;
  };
  Counts counts() const;

 private:
  class Transfer;
  struct Multi;

  void Serve();
  void Begin(std::unique_ptr<Transfer> transfer);
  void CollectEnded();
  void EndAll();

  const Curl& curl_;
  const Options options_;
  const std::unique_ptr<Multi> multi_;                  // libcurl's, of the thread
  std::map<void*, std::unique_ptr<Transfer>> running_;  // by their handles; of the thread
  std::atomic<uint64_t> requests_{0}, bytes_{0}, under_way_{0};
  mutable base::Mutex mutex_;
  std::vector<std::unique_ptr<Transfer>> given_ PENSTOCK_GUARDED_BY(mutex_);
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace penstock::store
