#include "server/rpc/domain_to_message.h"

namespace penstock::rpc {
namespace {

v1::Delivery MessageOf(Delivery delivery) {
  switch (delivery) {
    case Delivery::kHost:
      return v1::DELIVERY_HOST;
    case Delivery::kPinned:
      return v1::DELIVERY_PINNED;
    case Delivery::kDevice:
      return v1::DELIVERY_DEVICE;
  }
  return v1::DELIVERY_UNSPECIFIED;
}

v1::HandleKind MessageOf(HandleKind kind) {
  switch (kind) {
    case HandleKind::kUnspecified:
      return v1::HANDLE_KIND_UNSPECIFIED;
    case HandleKind::kIpc:
      return v1::HANDLE_KIND_IPC;
    case HandleKind::kVmm:
      return v1::HANDLE_KIND_VMM;
  }
  return v1::HANDLE_KIND_UNSPECIFIED;
}

void Fill(const Slab& from, v1::Slab& to) {
  to.set_id(from.id);
  to.set_bytes(from.bytes);
  to.set_kind(MessageOf(from.kind));
  to.set_handle(from.handle);
  to.set_canary_offset(from.canary_offset);
  to.set_canary(from.canary);
}

void Fill(const DeviceGrant& from, v1::DeviceGrant& to) {
  to.set_depth(from.depth);
  to.set_handle_kind(MessageOf(from.handle));
  to.set_handle_reason(from.handle_reason);
  for (const Slab& slab : from.slabs) Fill(slab, *to.add_slabs());
}

// The enums have the same numbers.
v1::DType MessageOf(base::DType type) { return static_cast<v1::DType>(type); }
static_assert(static_cast<int>(base::DType::kBool) == v1::DTYPE_BOOL);
static_assert(static_cast<int>(base::DType::kFloat64) == v1::DTYPE_FLOAT64);
static_assert(v1::DType_MAX == v1::DTYPE_FLOAT64);

void Fill(const Field& from, v1::Field& to) {
  to.set_name(from.name);
  to.set_dtype(MessageOf(from.type));
  to.mutable_shape()->Add(from.shape.begin(), from.shape.end());
  to.set_variable(from.variable);
}

void Fill(const Tensor& from, v1::Tensor& to) {
  to.set_name(from.field.name);
  to.set_dtype(MessageOf(from.field.type));
  to.mutable_shape()->Add(from.field.shape.begin(), from.field.shape.end());
  to.set_variable(from.field.variable);
  to.set_offset(from.offset);
  to.set_row_stride(from.row_stride);
  to.set_lengths_offset(from.lengths_offset);
}

}  // namespace

v1::OpenSessionResponse MessageOf(const SessionGrant& grant) {
  v1::OpenSessionResponse message;
  message.set_session_id(grant.session_id);
  message.set_fingerprint(grant.fingerprint);
  message.set_delivery(MessageOf(grant.delivery));
  message.set_row_bytes(grant.row_bytes);
  message.set_height(grant.shape.height);
  message.set_width(grant.shape.width);
  message.set_channels(grant.shape.channels);
  message.set_labels_offset(grant.labels_offset);
  message.set_ids_offset(grant.ids_offset);
  message.set_slot_bytes(grant.slot_bytes);
  message.set_samples(grant.samples);
  message.set_epoch_samples(grant.epoch_samples);
  message.set_classes(grant.classes);
  message.set_first_epoch_batches(grant.first_epoch_batches);
  message.set_epoch_batches(grant.epoch_batches);
  message.set_window(grant.window);
  message.set_quarantine_version(grant.quarantine_version);
  message.mutable_segments()->Add(grant.segments.begin(), grant.segments.end());
  for (const Tensor& tensor : grant.tensors) Fill(tensor, *message.add_tensors());
  message.set_labeled(grant.labeled);
  message.set_files(grant.files);
  if (grant.device) Fill(*grant.device, *message.mutable_device());
  if (grant.synthetic_seed) message.mutable_synthetic()->set_seed(*grant.synthetic_seed);
  return message;
}

v1::ListSlabsResponse MessageOf(const std::vector<Slab>& slabs) {
  v1::ListSlabsResponse message;
  for (const Slab& slab : slabs) Fill(slab, *message.add_slabs());
  return message;
}

v1::DescribeDatasetResponse MessageOf(const DatasetDescription& description) {
  v1::DescribeDatasetResponse message;
  message.set_name(description.name);
  message.set_samples(description.samples);
  message.set_first_sample(description.first_sample);
  message.set_epoch_samples(description.epoch_samples);
  message.set_digest(description.digest);
  message.set_content_digest(description.content_digest);
  message.set_kind(description.kind);
  if (description.row_shape) {
    v1::RowShape& shape = *message.mutable_row_shape();
    shape.set_height(description.row_shape->height);
    shape.set_width(description.row_shape->width);
    shape.set_channels(description.row_shape->channels);
  }
  for (const Field& field : description.fields) Fill(field, *message.add_fields());
  message.set_decoded(description.decoded);
  message.set_labeled(description.labeled);
  for (const std::string& name : description.classes) message.add_classes(name);
  return message;
}

v1::DescribeSamplesResponse MessageOf(const std::vector<SampleDescription>& samples) {
  v1::DescribeSamplesResponse message;
  for (const SampleDescription& sample : samples) {
    v1::SampleDescription& to = *message.add_samples();
    to.set_path(sample.path);
    to.set_label(sample.label);
  }
  return message;
}

v1::GetProgressResponse MessageOf(const Progress& progress) {
  v1::GetProgressResponse message;
  message.set_announced(progress.announced);
  message.set_taken(progress.taken);
  message.set_released(progress.released);
  message.set_window(progress.window);
  message.set_decoding(progress.decoding);
  message.set_copying(progress.copying);
  message.set_on_device(progress.on_device);
  message.set_device_depth(progress.device_depth);
  message.set_samples_decoded(progress.samples_decoded);
  message.set_samples_replaced(progress.samples_replaced);
  message.set_workers(progress.workers);
  message.set_workers_running(progress.workers_running);
  message.set_workers_stalled(progress.workers_stalled);
  message.set_workers_busy(progress.workers_busy);
  message.set_samples_per_second(progress.samples_per_second);
  message.set_sessions(progress.sessions);
  message.set_stalled_ms(progress.stalled_ms);
  message.set_stalled_reason(progress.stalled_reason);
  message.set_in_hand_ms(progress.in_hand_ms);
  message.set_in_hand(progress.in_hand);
  return message;
}

v1::IndexDatasetResponse MessageOf(const IndexProgress& progress) {
  v1::IndexDatasetResponse message;
  message.set_files_seen(progress.files_seen);
  message.set_done(progress.done);
  message.set_from_cache(progress.from_cache);
  message.set_samples(progress.samples);
  message.set_classes(progress.classes);
  message.set_warning(progress.warning);
  return message;
}

}  // namespace penstock::rpc
