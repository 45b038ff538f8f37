#include "server/rpc/message_to_domain.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/shm/control_page.h"
#include "common/shm/protocol.h"

namespace penstock::rpc {
namespace {

constexpr uint32_t kDefaultWindow = 4;
constexpr uint32_t kDefaultShards = 16;

template <typename... Words>
absl::Status Wrong(const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat(words...));
}

// Text that will stand in logs and on terminals.
absl::Status CheckText(absl::string_view field, absl::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) {
    return Wrong(field, ": wanted at most ", max_bytes, " bytes, got ", text.size(),
                 "; shorten it");
  }
  const bool clean = std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  });
  if (clean) return absl::OkStatus();
  return Wrong(field, ": '", absl::CHexEscape(text), "' has control characters; leave them out");
}

// A number that may be absent: both 0 stand for the default.
absl::Status CheckPair(absl::string_view field, double min, double max) {
  if (std::isfinite(min) && std::isfinite(max)) return absl::OkStatus();
  return Wrong(field, ": wanted finite numbers, got ", min, " and ", max,
               "; leave both at 0 for the default");
}

absl::StatusOr<decode::Spec> RandomCropFrom(const v1::RandomResizedCrop& crop) {
  decode::Spec spec;
  spec.geometry = decode::Geometry::kRandomResizedCrop;
  spec.height = crop.height();
  spec.width = crop.width();
  PENSTOCK_RETURN_IF_ERROR(CheckPair("scale", crop.scale_min(), crop.scale_max()));
  PENSTOCK_RETURN_IF_ERROR(CheckPair("ratio", crop.ratio_min(), crop.ratio_max()));
  if (crop.scale_min() != 0 || crop.scale_max() != 0) {
    spec.scale_min = crop.scale_min();
    spec.scale_max = crop.scale_max();
  }
  if (crop.ratio_min() != 0 || crop.ratio_max() != 0) {
    spec.ratio_min = crop.ratio_min();
    spec.ratio_max = crop.ratio_max();
  }
  return spec;
}

decode::Spec CenterCropFrom(const v1::ResizeCenterCrop& crop) {
  decode::Spec spec;
  spec.geometry = decode::Geometry::kResizeCenterCrop;
  spec.resize = crop.resize();
  spec.height = crop.height();
  spec.width = crop.width();
  return spec;
}

absl::StatusOr<decode::Spec> GeometryFrom(const v1::ImageDecoding& image) {
  switch (image.geometry_case()) {
    case v1::ImageDecoding::kRandomResizedCrop:
      return RandomCropFrom(image.random_resized_crop());
    case v1::ImageDecoding::kResizeCenterCrop:
      return CenterCropFrom(image.resize_center_crop());
    case v1::ImageDecoding::GEOMETRY_NOT_SET:
      break;
  }
  return Wrong(
      "feed.image.geometry is missing; set random_resized_crop or resize_center_crop, or upgrade "
      "the daemon if the client set another");
}

absl::StatusOr<decode::Color> ColorFrom(v1::Color color) {
  switch (static_cast<int>(color)) {
    case v1::COLOR_UNSPECIFIED:
    case v1::COLOR_RGB:
      return decode::Color::kRgb;
    case v1::COLOR_GRAY:
      return decode::Color::kGray;
    default:
      return Wrong("feed.image.color: wanted COLOR_RGB (1), COLOR_GRAY (2) or none, got ",
                   static_cast<int>(color));
  }
}

absl::StatusOr<decode::Spec> SpecFrom(const v1::FeedSpec& feed) {
  PENSTOCK_ASSIGN_OR_RETURN(decode::Spec spec, GeometryFrom(feed.image()));
  spec.flip_probability = feed.image().flip_probability();
  PENSTOCK_ASSIGN_OR_RETURN(spec.color, ColorFrom(feed.image().color()));
  spec.exif = feed.image().apply_exif_orientation() ? decode::Exif::kApply : decode::Exif::kIgnore;
  PENSTOCK_RETURN_IF_ERROR(base::Annotate(decode::Validate(spec), "feed.image"));
  return spec;
}

absl::Status SetDecoding(const v1::FeedSpec& feed, SessionRequest& request) {
  request.decoding = feed.image_by_default() ? Decoding::kByDefault : Decoding::kAsked;
  if (feed.has_image()) {
    PENSTOCK_ASSIGN_OR_RETURN(request.spec, SpecFrom(feed));
    return absl::OkStatus();
  }
  if (feed.image_by_default()) return Wrong("feed.image is missing, and it should be the default");
  request.decoding = Decoding::kNone;
  return absl::OkStatus();
}

absl::Status SetFields(const v1::FeedSpec& feed, SessionRequest& request) {
  if (feed.fields_size() > static_cast<int>(kMaxFields))
    return Wrong("feed.fields: wanted at most ", kMaxFields, ", got ", feed.fields_size());
  for (const v1::FieldRequest& field : feed.fields()) {
    if (field.name().empty())
      return Wrong("feed.fields: one has no name; say which field is wanted");
    PENSTOCK_RETURN_IF_ERROR(CheckText("feed.fields.name", field.name(), kMaxNameBytes));
    request.fields.push_back(
        {.name = field.name(), .max_length = field.max_length(), .as_stored = field.as_stored()});
  }
  return absl::OkStatus();
}

absl::StatusOr<plan::Order> OrderFrom(v1::Order order) {
  switch (static_cast<int>(order)) {
    case v1::ORDER_SEQUENTIAL:
      return plan::Order::kSequential;
    case v1::ORDER_SHUFFLED:
      return plan::Order::kShuffled;
    case v1::ORDER_SHUFFLED_IN_WINDOWS:
      return plan::Order::kShuffledInWindows;
    default:
      return Wrong(
          "feed.order: wanted ORDER_SEQUENTIAL (1), ORDER_SHUFFLED (2), ORDER_GIVEN (3) or "
          "ORDER_SHUFFLED_IN_WINDOWS (4), got ",
          static_cast<int>(order));
  }
}

absl::Status SetGivenBy(const v1::FeedSpec& feed, SessionRequest& request) {
  if (!feed.has_given_by()) return absl::OkStatus();
  if (feed.order() != v1::ORDER_GIVEN)
    return Wrong("feed.given_by: wanted none, because feed.order is ", v1::Order_Name(feed.order()),
                 "; say ORDER_GIVEN to use it");
  request.given_by = {.rank = feed.given_by().rank(), .ranks = feed.given_by().ranks()};
  return base::Annotate(plan::Validate(request.given_by), "feed.given_by");
}

absl::Status SetOrder(const v1::FeedSpec& feed, SessionRequest& request) {
  if (feed.order() != v1::ORDER_GIVEN) {
    PENSTOCK_ASSIGN_OR_RETURN(request.order, OrderFrom(feed.order()));
    if (feed.given_order() == 0) return absl::OkStatus();
    return Wrong("feed.given_order: wanted none, because feed.order is ",
                 v1::Order_Name(feed.order()), "; say ORDER_GIVEN to use it");
  }
  if (feed.given_order() == 0)
    return Wrong("feed.given_order is missing; send the order with SendOrder and give its name");
  request.given_order = feed.given_order();
  return absl::OkStatus();
}

// How many samples a shard has may be the dataset's affair, which is not known here.
absl::Status SetWindows(const v1::FeedSpec& feed, SessionRequest& request) {
  if (request.order != plan::Order::kShuffledInWindows) {
    if (!feed.has_shuffle_window()) return absl::OkStatus();
    return Wrong("feed.shuffle_window: wanted none, because feed.order is ",
                 v1::Order_Name(feed.order()), "; say ORDER_SHUFFLED_IN_WINDOWS to use it");
  }
  const v1::ShuffleWindow& window = feed.shuffle_window();
  request.windows = {.shard_samples = window.shard_samples(),
                     .shards = window.shards() == 0 ? kDefaultShards : window.shards()};
  if (window.shard_samples() == 0) return absl::OkStatus();
  return base::Annotate(plan::Validate(request.windows), "feed.shuffle_window");
}

absl::Status SetRange(const v1::FeedSpec& feed, SessionRequest& request) {
  if (!feed.has_range()) return absl::OkStatus();
  request.range = {.first = feed.range().first(), .count = feed.range().count()};
  const plan::Range widest = {.first = 0, .count = plan::kMaxSamples};
  if (plan::Validate(*request.range, widest).ok()) return absl::OkStatus();
  return Wrong("feed.range: wanted at least one sample, and numbers up to ", plan::kMaxSamples,
               ", got ", feed.range().count(), " from ", feed.range().first(), " on");
}

absl::StatusOr<plan::Remainder> RemainderFrom(v1::Remainder remainder, uint32_t world) {
  switch (static_cast<int>(remainder)) {
    case v1::REMAINDER_UNSPECIFIED:
      return world == 1 ? plan::Remainder::kPartial : plan::Remainder::kPadRanks;
    case v1::REMAINDER_DROP:
      return plan::Remainder::kDrop;
    case v1::REMAINDER_PAD_BATCH:
      return plan::Remainder::kPadBatch;
    case v1::REMAINDER_PARTIAL:
      return plan::Remainder::kPartial;
    case v1::REMAINDER_PAD_RANKS:
      return plan::Remainder::kPadRanks;
    default:
      return Wrong("remainder: wanted REMAINDER_DROP (1), REMAINDER_PAD_BATCH (2), ",
                   "REMAINDER_PARTIAL (3), REMAINDER_PAD_RANKS (4) or none, got ",
                   static_cast<int>(remainder));
  }
}

absl::Status CheckSizes(const SessionRequest& request) {
  if (request.batch_size < 1 || request.batch_size > kMaxBatchSize) {
    return Wrong("batch_size: wanted 1 to ", kMaxBatchSize, ", got ", request.batch_size);
  }
  if (request.window > shm::kControlCapacity) {
    return Wrong("window: wanted 1 to ", shm::kControlCapacity, " batches ahead, got ",
                 request.window);
  }
  if (request.world > kMaxWorldSize) {
    return Wrong("world_size: wanted 1 to ", kMaxWorldSize, ", got ", request.world);
  }
  if (request.rank >= request.world) {
    return Wrong("rank: wanted 0 to ", request.world - 1, " in a world of ", request.world,
                 ", got ", request.rank);
  }
  return absl::OkStatus();
}

absl::StatusOr<Delivery> DeliveryFrom(v1::Delivery delivery) {
  switch (static_cast<int>(delivery)) {
    case v1::DELIVERY_UNSPECIFIED:
    case v1::DELIVERY_HOST:
      return Delivery::kHost;
    case v1::DELIVERY_PINNED:
      return Delivery::kPinned;
    case v1::DELIVERY_DEVICE:
      return Delivery::kDevice;
    default:
      return Wrong("delivery: wanted DELIVERY_HOST (1), DELIVERY_DEVICE (2), DELIVERY_PINNED (3) ",
                   "or none, got ", static_cast<int>(delivery));
  }
}

absl::StatusOr<HandleKind> HandleFrom(v1::HandleKind kind) {
  switch (static_cast<int>(kind)) {
    case v1::HANDLE_KIND_UNSPECIFIED:
      return HandleKind::kUnspecified;
    case v1::HANDLE_KIND_IPC:
      return HandleKind::kIpc;
    case v1::HANDLE_KIND_VMM:
      return HandleKind::kVmm;
    default:
      return Wrong("device.handle_kind: wanted HANDLE_KIND_IPC (1), HANDLE_KIND_VMM (2) or none, ",
                   "got ", static_cast<int>(kind));
  }
}

absl::StatusOr<DeviceTarget> DeviceFrom(const v1::OpenSessionRequest& message) {
  if (!message.has_device())
    return Wrong(
        "device is missing; say which GPU batches shall be on, or ask for another delivery");
  const v1::DeviceTarget& device = message.device();
  DeviceTarget target;
  if (device.uuid().size() != target.uuid.size())
    return Wrong("device.uuid: wanted the ", target.uuid.size(), " bytes of a GPU's UUID, got ",
                 device.uuid().size());
  std::copy(device.uuid().begin(), device.uuid().end(), target.uuid.begin());
  if (device.depth() > kMaxDeviceDepth)
    return Wrong("device.depth: wanted 1 to ", kMaxDeviceDepth,
                 " batches, or 0 for the daemon's default, got ", device.depth());
  target.depth = device.depth();
  PENSTOCK_ASSIGN_OR_RETURN(target.handle, HandleFrom(device.handle_kind()));
  if (device.pid() < 0) return Wrong("device.pid: wanted a PID, got ", device.pid());
  target.pid = device.pid();
  target.pid_namespace = device.pid_namespace();
  return target;
}

absl::Status SetDelivery(const v1::OpenSessionRequest& message, SessionRequest& request) {
  PENSTOCK_ASSIGN_OR_RETURN(request.delivery, DeliveryFrom(message.delivery()));
  if (request.delivery == Delivery::kDevice) {
    PENSTOCK_ASSIGN_OR_RETURN(request.device, DeviceFrom(message));
  }
  PENSTOCK_RETURN_IF_ERROR(
      CheckText("delivery_reason", message.delivery_reason(), kMaxReasonBytes));
  request.delivery_reason = message.delivery_reason();
  return absl::OkStatus();
}

void SetBeginning(const v1::FeedState& state, SessionRequest& request) {
  request.epoch = state.epoch();
  request.consumed = state.consumed();
  request.seed = state.seed();  // a state goes on with the feed that it was taken of
  request.expected_fingerprint = state.fingerprint();
}

}  // namespace

absl::StatusOr<Ticket> TicketFrom(std::optional<absl::string_view> metadata) {
  if (!metadata.has_value()) {
    return absl::UnauthenticatedError(
        absl::StrCat("this call carries no \"", shm::kTicketMetadataKey,
                     "\"; say Hello at the doorway (\"<address>", shm::kDoorwaySuffix,
                     "\") first and send the ticket it gives, as Penstock's client library does"));
  }
  Ticket ticket;
  const bool all_hex = std::all_of(metadata->begin(), metadata->end(),
                                   [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (!all_hex || metadata->size() != 2 * sizeof(ticket.bytes)) {
    return absl::UnauthenticatedError(absl::StrCat(
        "\"", shm::kTicketMetadataKey, "\": wanted ", 2 * sizeof(ticket.bytes), " hex digits, got ",
        metadata->size(), " bytes; send the ticket that the doorway gave to this process"));
  }
  const std::string bytes = absl::HexStringToBytes(*metadata);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(ticket.bytes));
  return ticket;
}

absl::StatusOr<SessionRequest> SessionFrom(const v1::OpenSessionRequest& message,
                                           const Ticket& ticket) {
  PENSTOCK_RETURN_IF_ERROR(shm::CheckClient(message.protocol_version()));
  if (!message.has_feed()) {
    return Wrong("feed is missing; say which dataset, in which order and how to decode it");
  }
  SessionRequest request;
  request.ticket = ticket;
  PENSTOCK_ASSIGN_OR_RETURN(request.dataset, DatasetFrom(message.feed().dataset()));
  PENSTOCK_RETURN_IF_ERROR(SetOrder(message.feed(), request));
  PENSTOCK_RETURN_IF_ERROR(SetGivenBy(message.feed(), request));
  PENSTOCK_RETURN_IF_ERROR(SetWindows(message.feed(), request));
  PENSTOCK_RETURN_IF_ERROR(SetRange(message.feed(), request));
  PENSTOCK_RETURN_IF_ERROR(SetDecoding(message.feed(), request));
  PENSTOCK_RETURN_IF_ERROR(SetFields(message.feed(), request));
  request.seed = message.feed().seed();
  request.world = message.world_size() == 0 ? 1 : message.world_size();
  request.rank = message.rank();
  request.batch_size = message.batch_size();
  request.window = message.window() == 0 ? kDefaultWindow : message.window();
  PENSTOCK_RETURN_IF_ERROR(CheckSizes(request));
  PENSTOCK_ASSIGN_OR_RETURN(request.remainder, RemainderFrom(message.remainder(), request.world));
  request.epochs = message.epochs();
  if (message.has_state()) SetBeginning(message.state(), request);
  request.fail_on_bad_sample = message.fail_on_bad_sample();
  PENSTOCK_RETURN_IF_ERROR(CheckText("name", message.name(), kMaxNameBytes));
  request.name = message.name();
  PENSTOCK_RETURN_IF_ERROR(SetDelivery(message, request));
  return request;
}

absl::StatusOr<uint64_t> OrderLengthFrom(const v1::SendOrderRequest& first) {
  if (first.length() != 0) return first.length();
  return Wrong("length is missing; the first message of an order says how many samples it has");
}

absl::StatusOr<std::span<const uint64_t>> OrderChunkFrom(const v1::SendOrderRequest& message) {
  const auto count = static_cast<size_t>(message.samples_size());
  if (count > kMaxOrderChunk)
    return Wrong("samples: wanted at most ", kMaxOrderChunk, " in one message, got ", count,
                 "; send them in several");
  return std::span<const uint64_t>(message.samples().data(), count);
}

absl::StatusOr<std::vector<uint64_t>> SampleIdsFrom(const v1::DescribeSamplesRequest& message) {
  const auto count = static_cast<size_t>(message.sample_ids_size());
  if (count < 1 || count > kMaxSampleIds)
    return Wrong("sample_ids: wanted 1 to ", kMaxSampleIds, ", got ", count,
                 "; ask for more in several calls");
  return std::vector<uint64_t>(message.sample_ids().begin(), message.sample_ids().end());
}

absl::StatusOr<uint64_t> SessionIdFrom(uint64_t session_id) {
  if (session_id != 0) return session_id;
  return Wrong("session_id is missing; give the one that OpenSession returned");
}

absl::StatusOr<std::string> DatasetFrom(const std::string& text) {
  if (text.empty()) {
    return Wrong("dataset is missing; give a dataset's name (penstockctl datasets lists them)");
  }
  PENSTOCK_RETURN_IF_ERROR(CheckText("dataset", text, kMaxDatasetBytes));
  return text;
}

absl::StatusOr<std::string> DatasetOrAllFrom(const std::string& text) {
  if (text.empty()) return text;
  return DatasetFrom(text);
}

}  // namespace penstock::rpc
