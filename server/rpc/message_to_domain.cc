#include "server/rpc/message_to_domain.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/shm/protocol.h"
#include "server/rpc/recipe_to_domain.h"
#include "server/rpc/target_to_domain.h"
#include "server/session/validate.h"

namespace penstock::rpc {
namespace {

constexpr uint32_t kDefaultWindow = 4;
constexpr uint32_t kDefaultShards = 16;

template <typename... Words>
absl::Status Wrong(const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat(words...));
}

// If both limits of scale or ratio are 0, the defaults apply.
decode::Spec RandomCropFrom(const v1::RandomResizedCrop& crop) {
  decode::Spec spec;
  spec.geometry = decode::Geometry::kRandomResizedCrop;
  spec.height = crop.height();
  spec.width = crop.width();
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

absl::StatusOr<base::Interpolation> InterpolationFrom(v1::Interpolation interpolation) {
  switch (static_cast<int>(interpolation)) {
    case v1::INTERPOLATION_NEAREST:
      return base::Interpolation::kNearest;
    case v1::INTERPOLATION_UNSPECIFIED:
    case v1::INTERPOLATION_BILINEAR:
      return base::Interpolation::kBilinear;
    case v1::INTERPOLATION_BICUBIC:
      return base::Interpolation::kBicubic;
    case v1::INTERPOLATION_LANCZOS:
      return base::Interpolation::kLanczos;
    default:
      return Wrong("feed.image.recipe.interpolation: got ", static_cast<int>(interpolation),
                   "; upgrade the daemon if the client knows it");
  }
}

decode::Spec WholeImageFrom(const v1::WholeImage& image) {
  decode::Spec spec;
  spec.geometry = decode::Geometry::kWhole;
  spec.height = image.height();
  spec.width = image.width();
  return spec;
}

absl::StatusOr<decode::Spec> StartFrom(const v1::Recipe& recipe) {
  switch (recipe.start_case()) {
    case v1::Recipe::kRandomResizedCrop:
      return RandomCropFrom(recipe.random_resized_crop());
    case v1::Recipe::kResizeCenterCrop:
      return CenterCropFrom(recipe.resize_center_crop());
    case v1::Recipe::kWholeImage:
      return WholeImageFrom(recipe.whole_image());
    case v1::Recipe::START_NOT_SET:
      break;
  }
  return Wrong(
      "feed.image.recipe.start is missing; set random_resized_crop, resize_center_crop or "
      "whole_image, or upgrade the daemon if the client set another");
}

absl::StatusOr<decode::Spec> DecodingFrom(const v1::Recipe& recipe) {
  PENSTOCK_ASSIGN_OR_RETURN(decode::Spec spec, StartFrom(recipe));
  PENSTOCK_ASSIGN_OR_RETURN(spec.interpolation, InterpolationFrom(recipe.interpolation()));
  PENSTOCK_ASSIGN_OR_RETURN(spec.recipe, RecipeFrom(recipe.steps()));
  return spec;
}

absl::StatusOr<decode::Spec> GeometryFrom(const v1::ImageDecoding& image) {
  switch (image.geometry_case()) {
    case v1::ImageDecoding::kRandomResizedCrop:
      return RandomCropFrom(image.random_resized_crop());
    case v1::ImageDecoding::kResizeCenterCrop:
      return CenterCropFrom(image.resize_center_crop());
    case v1::ImageDecoding::kRecipe:
      return DecodingFrom(image.recipe());
    case v1::ImageDecoding::GEOMETRY_NOT_SET:
      break;
  }
  return Wrong(
      "feed.image.geometry is missing; set random_resized_crop, resize_center_crop or recipe, or "
      "upgrade the daemon if the client set another");
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

absl::StatusOr<decode::Spec> SpecFrom(const v1::ImageDecoding& image) {
  PENSTOCK_ASSIGN_OR_RETURN(decode::Spec spec, GeometryFrom(image));
  spec.flip_probability = image.flip_probability();
  PENSTOCK_ASSIGN_OR_RETURN(spec.color, ColorFrom(image.color()));
  spec.exif = image.apply_exif_orientation() ? decode::Exif::kApply : decode::Exif::kIgnore;
  spec.canvas = image.canvas() ? 1 : 0;
  if (image.has_undecoded()) {
    PENSTOCK_ASSIGN_OR_RETURN(spec.undecoded, UndecodedFrom(image.undecoded()));
  }
  return spec;
}

absl::Status ReadDecoding(const v1::FeedSpec& feed, session::Request& request) {
  request.decoding_mode = feed.image_by_default() ? session::DecodingMode::kIfEncoded
                                                  : session::DecodingMode::kRequired;
  if (feed.has_image()) {
    PENSTOCK_ASSIGN_OR_RETURN(request.feed.decoding, SpecFrom(feed.image()));
    for (const v1::MoreImage& more : feed.more_images()) {
      PENSTOCK_ASSIGN_OR_RETURN(const decode::Spec spec, SpecFrom(more.image()));
      request.feed.more_images.push_back(more.name());
      request.feed.more_decodings.push_back(spec);
    }
    return absl::OkStatus();
  }
  if (feed.more_images_size() > 0)
    return Wrong("feed.image is missing, although more_images is set");
  if (feed.image_by_default())
    return Wrong("feed.image is missing, although image_by_default is set");
  request.decoding_mode = session::DecodingMode::kNone;
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

// Options that one order requires and all others refuse.
absl::Status ReadOrder(const v1::FeedSpec& feed, session::Request& request) {
  const auto unused = [&](absl::string_view field, absl::string_view order) {
    return Wrong("feed.", field, ": wanted none, because feed.order is ",
                 v1::Order_Name(feed.order()), "; set ", order, " to use it");
  };
  if (feed.order() == v1::ORDER_GIVEN) {
    if (feed.given_order() == 0)
      return Wrong(
          "feed.given_order is missing; send the order with SendOrder and set its name here");
    request.given_order = feed.given_order();
    if (feed.has_given_by())
      request.feed.given_by = {.rank = feed.given_by().rank(), .ranks = feed.given_by().ranks()};
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(request.feed.order, OrderFrom(feed.order()));
    if (feed.given_order() != 0) return unused("given_order", "ORDER_GIVEN");
    if (feed.has_given_by()) return unused("given_by", "ORDER_GIVEN");
  }
  if (request.feed.order == plan::Order::kShuffledInWindows) {
    const v1::ShuffleWindow& window = feed.shuffle_window();
    request.feed.windows = {.shard_samples = window.shard_samples(),
                            .shards = window.shards() == 0 ? kDefaultShards : window.shards()};
  } else if (feed.has_shuffle_window()) {
    return unused("shuffle_window", "ORDER_SHUFFLED_IN_WINDOWS");
  }
  return absl::OkStatus();
}

// Without a maximum for a batch, the default applies.
absl::Status ReadPython(const v1::PythonFeed& python, session::Request& request) {
  constexpr auto kMost =
      std::chrono::duration_cast<std::chrono::milliseconds>(session::kMaxPythonTimeout);
  if (python.timeout_ms() > static_cast<uint64_t>(kMost.count()))
    return Wrong("feed.python.timeout_ms: wanted at most ", kMost.count(),
                 " (a day), or 0 for an hour, got ", python.timeout_ms());
  session::PythonFeed feed = {.streams = python.streams(),
                              .digest = python.digest(),
                              .replace_bad_samples = python.replace_bad_samples()};
  if (python.max_batch_bytes() != 0) feed.max_batch_bytes = python.max_batch_bytes();
  request.feed.python = feed;
  request.python_workers = {.count = python.workers(),
                            .timeout = std::chrono::milliseconds(python.timeout_ms()),
                            .keep = python.keep_workers()};
  return absl::OkStatus();
}

absl::Status ReadFeed(const v1::FeedSpec& feed, session::Request& request) {
  request.dataset_name = feed.dataset();
  PENSTOCK_RETURN_IF_ERROR(ReadOrder(feed, request));
  if (feed.has_range())
    request.feed.range = {.first = feed.range().first(), .count = feed.range().count()};
  request.feed.seed = feed.seed();
  PENSTOCK_RETURN_IF_ERROR(ReadDecoding(feed, request));
  if (feed.has_python()) PENSTOCK_RETURN_IF_ERROR(ReadPython(feed.python(), request));
  for (const v1::FieldRequest& field : feed.fields()) {
    PENSTOCK_ASSIGN_OR_RETURN(source::FieldRequest wanted, FieldRequestFrom(field));
    request.fields.push_back(std::move(wanted));
  }
  return absl::OkStatus();
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

absl::StatusOr<plan::Share> ShareFrom(const v1::OpenSessionRequest& message) {
  plan::Share share = {.world = message.world_size() == 0 ? 1 : message.world_size(),
                       .rank = message.rank(),
                       .batch_size = message.batch_size()};
  PENSTOCK_ASSIGN_OR_RETURN(share.remainder, RemainderFrom(message.remainder(), share.world));
  return share;
}

absl::StatusOr<session::Delivery> DeliveryFrom(v1::Delivery delivery) {
  switch (static_cast<int>(delivery)) {
    case v1::DELIVERY_UNSPECIFIED:
    case v1::DELIVERY_HOST:
      return session::Delivery::kHost;
    case v1::DELIVERY_PINNED:
      return session::Delivery::kPinned;
    case v1::DELIVERY_DEVICE:
      return session::Delivery::kDevice;
    default:
      return Wrong("delivery: wanted DELIVERY_HOST (1), DELIVERY_DEVICE (2), DELIVERY_PINNED (3) ",
                   "or none, got ", static_cast<int>(delivery));
  }
}

absl::StatusOr<std::optional<cuda::HandleKind>> HandleFrom(v1::HandleKind kind) {
  switch (static_cast<int>(kind)) {
    case v1::HANDLE_KIND_UNSPECIFIED:
      return std::nullopt;
    case v1::HANDLE_KIND_IPC:
      return cuda::HandleKind::kIpc;
    case v1::HANDLE_KIND_VMM:
      return cuda::HandleKind::kVmm;
    default:
      return Wrong("device.handle_kind: wanted HANDLE_KIND_IPC (1), HANDLE_KIND_VMM (2) or none, ",
                   "got ", static_cast<int>(kind));
  }
}

absl::StatusOr<exporting::DeviceRequest> DeviceFrom(const v1::DeviceTarget& device) {
  exporting::DeviceRequest request = {
      .gpu = {},
      .depth = device.depth(),
      .kind = {},
      .client = {.pid = device.pid(), .pid_namespace = device.pid_namespace()}};
  if (device.uuid().size() != request.gpu.bytes.size())
    return Wrong("device.uuid: wanted the ", request.gpu.bytes.size(),
                 " bytes of a GPU's UUID, got ", device.uuid().size());
  std::copy(device.uuid().begin(), device.uuid().end(), request.gpu.bytes.begin());
  PENSTOCK_ASSIGN_OR_RETURN(request.kind, HandleFrom(device.handle_kind()));
  return request;
}

// The device is read only for device delivery.
absl::Status ReadDelivery(const v1::OpenSessionRequest& message, session::Request& request) {
  PENSTOCK_ASSIGN_OR_RETURN(request.delivery, DeliveryFrom(message.delivery()));
  request.delivery_reason = message.delivery_reason();
  if (request.delivery != session::Delivery::kDevice || !message.has_device())
    return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(request.device, DeviceFrom(message.device()));
  return absl::OkStatus();
}

// A state continues with the seed of its feed.
void ReadState(const v1::FeedState& state, session::Request& request) {
  request.first_epoch = state.epoch();
  request.share.consumed = state.consumed();
  request.feed.seed = state.seed();
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

absl::StatusOr<session::Request> SessionFrom(const v1::OpenSessionRequest& message) {
  PENSTOCK_RETURN_IF_ERROR(shm::CheckClient(message.protocol_version()));
  if (!message.has_feed()) {
    return Wrong("feed is missing; set the dataset, the order and the decoding");
  }
  session::Request request;
  PENSTOCK_RETURN_IF_ERROR(ReadFeed(message.feed(), request));
  PENSTOCK_ASSIGN_OR_RETURN(request.share, ShareFrom(message));
  request.window = message.window() == 0 ? kDefaultWindow : message.window();
  request.epochs = message.epochs();
  if (message.has_state()) ReadState(message.state(), request);
  request.fail_on_bad_sample = message.fail_on_bad_sample();
  request.name = message.name();
  PENSTOCK_RETURN_IF_ERROR(ReadDelivery(message, request));
  PENSTOCK_RETURN_IF_ERROR(session::Validate(request));
  return request;
}

absl::StatusOr<uint64_t> OrderLengthFrom(const v1::SendOrderRequest& first) {
  if (first.length() != 0) return first.length();
  return Wrong("length is missing; the first message of an order states its number of samples");
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
  return Wrong("session_id is missing; use the one that OpenSession returned");
}

absl::StatusOr<std::string> DatasetFrom(const std::string& text) {
  PENSTOCK_RETURN_IF_ERROR(session::CheckDatasetName(text));
  return text;
}

absl::StatusOr<std::string> DatasetOrAllFrom(const std::string& text) {
  if (text.empty()) return text;
  return DatasetFrom(text);
}

}  // namespace penstock::rpc
