#include "client/src/connection/response.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "client/src/core/fields.h"
#include "common/base/dtype.h"

namespace penstock::client {
namespace {

constexpr uint32_t kPinnedDepth = 3;  // if the session does not say

HandleKind ToHandleKind(v1::HandleKind kind) {
  switch (kind) {
    case v1::HANDLE_KIND_IPC:
      return HandleKind::kIpc;
    case v1::HANDLE_KIND_VMM:
      return HandleKind::kVmm;
    default:
      return HandleKind::kAuto;
  }
}

// The reasons against better deliveries, then the reason for this one.
std::string ReasonOf(const Ask& ask, const v1::OpenSessionResponse& response) {
  if (response.has_synthetic())
    return absl::StrCat(ask.reason, ask.reason.empty() ? "" : "; ",
                        "synthetic rows are made by the consumer; only labels are delivered");
  if (ask.delivery != Delivery::kDevice) return ask.reason;
  const std::string& why = response.device().handle_reason();
  return absl::StrCat(ask.reason, ask.reason.empty() ? "" : "; ",
                      HandlePhrase(ToHandleKind(response.device().handle_kind())), " handle",
                      why.empty() ? "" : ": ", why);
}

void AddDelivery(const Ask& ask, uint32_t depth, const v1::OpenSessionResponse& response,
                 Grant& grant) {
  grant.delivery = ask.delivery;
  grant.reason = ReasonOf(ask, response);
  grant.device_depth = depth == 0 ? kPinnedDepth : depth;
  if (ask.delivery != Delivery::kDevice) return;
  grant.handle = ToHandleKind(response.device().handle_kind());
  if (response.device().depth() != 0) grant.device_depth = response.device().depth();
}

// The sizes are checked later, with the grant.
TensorPlace ToTensorPlace(const v1::Tensor& tensor) {
  TensorPlace place = {.field = ToField(tensor),
                       .offset = tensor.offset(),
                       .row_stride = tensor.row_stride(),
                       .lengths_offset = tensor.lengths_offset()};
  if (base::IsKnown(static_cast<base::DType>(place.field.type)))
    place.row_bytes = place.field.elements() * ElementBytes(place.field.type);
  return place;
}

SessionPhase ToPhase(v1::SessionPhase phase) {
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

// The rows that are made of places have the size that was asked for. A daemon that sends no places,
// because it is older, is noticed by the size of its rows.
void SetPlaces(const v1::ImageDecoding& image, Grant& grant) {
  const auto set = [&grant](const auto& crop) {
    grant.height = crop.height();
    grant.width = crop.width();
    grant.channels = 3;
  };
  if (image.has_recipe()) {
    image.recipe().has_resize_center_crop() ? set(image.recipe().resize_center_crop())
                                            : set(image.recipe().random_resized_crop());
  } else {
    image.has_resize_center_crop() ? set(image.resize_center_crop())
                                   : set(image.random_resized_crop());
  }
  grant.place_bytes = image.undecoded().place_bytes();
}

}  // namespace

Grant ToGrant(const v1::OpenSessionRequest& request, const Ask& ask, uint32_t depth,
              const v1::OpenSessionResponse& response) {
  Grant grant;
  grant.session_id = response.session_id();
  grant.fingerprint = response.fingerprint();
  grant.dataset = request.feed().dataset();
  grant.files = response.files();
  grant.digest = response.digest();
  grant.quarantine_version = response.quarantine_version();
  grant.batch_size = request.batch_size();
  grant.row_bytes = response.row_bytes();
  grant.height = response.height();
  grant.width = response.width();
  grant.channels = response.channels();
  if (request.feed().image().has_undecoded()) SetPlaces(request.feed().image(), grant);
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
  if (response.has_made()) {
    grant.made = {.data_offset = response.made().data_offset(),
                  .max_batch_bytes = response.made().max_batch_bytes(),
                  .host_token = response.made().host_token()};
  }
  grant.fail_on_bad_sample = request.fail_on_bad_sample();
  grant.window = response.window();
  grant.labeled = response.labeled();
  for (const v1::Tensor& tensor : response.tensors())
    grant.tensors.push_back(ToTensorPlace(tensor));
  AddDelivery(ask, depth, response, grant);
  return grant;
}

SlabOffer ToSlabOffer(const v1::Slab& slab) {
  return {slab.id(),     slab.bytes(),         ToHandleKind(slab.kind()),
          slab.handle(), slab.canary_offset(), slab.canary()};
}

namespace {

std::optional<PythonProgress> ToPython(const v1::GetProgressResponse& response) {
  if (!response.has_python()) return std::nullopt;
  const v1::PythonProgress& python = response.python();
  return PythonProgress{.has_host = python.has_host(),
                        .cores = python.cores(),
                        .has_batch_in_hand = python.has_batch_in_hand(),
                        .in_sample = python.in_sample(),
                        .sample = python.sample(),
                        .worker = python.worker(),
                        .worker_pid = python.worker_pid()};
}

}  // namespace

Progress ToProgress(const v1::GetProgressResponse& response) {
  return {.phase = ToPhase(response.phase()),
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
          .in_hand = response.in_hand(),
          .python = ToPython(response)};
}

}  // namespace penstock::client
