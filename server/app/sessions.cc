#include "server/app/sessions.h"

#include <utility>

#include "common/telemetry/log.h"

namespace penstock::app {
namespace {

std::optional<cuda::HandleKind> WishOf(rpc::HandleKind kind) {
  switch (kind) {
    case rpc::HandleKind::kUnspecified:
      return std::nullopt;
    case rpc::HandleKind::kIpc:
      return cuda::HandleKind::kIpc;
    case rpc::HandleKind::kVmm:
      return cuda::HandleKind::kVmm;
  }
  return std::nullopt;
}

rpc::HandleKind KindOf(cuda::HandleKind kind) {
  return kind == cuda::HandleKind::kIpc ? rpc::HandleKind::kIpc : rpc::HandleKind::kVmm;
}

exporting::DeviceRequest WishOf(const rpc::DeviceTarget& target) {
  return {.gpu = {.bytes = target.uuid},
          .depth = target.depth,
          .kind = WishOf(target.handle),
          .client = {.pid = target.pid, .pid_namespace = target.pid_namespace}};
}

template <typename Bytes>
std::string TextOf(const Bytes& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

rpc::Delivery DeliveryOf(const feed::OpenRequest& request) {
  if (request.device) return rpc::Delivery::kDevice;
  return request.pinned ? rpc::Delivery::kPinned : rpc::Delivery::kHost;
}

absl::string_view NameOf(rpc::Delivery delivery) {
  switch (delivery) {
    case rpc::Delivery::kHost:
      return "host";
    case rpc::Delivery::kPinned:
      return "pinned";
    case rpc::Delivery::kDevice:
      return "device";
  }
  return "";
}

rpc::Field FieldOf(const source::Field& field) {
  return {field.name, field.type, field.shape, field.variable};
}

// Of the image, where there is one.
rpc::RowShape ShapeOf(const source::RowLayout& layout) {
  const source::Tensor* image = layout.image();
  if (image == nullptr) return {};
  return {image->shape[0], image->shape[1], image->shape[2]};
}

std::vector<rpc::Tensor> TensorsOf(const feed::Grant& grant) {
  std::vector<rpc::Tensor> tensors;
  for (const source::Tensor& from : grant.row.tensors) {
    const pool::Block& block = grant.layout.blocks[from.block];
    rpc::Tensor to = {.field = {from.name, from.type, from.shape, from.lengths_block.has_value()},
                      .offset = block.offset + from.offset,
                      .row_stride = block.row_bytes};
    if (from.lengths_block) to.lengths_offset = grant.layout.blocks[*from.lengths_block].offset;
    tensors.push_back(std::move(to));
  }
  return tensors;
}

// What was asked of samples, against what they are.
absl::Status CheckDecoding(const rpc::SessionRequest& from, const feed::DatasetState& dataset) {
  const rpc::Decoding decoding = from.decoding;
  const bool encoded = dataset.dataset->storage() == source::Storage::kEncoded;
  if (encoded && decoding == rpc::Decoding::kNone)
    return absl::InvalidArgumentError(absl::StrCat(
        "dataset '", from.dataset,
        "' holds images, which are decoded: say how (a crop), there are no rows as they are "
        "stored"));
  if (!encoded && decoding == rpc::Decoding::kAsked)
    return absl::InvalidArgumentError(absl::StrCat(
        "dataset '", from.dataset, "' (", dataset.dataset->kind(),
        ") has rows that need no decoding: ask for no crop, flip or other decoding of it"));
  return absl::OkStatus();
}

bool IsRandom(const decode::Spec& spec) {
  return spec.geometry == decode::Geometry::kRandomResizedCrop || spec.flip_probability > 0;
}

// What names places in the image does not follow it to other places.
absl::Status CheckPlaces(const rpc::SessionRequest& from, const feed::DatasetState& dataset,
                         const source::Selection& selection) {
  if (dataset.dataset->storage() != source::Storage::kEncoded || !IsRandom(from.spec))
    return absl::OkStatus();
  const std::vector<source::Field> fields = dataset.dataset->fields();
  for (size_t i = 0; i < selection.fields.size(); ++i) {
    if (!fields[selection.fields[i]].placed || from.fields[i].as_stored) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "'", from.fields[i].name,
        "' names places in the image, and a random crop or flip moves the "
        "image but not it; ask for a center crop without a flip, or say that you want it as it is "
        "stored (as_stored)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<source::Selection> SelectionOf(const rpc::SessionRequest& from,
                                              const feed::DatasetState& dataset) {
  std::vector<source::FieldRequest> requests;
  for (const rpc::FieldRequest& request : from.fields)
    requests.push_back({request.name, request.max_length, request.as_stored});
  absl::StatusOr<source::Selection> selection = dataset.dataset->Select(requests);
  if (!selection.ok())
    return base::Annotate(selection.status(), absl::StrCat("dataset '", from.dataset, "'"));
  PENSTOCK_RETURN_IF_ERROR(CheckPlaces(from, dataset, *selection));
  return selection;
}

// The samples that are asked for: within those that the dataset's name means.
absl::StatusOr<plan::Range> RangeOf(const rpc::SessionRequest& from, const FeedParts& parts) {
  if (!from.range) return parts.range;
  if (parts.dataset->mixture != nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("dataset '", from.dataset,
                     "' is a mixture, of which no range can be taken; give ranges to its parts in "
                     "the configuration, or an order"));
  PENSTOCK_RETURN_IF_ERROR(base::Annotate(plan::Validate(*from.range, parts.range),
                                          absl::StrCat("dataset '", from.dataset, "'")));
  return *from.range;
}

absl::StatusOr<plan::Windows> WindowsOf(const rpc::SessionRequest& from,
                                        const feed::DatasetState& dataset) {
  plan::Windows windows = from.windows;
  if (from.order != plan::Order::kShuffledInWindows || windows.shard_samples != 0) return windows;
  windows.shard_samples = dataset.dataset->shard_samples();
  if (windows.shard_samples != 0) return windows;
  return absl::InvalidArgumentError(
      absl::StrCat("dataset '", from.dataset, "' (", dataset.dataset->kind(),
                   ") has no shards of its own to shuffle in windows; say how many consecutive "
                   "samples are one"));
}

// How many samples an epoch has.
uint64_t EpochOf(const feed::OpenRequest& request, const FeedParts& parts) {
  if (request.given != nullptr) return request.given->size();
  if (parts.dataset->mixture != nullptr) return parts.dataset->mixture->epoch_samples();
  return request.range->count;
}

}  // namespace

rpc::DatasetDescription DescriptionOf(const std::string& name, const feed::DatasetState& state,
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
  for (const source::Field& field : dataset.fields()) description.fields.push_back(FieldOf(field));
  if (description.decoded) return description;
  const absl::StatusOr<source::Selection> all = dataset.Select({});
  if (all.ok() && all->layout.image() != nullptr) description.row_shape = ShapeOf(all->layout);
  return description;
}

absl::StatusOr<feed::OpenRequest> RequestOf(const rpc::SessionRequest& from,
                                            const doorway::Peer& peer, FeedParts parts) {
  PENSTOCK_RETURN_IF_ERROR(CheckDecoding(from, *parts.dataset));
  feed::OpenRequest request;
  PENSTOCK_ASSIGN_OR_RETURN(request.range, RangeOf(from, parts));
  PENSTOCK_ASSIGN_OR_RETURN(request.windows, WindowsOf(from, *parts.dataset));
  if (parts.given != nullptr) PENSTOCK_RETURN_IF_ERROR(parts.given->CheckFits(*request.range));
  request.peer = peer.id.value();
  request.user = peer.uid;
  request.pid = peer.pid;
  request.client = peer.client;
  request.name = from.name;
  request.order = from.order;
  request.given = parts.given;
  request.given_by = from.given_by;
  request.seed = from.seed;
  request.decoding = from.spec;
  PENSTOCK_ASSIGN_OR_RETURN(request.selection, SelectionOf(from, *parts.dataset));
  request.share = {.samples = EpochOf(request, parts),
                   .consumed = from.consumed,
                   .world = from.world,
                   .rank = from.rank,
                   .batch_size = from.batch_size,
                   .remainder = from.remainder};
  request.first_epoch = from.epoch;
  request.epochs = from.epochs;
  request.window = from.window;
  request.expected_fingerprint = from.expected_fingerprint;
  request.fail_on_bad_sample = from.fail_on_bad_sample;
  request.dataset = std::move(parts.dataset);
  request.called = from.dataset;
  request.pinned = from.delivery == rpc::Delivery::kPinned;
  if (from.device) request.device = WishOf(*from.device);
  request.delivery_reason = from.delivery_reason;
  // What is not stored is not copied: labels and ids are all there is, and the host reads them.
  if (request.dataset->dataset->storage() == source::Storage::kNothing) {
    request.pinned = false;
    request.device.reset();
  }
  return request;
}

rpc::SessionGrant GrantOf(const feed::Grant& grant, const feed::OpenRequest& request) {
  const source::Dataset& dataset = *request.dataset->dataset;
  rpc::SessionGrant to = {
      .session_id = grant.session,
      .fingerprint = grant.fingerprint,
      .files = request.dataset->files,
      .row_bytes = grant.row.image() == nullptr ? 0 : grant.layout.blocks.front().row_bytes,
      .labels_offset = grant.layout.labels_offset,
      .ids_offset = grant.layout.ids_offset,
      .slot_bytes = grant.layout.slot_bytes,
      .shape = ShapeOf(grant.row),
      .tensors = TensorsOf(grant),
      .labeled = dataset.labeled(),
      .synthetic_seed = {},
      .samples = request.range->count,
      .epoch_samples = request.share.samples,
      .classes = static_cast<uint32_t>(dataset.classes().size()),
      .first_epoch_batches = grant.first_epoch_batches,
      .epoch_batches = grant.epoch_batches,
      .window = request.window,
      .quarantine_version = grant.quarantine_version,
      .segments = {},
      .delivery = DeliveryOf(request),
      .device = {}};
  if (dataset.storage() == source::Storage::kNothing) to.synthetic_seed = dataset.row_seed();
  if (grant.device)
    to.device = {.depth = grant.device->depth,
                 .handle = KindOf(grant.device->handle.kind),
                 .handle_reason = grant.device->handle.reason,
                 .slabs = SlabsOf(grant.device->slabs)};
  return to;
}

std::vector<rpc::Slab> SlabsOf(const std::vector<exporting::SlabFacts>& slabs) {
  std::vector<rpc::Slab> to;
  for (const exporting::SlabFacts& slab : slabs)
    to.push_back({.id = slab.id,
                  .bytes = slab.bytes,
                  .kind = KindOf(slab.kind),
                  .handle = slab.kind == cuda::HandleKind::kIpc ? TextOf(slab.ipc) : "",
                  .canary_offset = slab.canary_offset,
                  .canary = TextOf(slab.canary)});
  return to;
}

absl::StatusOr<std::vector<rpc::SampleDescription>> DescriptionsOf(
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
    descriptions.push_back({opened.FindPath(id), opened.label(id)});
  }
  return descriptions;
}

void LogOpened(const feed::Grant& grant, const feed::OpenRequest& request) {
  PENSTOCK_LOG(kInfo, "session_opened", {"session", grant.session},
               {"dataset", request.dataset_name()}, {"user", request.user}, {"pid", request.pid},
               {"rank", request.share.rank}, {"world", request.share.world},
               {"batch", request.share.batch_size}, {"window", request.window},
               {"delivery", NameOf(DeliveryOf(request))}, {"reason", request.delivery_reason});
  if (grant.device)
    PENSTOCK_LOG(kInfo, "device_session", {"session", grant.session},
                 {"gpu", request.device->gpu.ToString()}, {"depth", grant.device->depth},
                 {"handle", grant.device->handle.kind == cuda::HandleKind::kIpc ? "ipc" : "vmm"},
                 {"reason", grant.device->handle.reason}, {"slabs", grant.device->slabs.size()});
}

}  // namespace penstock::app
