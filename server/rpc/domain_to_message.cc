#include "server/rpc/domain_to_message.h"

namespace penstock::rpc {

v1::OpenSessionResponse MessageOf(const SessionGrant& grant, const decode::Spec& spec) {
  v1::OpenSessionResponse message;
  message.set_session_id(grant.session_id);
  message.set_fingerprint(grant.fingerprint);
  message.set_delivery(v1::DELIVERY_HOST);
  message.set_row_bytes(grant.row_bytes);
  message.set_height(spec.height);
  message.set_width(spec.width);
  message.set_channels(3);
  message.set_labels_offset(grant.labels_offset);
  message.set_ids_offset(grant.ids_offset);
  message.set_slot_bytes(grant.slot_bytes);
  message.set_samples(grant.samples);
  message.set_classes(grant.classes);
  message.set_first_epoch_batches(grant.first_epoch_batches);
  message.set_epoch_batches(grant.epoch_batches);
  message.set_window(grant.window);
  message.set_quarantine_version(grant.quarantine_version);
  message.mutable_segments()->Add(grant.segments.begin(), grant.segments.end());
  return message;
}

v1::DescribeDatasetResponse MessageOf(const DatasetDescription& description) {
  v1::DescribeDatasetResponse message;
  message.set_name(description.name);
  message.set_samples(description.samples);
  message.set_digest(description.digest);
  for (const std::string& name : description.classes) message.add_classes(name);
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
