#include "server/rpc/domain_to_message.h"

#include <string>

#include "server/rpc/target_to_domain.h"

namespace penstock::rpc {
namespace {

v1::Delivery EnumOf(session::Delivery delivery) {
  switch (delivery) {
    case session::Delivery::kHost:
      return v1::DELIVERY_HOST;
    case session::Delivery::kPinned:
      return v1::DELIVERY_PINNED;
    case session::Delivery::kDevice:
      return v1::DELIVERY_DEVICE;
  }
  return v1::DELIVERY_UNSPECIFIED;
}

v1::HandleKind EnumOf(cuda::HandleKind kind) {
  switch (kind) {
    case cuda::HandleKind::kIpc:
      return v1::HANDLE_KIND_IPC;
    case cuda::HandleKind::kVmm:
      return v1::HANDLE_KIND_VMM;
  }
  return v1::HANDLE_KIND_UNSPECIFIED;
}

template <typename Bytes>
std::string TextOf(const Bytes& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void Fill(const exporting::SlabFacts& from, v1::Slab& to) {
  to.set_id(from.id);
  to.set_bytes(from.bytes);
  to.set_kind(EnumOf(from.kind));
  if (from.kind == cuda::HandleKind::kIpc) to.set_handle(TextOf(from.ipc));
  to.set_canary_offset(from.canary_offset);
  to.set_canary(TextOf(from.canary));
}

void Fill(const exporting::DeviceGrant& from, v1::DeviceGrant& to) {
  to.set_depth(from.depth);
  to.set_handle_kind(EnumOf(from.handle.kind));
  to.set_handle_reason(from.handle.reason);
  for (const exporting::SlabFacts& slab : from.slabs) Fill(slab, *to.add_slabs());
}

void Fill(const session::HostGrant& from, const pool::SlotLayout& slot, v1::MadeBatches& to) {
  to.set_data_offset(slot.made_offset);
  to.set_max_batch_bytes(from.max_batch_bytes);
  to.set_host_token(TextOf(from.token));
}

// The enums have equal values.
v1::DType EnumOf(base::DType type) { return static_cast<v1::DType>(type); }
static_assert(static_cast<int>(base::DType::kBool) == v1::DTYPE_BOOL);
static_assert(static_cast<int>(base::DType::kFloat64) == v1::DTYPE_FLOAT64);
static_assert(v1::DType_MAX == v1::DTYPE_FLOAT64);

void Fill(const Field& from, v1::Field& to) {
  to.set_name(from.name);
  to.set_dtype(EnumOf(from.type));
  to.mutable_shape()->Add(from.shape.begin(), from.shape.end());
  to.set_variable(from.variable);
  if (from.target.kind != base::TargetKind::kNone) FillTarget(from.target, *to.mutable_target());
}

void Fill(const source::Tensor& from, const pool::SlotLayout& slot, v1::Tensor& to) {
  const pool::Block& block = slot.blocks[from.block];
  to.set_name(from.name);
  to.set_dtype(EnumOf(from.type));
  to.mutable_shape()->Add(from.shape.begin(), from.shape.end());
  to.set_variable(from.lengths_block.has_value());
  to.set_offset(block.offset + from.offset);
  to.set_row_stride(block.row_bytes);
  if (from.lengths_block) to.set_lengths_offset(slot.blocks[*from.lengths_block].offset);
}

// Where everything is in a slot.
void FillLayout(const session::Grant& grant, v1::OpenSessionResponse& message) {
  const pool::SlotLayout& slot = grant.layout;
  if (const source::Tensor* image = grant.row.image(); image != nullptr) {
    message.set_row_bytes(slot.blocks.front().row_bytes);
    message.set_height(image->shape[0]);
    message.set_width(image->shape[1]);
    message.set_channels(image->shape[2]);
  }
  message.set_labels_offset(slot.labels_offset);
  message.set_ids_offset(slot.ids_offset);
  message.set_slot_bytes(slot.slot_bytes);
  for (const source::Tensor& tensor : grant.row.tensors) Fill(tensor, slot, *message.add_tensors());
}

}  // namespace

v1::OpenSessionResponse MessageOf(const session::Grant& grant) {
  v1::OpenSessionResponse message;
  message.set_session_id(grant.session);
  message.set_fingerprint(grant.fingerprint);
  message.set_files(grant.files);
  message.set_digest(grant.digest);
  message.set_delivery(EnumOf(grant.delivery));
  FillLayout(grant, message);
  message.set_samples(grant.samples);
  message.set_epoch_samples(grant.epoch_samples);
  message.set_classes(grant.classes);
  message.set_labeled(grant.labeled);
  message.set_first_epoch_batches(grant.first_epoch_batches);
  message.set_epoch_batches(grant.epoch_batches);
  message.set_window(grant.window);
  message.set_quarantine_version(grant.quarantine_version);
  if (grant.synthetic_seed) message.mutable_synthetic()->set_seed(*grant.synthetic_seed);
  if (grant.device) Fill(*grant.device, *message.mutable_device());
  if (grant.host) Fill(*grant.host, grant.layout, *message.mutable_made());
  return message;
}

v1::ListSlabsResponse MessageOf(const std::vector<exporting::SlabFacts>& slabs) {
  v1::ListSlabsResponse message;
  for (const exporting::SlabFacts& slab : slabs) Fill(slab, *message.add_slabs());
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
    if (!sample.image) continue;
    to.set_offset(sample.image->offset);
    to.set_bytes(sample.image->bytes);
    if (sample.image->file != sample.path) to.set_file(sample.image->file);
  }
  return message;
}

v1::GetProgressResponse MessageOf(const Progress& progress) {
  v1::GetProgressResponse message;
  message.set_phase(progress.phase);
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
  if (progress.python) *message.mutable_python() = *progress.python;
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
  message.set_samples_fetched(progress.samples_fetched);
  message.set_samples_to_fetch(progress.samples_to_fetch);
  message.set_bytes_fetched(progress.bytes_fetched);
  message.set_shards(progress.shards);
  if (!progress.exported) return message;
  message.mutable_exported()->set_shard(progress.exported->shard);
  message.mutable_exported()->set_samples(progress.exported->samples);
  message.mutable_exported()->set_index(progress.exported->index);
  return message;
}

}  // namespace penstock::rpc
