#include "client/src/connection/connection.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/src/connection/request.h"
#include "client/src/core/fields.h"
#include "common/base/dtype.h"
#include "common/shm/protocol.h"

namespace penstock::client {
namespace {

constexpr base::Duration kHandshakeTimeout = std::chrono::seconds(5);
constexpr base::Duration kDigestTimeout = std::chrono::hours(24);      // it reads every byte
constexpr base::Duration kDescribeTimeout = std::chrono::minutes(30);  // it may index first
constexpr base::Duration kDescriptorsTimeout = std::chrono::seconds(5);
constexpr base::Duration kListTimeout = std::chrono::seconds(10);
constexpr uint32_t kPinnedDepth = 3;                               // if the session does not say
constexpr base::Duration kSlabsTimeout = std::chrono::seconds(1);  // blocks a call to Next

base::Duration LeftUntil(base::TimePoint deadline) {
  return std::max(deadline - base::Now(), base::Duration::zero());
}

absl::Status CheckVersion(const v1::GetVersionResponse& daemon, const std::string& address) {
  return base::Annotate(
      shm::CheckDaemon({daemon.oldest_protocol_version(), daemon.protocol_version()}),
      absl::StrCat(address, " (version ", daemon.daemon_version(), ")"));
}

v1::Delivery DeliveryOf(Delivery delivery) {
  switch (delivery) {
    case Delivery::kDevice:
      return v1::DELIVERY_DEVICE;
    case Delivery::kPinned:
      return v1::DELIVERY_PINNED;
    default:
      return v1::DELIVERY_HOST;
  }
}

HandleKind HandleOf(v1::HandleKind kind) {
  switch (kind) {
    case v1::HANDLE_KIND_IPC:
      return HandleKind::kIpc;
    case v1::HANDLE_KIND_VMM:
      return HandleKind::kVmm;
    default:
      return HandleKind::kAuto;
  }
}

SlabOffer OfferOf(const v1::Slab& slab) {
  return {slab.id(),     slab.bytes(),         HandleOf(slab.kind()),
          slab.handle(), slab.canary_offset(), slab.canary()};
}

// The reasons against better deliveries, then the reason for this one.
std::string ReasonOf(const Ask& ask, const v1::OpenSessionResponse& response) {
  if (response.has_synthetic())
    return absl::StrCat(ask.reason, ask.reason.empty() ? "" : "; ",
                        "synthetic rows are made by the consumer; only labels are delivered");
  if (ask.delivery != Delivery::kDevice) return ask.reason;
  const std::string& why = response.device().handle_reason();
  return absl::StrCat(ask.reason, ask.reason.empty() ? "" : "; ",
                      HandlePhrase(HandleOf(response.device().handle_kind())), " handle",
                      why.empty() ? "" : ": ", why);
}

void AddDelivery(const Ask& ask, uint32_t depth, const v1::OpenSessionResponse& response,
                 Grant& grant) {
  grant.delivery = ask.delivery;
  grant.reason = ReasonOf(ask, response);
  grant.device_depth = depth == 0 ? kPinnedDepth : depth;
  if (ask.delivery != Delivery::kDevice) return;
  grant.handle = HandleOf(response.device().handle_kind());
  if (response.device().depth() != 0) grant.device_depth = response.device().depth();
}

SessionPhase PhaseOf(v1::SessionPhase phase) {
  switch (phase) {
    case v1::SESSION_PHASE_RUNNING:
      return SessionPhase::kRunning;
    case v1::SESSION_PHASE_WAITING_FOR_TRAINER:
      return SessionPhase::kWaitingForTrainer;
    case v1::SESSION_PHASE_DECODING:
      return SessionPhase::kDecoding;
    case v1::SESSION_PHASE_COPYING:
      return SessionPhase::kCopying;
    case v1::SESSION_PHASE_STALLED:
      return SessionPhase::kStalled;
    case v1::SESSION_PHASE_FINISHED:
    case v1::SESSION_PHASE_ENDED:
      return SessionPhase::kEnded;
    default:
      return SessionPhase::kUnknown;
  }
}

Progress ProgressOf(const v1::GetProgressResponse& response) {
  return {.phase = PhaseOf(response.phase()),
          .announced = response.announced(),
          .taken = response.taken(),
          .released = response.released(),
          .window = response.window(),
          .decoding = response.decoding(),
          .copying = response.copying(),
          .on_device = response.on_device(),
          .device_depth = response.device_depth(),
          .samples_decoded = response.samples_decoded(),
          .samples_replaced = response.samples_replaced(),
          .workers = response.workers(),
          .workers_running = response.workers_running(),
          .workers_stalled = response.workers_stalled(),
          .workers_busy = response.workers_busy(),
          .samples_per_second = response.samples_per_second(),
          .sessions = response.sessions(),
          .stalled_ms = response.stalled_ms(),
          .stalled_reason = response.stalled_reason(),
          .in_hand_ms = response.in_hand_ms(),
          .in_hand = response.in_hand()};
}

// The sizes are checked later, with the grant.
TensorPlace PlaceOf(const v1::Tensor& tensor) {
  TensorPlace place = {.field = FieldOf(tensor),
                       .offset = tensor.offset(),
                       .row_stride = tensor.row_stride(),
                       .lengths_offset = tensor.lengths_offset()};
  if (base::IsKnown(static_cast<base::DType>(place.field.type)))
    place.row_bytes = place.field.elements() * ElementBytes(place.field.type);
  return place;
}

Grant GrantOf(const v1::OpenSessionRequest& request, const v1::OpenSessionResponse& response) {
  Grant grant;
  grant.session_id = response.session_id();
  grant.fingerprint = response.fingerprint();
  grant.dataset = request.feed().dataset();
  grant.files = response.files();
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
  grant.epoch_samples = response.epoch_samples();
  grant.classes = response.classes();
  grant.first_epoch_batches = response.first_epoch_batches();
  grant.epoch_batches = response.epoch_batches();
  if (response.has_synthetic())
    grant.synthetic = {response.synthetic().seed(), response.samples(), response.classes()};
  grant.window = response.window();
  grant.labeled = response.labeled();
  for (const v1::Tensor& tensor : response.tensors()) grant.tensors.push_back(PlaceOf(tensor));
  return grant;
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
  return rpc_.DescribeDataset(request, kDescribeTimeout);
}

absl::StatusOr<std::string> Connection::ContentDigest(const std::string& dataset) {
  v1::DescribeDatasetRequest request;
  request.set_dataset(dataset);
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
                       const std::shared_ptr<Gpu>& gpu, uint32_t depth, base::TimePoint deadline) {
  const absl::StatusOr<v1::OpenSessionResponse> response =
      rpc_.OpenSession(request, LeftUntil(deadline));
  if (!response.ok()) return {response.status()};
  Grant grant = GrantOf(request, *response);
  AddDelivery(ask, depth, *response, grant);
  Tried tried = {Attach(grant, *response, gpu, deadline), grant.handle};
  if (!tried.opened.ok()) (void)CloseSession(response->session_id(), kHandshakeTimeout);
  return tried;
}

absl::StatusOr<Opened> Connection::Attach(const Grant& grant,
                                          const v1::OpenSessionResponse& response,
                                          const std::shared_ptr<Gpu>& gpu,
                                          base::TimePoint deadline) {
  if (!grant.synthetic && response.delivery() != DeliveryOf(grant.delivery)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the daemon offers ", v1::Delivery_Name(response.delivery()),
        ", but the session asked for ", v1::Delivery_Name(DeliveryOf(grant.delivery))));
  }
  const base::TimePoint soon = base::Now() + kDescriptorsTimeout;
  PENSTOCK_ASSIGN_OR_RETURN(
      Doorway::SessionDescriptors descriptors,
      doorway_->AwaitSession(response.session_id(), std::min(deadline, soon)));
  const bool host = grant.delivery == Delivery::kHost;
  PENSTOCK_ASSIGN_OR_RETURN(
      Attachment * attachment,
      Attachment::Make(grant, descriptors.control, std::move(descriptors.event), shared_from_this(),
                       host ? nullptr : gpu));
  Opened opened{AttachmentHold(attachment)};
  if (const absl::Status proved = Prove(response, *attachment); !proved.ok()) {
    attachment->Abandon();  // our caller closes the session
    return proved;
  }
  if (grant.delivery != Delivery::kPinned || grant.synthetic) return opened;
  attachment->Hold();
  absl::StatusOr<PinnedStage*> stage =
      PinnedStage::Make(AttachmentHold(attachment), gpu, grant.device_depth);
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
    PENSTOCK_RETURN_IF_ERROR(slabs_.Open(OfferOf(slab), *attachment.gpu()));
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
    PENSTOCK_RETURN_IF_ERROR(slabs_.Open(OfferOf(slab), gpu));
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
  return ProgressOf(response);
}

absl::Status Connection::CloseSession(uint64_t session_id, base::Duration timeout) {
  return rpc_.CloseSession(session_id, timeout);
}

}  // namespace penstock::client
