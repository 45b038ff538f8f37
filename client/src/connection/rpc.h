// The client's calls to the daemon over gRPC: once a session, never once a batch. Any thread. Each
// call has a deadline. The only files of the client with gRPC in them are rpc.cc and the generated
// ones.
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
  // To the daemon's socket at `address`, with the doorway's ticket. Connects at the first call.
  // `interrupted`: ClientOptions'.
  Rpc(const std::string& address, const std::string& ticket,
      std::function<bool()> interrupted = {});
  ~Rpc();

  // Errors carry the daemon's words. Unavailable: it is gone; DeadlineExceeded: it did not answer.
  absl::StatusOr<v1::GetVersionResponse> GetVersion(base::Duration timeout);
  absl::StatusOr<v1::DescribeDatasetResponse> DescribeDataset(
      const v1::DescribeDatasetRequest& request, base::Duration timeout);
  // `part` gives message after message, nothing after the last.
  absl::StatusOr<v1::SendOrderResponse> SendOrder(
      const std::function<std::optional<v1::SendOrderRequest>()>& part, base::Duration timeout);
  absl::StatusOr<v1::OpenSessionResponse> OpenSession(const v1::OpenSessionRequest& request,
                                                      base::Duration timeout);
  absl::StatusOr<v1::DescribeSamplesResponse> DescribeSamples(
      const v1::DescribeSamplesRequest& request, base::Duration timeout);
  absl::StatusOr<v1::GetProgressResponse> GetProgress(uint64_t session_id, base::Duration timeout);
  absl::StatusOr<v1::ListSlabsResponse> ListSlabs(uint64_t session_id, base::Duration timeout);
  absl::Status CloseSession(uint64_t session_id, base::Duration timeout);
  absl::StatusOr<v1::ListQuarantineResponse> ListQuarantine(
      const v1::ListQuarantineRequest& request, base::Duration timeout);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::client
