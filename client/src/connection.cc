#include "client/src/connection.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/shm/doorway_wire.h"

namespace penstock::client {
namespace {

constexpr base::Duration kHelloTimeout = std::chrono::seconds(5);
constexpr base::Duration kDescribeTimeout = std::chrono::minutes(30);  // it may index first
constexpr base::Duration kDescriptorsTimeout = std::chrono::seconds(5);
constexpr base::Duration kListTimeout = std::chrono::seconds(10);

absl::Status CheckVersion(const v1::GetVersionResponse& daemon, const std::string& address) {
  if (daemon.protocol_version() == shm::kProtocolVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the daemon at ", address, " (version ", daemon.daemon_version(),
                   ") speaks protocol ", daemon.protocol_version(), ", this client speaks ",
                   shm::kProtocolVersion, "; install the same version of Penstock for both"));
}

Grant GrantOf(const v1::OpenSessionRequest& request, const v1::OpenSessionResponse& response) {
  Grant grant;
  grant.session_id = response.session_id();
  grant.fingerprint = response.fingerprint();
  grant.quarantine_version = response.quarantine_version();
  grant.batch_size = request.batch_size();
  grant.row_bytes = response.row_bytes();
  grant.height = response.height();
  grant.width = response.width();
  grant.channels = response.channels();
  grant.labels_offset = response.labels_offset();
  grant.ids_offset = response.ids_offset();
  grant.slot_bytes = response.slot_bytes();
  grant.samples = response.samples();
  grant.classes = response.classes();
  grant.first_epoch_batches = response.first_epoch_batches();
  grant.epoch_batches = response.epoch_batches();
  return grant;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Connection>> Connection::Connect(const std::string& address,
                                                                const std::string& client) {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Doorway> doorway,
                            Doorway::Enter(address, client, kHelloTimeout));
  // Shared by the client, its sessions' openers and what they attached.
  std::shared_ptr<Connection> connection(new Connection(std::move(doorway), address));
  PENSTOCK_ASSIGN_OR_RETURN(const v1::GetVersionResponse version,
                            connection->rpc_.GetVersion(kHelloTimeout));
  PENSTOCK_RETURN_IF_ERROR(CheckVersion(version, address));
  return connection;
}

Connection::Connection(std::unique_ptr<Doorway> doorway, const std::string& address)
    : doorway_(std::move(doorway)), rpc_(address, doorway_->ticket()) {}

absl::StatusOr<v1::DescribeDatasetResponse> Connection::Describe(const std::string& dataset) {
  v1::DescribeDatasetRequest request;
  request.set_dataset(dataset);
  return rpc_.DescribeDataset(request, kDescribeTimeout);
}

absl::StatusOr<AttachmentHold> Connection::Open(const v1::OpenSessionRequest& request,
                                                base::TimePoint deadline) {
  const base::Duration left =
      std::max(deadline - base::SteadyClock().Now(), base::Duration::zero());
  PENSTOCK_ASSIGN_OR_RETURN(const v1::OpenSessionResponse response,
                            rpc_.OpenSession(request, left));
  absl::StatusOr<AttachmentHold> attached = Attach(request, response, deadline);
  if (!attached.ok()) (void)CloseSession(response.session_id(), kHelloTimeout);
  return attached;
}

absl::StatusOr<AttachmentHold> Connection::Attach(const v1::OpenSessionRequest& request,
                                                  const v1::OpenSessionResponse& response,
                                                  base::TimePoint deadline) {
  if (response.delivery() != v1::DELIVERY_HOST) {
    return absl::FailedPreconditionError(absl::StrCat("the daemon would deliver by ",
                                                      v1::Delivery_Name(response.delivery()),
                                                      ", this client takes host delivery"));
  }
  const base::TimePoint soon = base::SteadyClock().Now() + kDescriptorsTimeout;
  PENSTOCK_ASSIGN_OR_RETURN(
      Doorway::SessionDescriptors descriptors,
      doorway_->AwaitSession(response.session_id(), std::min(deadline, soon)));
  PENSTOCK_ASSIGN_OR_RETURN(Attachment * attachment,
                            Attachment::Make(GrantOf(request, response), descriptors.control,
                                             std::move(descriptors.event), shared_from_this()));
  return AttachmentHold(attachment);
}

absl::StatusOr<uint64_t> Connection::Quarantined(const std::string& dataset) {
  PENSTOCK_ASSIGN_OR_RETURN(const v1::ListQuarantineResponse list,
                            rpc_.ListQuarantine(dataset, kListTimeout));
  return static_cast<uint64_t>(list.entries_size());
}

absl::Status Connection::CloseSession(uint64_t session_id, base::Duration timeout) {
  return rpc_.CloseSession(session_id, timeout);
}

}  // namespace penstock::client
