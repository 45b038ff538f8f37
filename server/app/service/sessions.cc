#include "server/app/service/sessions.h"

#include <utility>

#include "common/telemetry/log.h"

namespace penstock::app {
namespace {

rpc::Field ToField(const source::SampleField& field) {
  return {field.name, field.type, field.shape, field.variable, field.target};
}

// The image's shape, if there is one.
rpc::ImageRowShape ToRowShape(const source::RowLayout& layout) {
  const source::Tensor* image = layout.image();
  if (image == nullptr) return {};
  return {image->shape[0], image->shape[1], image->shape[2]};
}

std::optional<rpc::SampleDescription::FilePart> FindImage(const source::Dataset& dataset,
                                                          uint64_t sample) {
  std::optional<source::Extent> extent = dataset.extent(sample);
  if (!extent) return std::nullopt;
  return rpc::SampleDescription::FilePart{std::move(extent->file), extent->offset, extent->bytes};
}

}  // namespace

rpc::DatasetDescription ToDescription(const std::string& name, const feed::DatasetState& state,
                                      const plan::Range& range) {
  const source::Dataset& dataset = *state.dataset;
  rpc::DatasetDescription description = {.name = name,
                                         .kind = std::string(dataset.kind()),
                                         .row_shape = {},
                                         .fields = {},
                                         .decoded = dataset.storage() == source::Storage::kEncoded,
                                         .labeled = dataset.labeled(),
                                         .samples = range.count,
                                         .first_sample = range.first,
                                         .epoch_samples = range.count,
                                         .digest = dataset.digest(),
                                         .classes = dataset.classes()};
  if (state.mixture != nullptr) description.epoch_samples = state.mixture->epoch_samples();
  for (const source::SampleField& field : dataset.fields())
    description.fields.push_back(ToField(field));
  if (description.decoded) return description;
  const absl::StatusOr<source::Selection> all = dataset.Select({});
  if (all.ok() && all->layout.image() != nullptr) description.row_shape = ToRowShape(all->layout);
  return description;
}

absl::StatusOr<std::vector<rpc::SampleDescription>> ToDescriptions(
    const std::string& name, const feed::DatasetState& dataset, const plan::Range& range,
    const std::vector<uint64_t>& ids) {
  const source::Dataset& opened = *dataset.dataset;
  std::vector<rpc::SampleDescription> descriptions;
  descriptions.reserve(ids.size());
  for (const uint64_t id : ids) {
    if (!range.Contains(id))
      return absl::InvalidArgumentError(absl::StrCat("dataset '", name, "' has no sample ", id,
                                                     "; it has ", range.first, " to ",
                                                     range.first + (range.count - 1)));
    descriptions.push_back({opened.FindPath(id), opened.label(id), FindImage(opened, id)});
  }
  return descriptions;
}

void LogOpened(const session::Grant& grant, const feed::OpenRequest& request) {
  PENSTOCK_LOG(kInfo, "session_opened", {"session", grant.session},
               {"dataset", request.dataset_name}, {"user", request.user}, {"pid", request.pid},
               {"rank", request.share.rank}, {"world", request.share.world},
               {"batch", request.share.batch_size}, {"window", request.window},
               {"delivery", session::DeliveryName(grant.delivery)},
               {"reason", request.delivery_reason});
  if (request.trace)
    PENSTOCK_LOG(kInfo, "session_traced", {"session", grant.session},
                 {"trace_id", request.trace->trace_id}, {"parent_id", request.trace->parent_id});
  if (grant.device)
    PENSTOCK_LOG(kInfo, "device_session", {"session", grant.session},
                 {"gpu", request.device->gpu.ToString()}, {"depth", grant.device->depth},
                 {"handle", grant.device->handle.kind == cuda::HandleKind::kIpc ? "ipc" : "vmm"},
                 {"reason", grant.device->handle.reason}, {"slabs", grant.device->slabs.size()});
}

}  // namespace penstock::app
