#include "client/src/connection/connection.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/src/connection/request.h"
#include "client/src/connection/response.h"
#include "common/base/store_environment.h"
#include "common/shm/protocol.h"

namespace penstock::client {
namespace {

constexpr base::Duration kHandshakeTimeout = std::chrono::seconds(5);
constexpr base::Duration kDigestTimeout = std::chrono::hours(24);      // it reads every byte
constexpr base::Duration kDescribeTimeout = std::chrono::minutes(30);  // it may index first
constexpr base::Duration kDescriptorsTimeout = std::chrono::seconds(5);
constexpr base::Duration kListTimeout = std::chrono::seconds(10);
constexpr base::Duration kSlabsTimeout = std::chrono::seconds(1);  // blocks a call to Next

base::Duration LeftUntil(base::TimePoint deadline) {
  return std::max(deadline - base::Now(), base::Duration::zero());
}

absl::Status CheckVersion(const v1::GetVersionResponse& daemon, const std::string& address) {
  return base::Annotate(
      shm::CheckDaemon({daemon.oldest_protocol_version(), daemon.protocol_version()}),
      absl::StrCat(address, " (version ", daemon.daemon_version(), ")"));
}

v1::Delivery ToDelivery(Delivery delivery) {
  switch (delivery) {
    case Delivery::kDevice:
      return v1::DELIVERY_DEVICE;
    case Delivery::kPinned:
      return v1::DELIVERY_PINNED;
    default:
      return v1::DELIVERY_HOST;
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<Connection>> Connection::Connect(const std::string& address,
                                                                const std::string& client,
                                                                std::function<bool()> interrupted) {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Doorway> doorway,
                            Doorway::Enter(address, client, kHandshakeTimeout));
  // Shared by the client, its sessions' openers and their attachments.
  std::shared_ptr<Connection> connection(
      new Connection(std::move(doorway), address, std::move(interrupted)));
  PENSTOCK_ASSIGN_OR_RETURN(const v1::GetVersionResponse version,
                            connection->rpc_.GetVersion(kHandshakeTimeout));
  PENSTOCK_RETURN_IF_ERROR(CheckVersion(version, address));
  return connection;
}

Connection::Connection(std::unique_ptr<Doorway> doorway, const std::string& address,
                       std::function<bool()> interrupted)
    : doorway_(std::move(doorway)),
      rpc_(address, doorway_->ticket(), std::move(interrupted)),
      slabs_([this](uint32_t id) {
        return doorway_->AwaitSlab(id, base::Now() + kDescriptorsTimeout);
      }) {}

absl::StatusOr<v1::DescribeDatasetResponse> Connection::Describe(const std::string& dataset) {
  v1::DescribeDatasetRequest request;
  request.set_dataset(dataset);
  request.set_store_environment(base::StoreEnvironmentFor(dataset));
  request.set_store_variables(base::StoreVariableMarksFor(dataset));
  return rpc_.DescribeDataset(request, kDescribeTimeout);
}

absl::StatusOr<std::string> Connection::ContentDigest(const std::string& dataset) {
  v1::DescribeDatasetRequest request;
  request.set_dataset(dataset);
  request.set_store_environment(base::StoreEnvironmentFor(dataset));
  request.set_store_variables(base::StoreVariableMarksFor(dataset));
  request.set_content_digest(true);
  PENSTOCK_ASSIGN_OR_RETURN(const v1::DescribeDatasetResponse response,
                            rpc_.DescribeDataset(request, kDigestTimeout));
  if (!response.content_digest().empty()) return response.content_digest();
  return absl::UnimplementedError(
      "this daemon cannot compute content digests; install the same version of Penstock for daemon "
      "and client");
}

absl::StatusOr<v1::DescribeSamplesResponse> Connection::DescribeSamples(
    const std::string& dataset, std::span<const uint64_t> ids) {
  v1::DescribeSamplesRequest request;
  request.set_dataset(dataset);
  request.mutable_sample_ids()->Add(ids.begin(), ids.end());
  return rpc_.DescribeSamples(request, kDescribeTimeout);
}

absl::StatusOr<uint64_t> Connection::SendOrder(const std::vector<uint64_t>& order,
                                               base::TimePoint deadline) {
  size_t number = 0;
  const auto part = [&]() -> std::optional<v1::SendOrderRequest> {
    if (number == OrderParts(order)) return std::nullopt;
    return MakeOrderPart(order, number++);
  };
  PENSTOCK_ASSIGN_OR_RETURN(const v1::SendOrderResponse response,
                            rpc_.SendOrder(part, LeftUntil(deadline)));
  return response.order();
}

Tried Connection::Open(const v1::OpenSessionRequest& request, const Ask& ask,
                       const GpuPlaces& places, base::TimePoint deadline) {
  const absl::StatusOr<v1::OpenSessionResponse> response =
      rpc_.OpenSession(request, LeftUntil(deadline));
  if (!response.ok()) return {response.status()};
  const Grant grant = ToGrant(request, ask, places.depth, *response);
  Tried tried = {Attach(grant, *response, places, deadline), grant.handle};
  if (!tried.opened.ok()) (void)CloseSession(response->session_id(), kHandshakeTimeout);
  return tried;
}

absl::StatusOr<Opened> Connection::Attach(const Grant& grant,
                                          const v1::OpenSessionResponse& response,
                                          const GpuPlaces& places, base::TimePoint deadline) {
  if (!grant.synthetic && response.delivery() != ToDelivery(grant.delivery)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the daemon offers ", v1::Delivery_Name(response.delivery()),
        ", but the session asked for ", v1::Delivery_Name(ToDelivery(grant.delivery))));
  }
  const base::TimePoint soon = base::Now() + kDescriptorsTimeout;
  PENSTOCK_ASSIGN_OR_RETURN(
      Doorway::SessionDescriptors descriptors,
      doorway_->AwaitSession(response.session_id(), std::min(deadline, soon)));
  const bool host = grant.delivery == Delivery::kHost;
  PENSTOCK_ASSIGN_OR_RETURN(
      Attachment * attachment,
      Attachment::Make(grant, descriptors.control, std::move(descriptors.event), shared_from_this(),
                       host ? nullptr : places.gpu));
  Opened opened{AttachmentHold(attachment)};
  if (const absl::Status proved = Prove(response, *attachment); !proved.ok()) {
    attachment->Abandon();  // our caller closes the session
    return proved;
  }
  if (grant.delivery != Delivery::kPinned || grant.synthetic) return opened;
  attachment->Hold();
  absl::StatusOr<PinnedStage*> stage =
      PinnedStage::Make(AttachmentHold(attachment), places.gpu, grant.device_depth, places.makers);
  if (!stage.ok()) {
    attachment->Abandon();
    return stage.status();
  }
  opened.stage = LeaseOwnerHold<PinnedStage>(*stage);
  return opened;
}

// Checks, before the first batch, that this process can use the memory that batches will be in.
absl::Status Connection::Prove(const v1::OpenSessionResponse& response, Attachment& attachment) {
  for (const v1::Slab& slab : response.device().slabs()) {
    PENSTOCK_RETURN_IF_ERROR(slabs_.Open(ToSlabOffer(slab), *attachment.gpu()));
  }
  if (attachment.grant().delivery != Delivery::kPinned || attachment.grant().synthetic)
    return absl::OkStatus();
  for (const uint32_t segment : response.segments()) {
    const absl::Status known = attachment.Know(segment);
    if (!known.ok() && !absl::IsNotFound(known)) return known;  // it may already be withdrawn
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const PinnedSegment>> Connection::Pin(uint32_t id, Gpu& gpu) {
  std::shared_ptr<const posix::Mapping> mapping = doorway_->Segment(id);
  if (mapping == nullptr) return std::shared_ptr<const PinnedSegment>();
  return pins_.Pin(id, std::move(mapping), gpu);
}

absl::Status Connection::FetchSlabs(uint64_t session_id, Gpu& gpu) {
  PENSTOCK_ASSIGN_OR_RETURN(const v1::ListSlabsResponse list,
                            rpc_.ListSlabs(session_id, kSlabsTimeout));
  for (const v1::Slab& slab : list.slabs()) {
    PENSTOCK_RETURN_IF_ERROR(slabs_.Open(ToSlabOffer(slab), gpu));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Connection::Quarantined(const std::string& dataset) {
  PENSTOCK_ASSIGN_OR_RETURN(const BadSamples bad, Bad(dataset));
  return bad.total;
}

absl::StatusOr<BadSamples> Connection::Bad(const std::string& dataset) {
  v1::ListQuarantineRequest request;  // for its total and one entry
  request.set_dataset(dataset);
  request.set_page_size(1);
  PENSTOCK_ASSIGN_OR_RETURN(const v1::ListQuarantineResponse list,
                            rpc_.ListQuarantine(request, kListTimeout));
  BadSamples bad = {.total = list.total()};
  if (list.entries_size() > 0) {
    bad.path = list.entries(0).path();
    bad.reason = list.entries(0).reason();
  }
  return bad;
}

absl::StatusOr<Progress> Connection::GetProgress(uint64_t session_id, base::Duration timeout) {
  PENSTOCK_ASSIGN_OR_RETURN(const v1::GetProgressResponse response,
                            rpc_.GetProgress(session_id, timeout));
  return ToProgress(response);
}

absl::Status Connection::ReportUndecodable(uint64_t session_id, std::span<const uint64_t> samples,
                                           base::Duration timeout) {
  v1::ReportUndecodableRequest request;
  request.set_session_id(session_id);
  request.mutable_samples()->Add(samples.begin(), samples.end());
  return rpc_.ReportUndecodable(request, timeout);
}

absl::Status Connection::CloseSession(uint64_t session_id, base::Duration timeout) {
  return rpc_.CloseSession(session_id, timeout);
}

}  // namespace penstock::client
