// Many HTTP requests at a time, by one thread and libcurl. It knows nothing of stores.
//
// Connections and handles are kept and used again. Certificates are verified. Redirects are
// followed only by requests that say so. An answer counts only if it is of the range that was asked
// for, and complete. A request for a range that takes unusually long is sent once more (hedging.h).
// **Thread safety**: any thread. `done` and sinks are called on the transfers' thread, and must not
// wait.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "server/store/client/attempt.h"
#include "server/store/client/curl.h"
#include "server/store/client/hedging.h"
#include "server/store/client/socket_loop.h"
#include "server/store/client/transfer.h"
#include "server/store/client/transfer_counts.h"

namespace penstock::store {

class Transfers {
 public:
  struct Options {
    std::string ca_file = {};         // certificates to trust; empty: the system's
    std::string ca_folder = {};       // the same, as a folder with hashed names
    std::string proxy = {};           // empty: as the environment says (https_proxy, no_proxy, …)
    uint32_t most_connections = 512;  // to one host
    base::Duration connect_timeout = std::chrono::seconds(10);
    base::Duration stall_timeout = std::chrono::seconds(10);  // at less than 1 KiB/s
    Hedging::Options hedging = {};
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

  // Calls `task` once on the transfers' thread, after about a millisecond, so that what happens
  // until then is done together; on the caller's thread if they have been stopped.
  void Post(std::function<void()> task);

  TransferCounts counts() const;

 private:
  struct Transfer;
  using Ptr = std::shared_ptr<Transfer>;  // shared by the entries of its attempts

  void Serve();
  base::Duration RunPosted();
  void Begin(const Ptr& transfer);
  bool AddAttempt(const Ptr& transfer);
  void EndAttempt(Attempt& attempt);
  void CollectEnded();
  void CollectEnded(CURL* handle, CURLcode code);
  void End(Transfer& transfer, TransferAnswer answer);
  void HedgeLateOnes();
  void EndAll();
  CURL* TakeHandle(const TransferRequest& request);

  const Curl& curl_;
  const Options options_;
  // All of these belong to the thread.
  SocketLoop loop_;
  Hedging hedging_;
  std::map<CURL*, Ptr> running_;              // by the handles of their attempts
  std::multimap<base::TimePoint, Ptr> late_;  // by the time at which they are sent once more
  std::vector<CURL*> idle_;                   // handles

  mutable base::Mutex mutex_;
  std::vector<Ptr> given_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> posted_ PENSTOCK_GUARDED_BY(mutex_);
  base::TimePoint posted_due_ PENSTOCK_GUARDED_BY(mutex_) = {};
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  TransferCounts counts_ PENSTOCK_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace penstock::store
