// Calls the daemon's AdminService through plain functions, and turns gRPC's errors into messages
// that a person can act on. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "penstock/v1/admin.pb.h"

namespace grpc {
class Channel;
}

namespace penstock::ctl {

class AdminClient {
 public:
  // `address` is the path of the daemon's socket.
  static std::unique_ptr<AdminClient> Make(const std::string& address);
  // `address` is for messages, as is `advice`: what to look at if the daemon does not answer.
  static std::unique_ptr<AdminClient> Make(const std::shared_ptr<grpc::Channel>& channel,
                                           const std::string& address, const std::string& advice);
  virtual ~AdminClient() = default;

  static constexpr base::Duration kPatience = std::chrono::seconds(10);
  // How long a call waits at most, unless it says something else. At first kPatience.
  void set_patience(base::Duration patience) { patience_ = patience; }
  virtual absl::StatusOr<v1::GetStatusResponse> GetStatus() = 0;
  virtual absl::StatusOr<v1::ListSessionsResponse> ListSessions() = 0;
  virtual absl::StatusOr<v1::ListWorkersResponse> ListWorkers() = 0;
  virtual absl::StatusOr<v1::ListDatasetsResponse> ListDatasets() = 0;
  // With what the daemon sees at their places.
  virtual absl::StatusOr<v1::ListDatasetsResponse> LookAtDatasets() = 0;
  // Merges all pages.
  virtual absl::StatusOr<v1::ListQuarantineResponse> ListQuarantine(const std::string& dataset) = 0;
  virtual absl::StatusOr<v1::ClearQuarantineResponse> ClearQuarantine(
      const std::string& dataset) = 0;

  virtual absl::StatusOr<v1::SetWorkersResponse> SetWorkers(uint32_t count) = 0;
  virtual absl::StatusOr<v1::ReloadResponse> Reload() = 0;

  // Runs until no session is left in an epoch, or until the deadline (0: a day). Returns the last
  // response; its done() tells which. Calls `update` from time to time.
  virtual absl::StatusOr<v1::DrainResponse> Drain(
      const v1::DrainRequest& request, base::Duration deadline,
      const std::function<void(const v1::DrainResponse&)>& update) = 0;
  // Runs until `update` returns false.
  virtual absl::Status WatchStatus(
      const v1::WatchStatusRequest& request,
      const std::function<bool(const v1::WatchStatusResponse&)>& update) = 0;

  // Records a trace of this duration and passes it on piece by piece.
  virtual absl::Status GetTrace(uint32_t milliseconds,
                                const std::function<void(const v1::GetTraceResponse&)>& piece) = 0;

  // Takes as long as it needs, a day at most.
  virtual absl::StatusOr<v1::DigestDatasetResponse> DigestDataset(const std::string& dataset) = 0;
  // The same. Calls `progress` from time to time, and returns the last response. False ends the
  // call with Cancelled.
  virtual absl::StatusOr<v1::IndexDatasetResponse> IndexDataset(
      const v1::IndexDatasetRequest& request,
      const std::function<bool(const v1::IndexDatasetResponse&)>& progress) = 0;

 protected:
  base::Duration patience_ = kPatience;
};

}  // namespace penstock::ctl
