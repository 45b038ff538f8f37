// The daemon's AdminService as plain functions; one thread. What gRPC says becomes the words that a
// person can act on.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "penstock/v1/admin.pb.h"

namespace penstock::ctl {

class AdminClient {
 public:
  // `address` is the path of the daemon's socket.
  static std::unique_ptr<AdminClient> Make(const std::string& address);
  virtual ~AdminClient() = default;

  // Each waits at most 10 s.
  virtual absl::StatusOr<v1::GetStatusResponse> GetStatus() = 0;
  virtual absl::StatusOr<v1::ListSessionsResponse> ListSessions() = 0;
  virtual absl::StatusOr<v1::ListWorkersResponse> ListWorkers() = 0;
  virtual absl::StatusOr<v1::ListDatasetsResponse> ListDatasets() = 0;
  // All pages as one.
  virtual absl::StatusOr<v1::ListQuarantineResponse> ListQuarantine(const std::string& dataset) = 0;
  virtual absl::StatusOr<v1::ClearQuarantineResponse> ClearQuarantine(
      const std::string& dataset) = 0;

  virtual absl::StatusOr<v1::SetWorkersResponse> SetWorkers(uint32_t count) = 0;
  virtual absl::StatusOr<v1::ReloadResponse> Reload() = 0;

  // Until nothing is left, or the deadline (0: a day); the last message of it, and whether nothing
  // is. `update` is told now and then.
  virtual absl::StatusOr<v1::DrainResponse> Drain(
      const v1::DrainRequest& request, base::Duration deadline,
      const std::function<void(const v1::DrainResponse&)>& update) = 0;
  // Until `update` says false.
  virtual absl::Status WatchStatus(
      const v1::WatchStatusRequest& request,
      const std::function<bool(const v1::WatchStatusResponse&)>& update) = 0;

  // A trace of so long, piece by piece.
  virtual absl::Status GetTrace(uint32_t milliseconds,
                                const std::function<void(const v1::GetTraceResponse&)>& piece) = 0;

  // As long as it takes, a day at most.
  virtual absl::StatusOr<v1::DigestDatasetResponse> DigestDataset(const std::string& dataset) = 0;
  // The same; `progress` is told now and then. The last message of it.
  virtual absl::StatusOr<v1::IndexDatasetResponse> IndexDataset(
      const std::string& dataset,
      const std::function<void(const v1::IndexDatasetResponse&)>& progress) = 0;
};

}  // namespace penstock::ctl
