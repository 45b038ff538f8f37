// One way to one daemon: the doorway and the calls. Lives as long as a client, a session or a batch
// needs it; when the daemon dies it is replaced, never mended. Any thread.
#pragma once

#include <memory>
#include <string>

#include "client/src/attachment.h"
#include "client/src/doorway.h"
#include "client/src/rpc.h"

namespace penstock::client {

class Connection final : public Link, public std::enable_shared_from_this<Connection> {
 public:
  // FailedPrecondition says which versions met.
  static absl::StatusOr<std::shared_ptr<Connection>> Connect(const std::string& address,
                                                             const std::string& client);

  absl::StatusOr<v1::DescribeDatasetResponse> Describe(const std::string& dataset);
  absl::StatusOr<AttachmentHold> Open(const v1::OpenSessionRequest& request,
                                      base::TimePoint deadline);
  absl::StatusOr<uint64_t> Quarantined(const std::string& dataset);

  absl::Status Pump() override { return doorway_->Pump(); }
  std::shared_ptr<const posix::Mapping> Segment(uint32_t id) override {
    return doorway_->Segment(id);
  }
  absl::Status CloseSession(uint64_t session_id, base::Duration timeout) override;

 private:
  Connection(std::unique_ptr<Doorway> doorway, const std::string& address);
  absl::StatusOr<AttachmentHold> Attach(const v1::OpenSessionRequest& request,
                                        const v1::OpenSessionResponse& response,
                                        base::TimePoint deadline);

  const std::unique_ptr<Doorway> doorway_;
  Rpc rpc_;
};

}  // namespace penstock::client
