// The client's gRPC calls to the daemon: once a session, never once a batch. Every call has a
// deadline. Only rpc.cc and generated files of the client include gRPC.
//
// **Thread safety**: any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "penstock/v1/admin.pb.h"
#include "penstock/v1/feed.pb.h"

namespace penstock::client {

class Rpc {
 public:
  // Whether this process may make calls. gRPC's threads and descriptors serve the process that
  // first used it; a forked child that called them would also break its parent's.
  //
  // **Errors**: FailedPrecondition in a process that was forked after that.
  static absl::Status CheckProcess();

  // Calls the daemon's socket at `address` with the doorway's ticket. Connects at the first call.
  // `interrupted` is ClientOptions::interrupted. **Requires**: CheckProcess() returned OK.
  Rpc(const std::string& address, const std::string& ticket,
      std::function<bool()> interrupted = {});
  ~Rpc();

  // **Errors** of all calls carry the daemon's message. Unavailable: it is gone. DeadlineExceeded:
  // it did not answer in time.
  absl::StatusOr<v1::GetVersionResponse> GetVersion(base::Duration timeout);
  absl::StatusOr<v1::DescribeDatasetResponse> DescribeDataset(
      const v1::DescribeDatasetRequest& request, base::Duration timeout);
  // `part` returns message after message, and nothing after the last.
  absl::StatusOr<v1::SendOrderResponse> SendOrder(
      const std::function<std::optional<v1::SendOrderRequest>()>& part, base::Duration timeout);
  absl::StatusOr<v1::OpenSessionResponse> OpenSession(const v1::OpenSessionRequest& request,
                                                      base::Duration timeout);
  absl::StatusOr<v1::DescribeSamplesResponse> DescribeSamples(
      const v1::DescribeSamplesRequest& request, base::Duration timeout);
  absl::StatusOr<v1::GetProgressResponse> GetProgress(uint64_t session_id, base::Duration timeout);
  absl::StatusOr<v1::ListSlabsResponse> ListSlabs(uint64_t session_id, base::Duration timeout);
  // Never asks `interrupted`, because a thread of the library's own calls it.
  absl::Status ReportUndecodable(const v1::ReportUndecodableRequest& request,
                                 base::Duration timeout);
  absl::Status CloseSession(uint64_t session_id, base::Duration timeout);
  absl::StatusOr<v1::ListQuarantineResponse> ListQuarantine(
      const v1::ListQuarantineRequest& request, base::Duration timeout);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::client
