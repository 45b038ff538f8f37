#include "client/src/connection/request.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/store_environment.h"
#include "common/shm/doorway_wire.h"
#include "common/shm/row_note.h"

namespace penstock::client {
namespace {

constexpr ptrdiff_t kSamplesAPart = 65'536;  // the daemon's limit for one message

v1::Remainder ToRemainder(const SessionOptions& options) {
  switch (options.remainder) {
    case Remainder::kDrop:
      return v1::REMAINDER_DROP;
    case Remainder::kPadBatch:
      return v1::REMAINDER_PAD_BATCH;
    case Remainder::kPartial:
      return v1::REMAINDER_PARTIAL;
    case Remainder::kPadRanks:
      return v1::REMAINDER_PAD_RANKS;
    case Remainder::kDefault:
      break;
  }
  return options.world_size <= 1 ? v1::REMAINDER_PARTIAL : v1::REMAINDER_PAD_RANKS;
}

v1::Order ToOrder(Order order) {
  switch (order) {
    case Order::kSequential:
      return v1::ORDER_SEQUENTIAL;
    case Order::kShuffled:
      return v1::ORDER_SHUFFLED;
    case Order::kGiven:
      return v1::ORDER_GIVEN;
    case Order::kShuffledInWindows:
      return v1::ORDER_SHUFFLED_IN_WINDOWS;
  }
  return v1::ORDER_UNSPECIFIED;
}

// Whether a crop and a flip do not say it all.
template <typename Options>  // SessionOptions, ImageOptions
bool NeedsRecipe(const Options& options) {
  return options.whole_image || !options.steps.empty() ||
         options.interpolation != Interpolation::kBilinear;
}

// Whether any option about decoding images is set.
bool AsksForDecoding(const SessionOptions& options) {
  return options.random_crop || options.center_crop || NeedsRecipe(options) ||
         !options.more_images.empty() || options.flip_probability != 0 ||
         options.color != Color::kRgb || options.apply_exif_orientation || options.gpu_decoding;
}

v1::Interpolation ToInterpolation(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::kNearest:
      return v1::INTERPOLATION_NEAREST;
    case Interpolation::kBilinear:
      return v1::INTERPOLATION_BILINEAR;
    case Interpolation::kBicubic:
      return v1::INTERPOLATION_BICUBIC;
    case Interpolation::kLanczos:
      return v1::INTERPOLATION_LANCZOS;
  }
  return v1::INTERPOLATION_UNSPECIFIED;
}

// The public enums have the message's values.
void SetStep(const TransformStep& step, v1::TransformStep& out) {
  out.set_op(static_cast<v1::TransformOp>(step.op));
  out.mutable_numbers()->Assign(step.numbers.begin(), step.numbers.end());
  out.set_probability(step.probability);
  out.set_interpolation(ToInterpolation(step.interpolation));
  out.set_padding_mode(static_cast<v1::PaddingMode>(step.padding_mode));
  for (const TransformStep& inner : step.steps) SetStep(inner, *out.add_steps());
}

void SetCenterCrop(const ResizeCenterCrop& wanted, v1::ResizeCenterCrop& crop) {
  crop.set_resize(wanted.resize);
  crop.set_height(wanted.height);
  crop.set_width(wanted.width);
}

void SetRandomCrop(const RandomResizedCrop& wanted, v1::RandomResizedCrop& crop) {
  crop.set_height(wanted.height);
  crop.set_width(wanted.width);
  crop.set_scale_min(wanted.scale_min);
  crop.set_scale_max(wanted.scale_max);
  crop.set_ratio_min(wanted.ratio_min);
  crop.set_ratio_max(wanted.ratio_max);
}

// ImageDecoding and Recipe have these fields in common.
template <typename Options, typename Message>
void SetCrop(const Options& options, Message& message) {
  if (options.center_crop) {
    SetCenterCrop(*options.center_crop, *message.mutable_resize_center_crop());
  } else {
    SetRandomCrop(options.random_crop.value_or(RandomResizedCrop()),
                  *message.mutable_random_resized_crop());
  }
}

template <typename Options>
void SetRecipe(const Options& options, v1::Recipe& recipe) {
  if (options.whole_image) {
    recipe.mutable_whole_image()->set_height(options.whole_image->height);
    recipe.mutable_whole_image()->set_width(options.whole_image->width);
  } else {
    SetCrop(options, recipe);
  }
  recipe.set_interpolation(ToInterpolation(options.interpolation));
  for (const TransformStep& step : options.steps) SetStep(step, *recipe.add_steps());
}

template <typename Options>
void SetDecoding(const Options& options, v1::ImageDecoding& image) {
  if (NeedsRecipe(options)) {
    SetRecipe(options, *image.mutable_recipe());
  } else {
    SetCrop(options, image);
  }
  if (options.whole_image) image.set_canvas(options.whole_image->canvas);
  image.set_flip_probability(options.flip_probability);
  image.set_color(options.color == Color::kGray ? v1::COLOR_GRAY : v1::COLOR_RGB);
  image.set_apply_exif_orientation(options.apply_exif_orientation);
}

// A field's message sets only what its kind of target has.
void SetTarget(const Target& target, v1::Target& out) {
  const bool has_positions =
      target.kind == Target::Kind::kBoxes || target.kind == Target::Kind::kPoints;
  out.set_kind(static_cast<v1::TargetKind>(target.kind));
  if (has_positions) out.set_relative(target.relative);
  if (target.kind == Target::Kind::kMask) out.set_fill(target.fill);
  if (target.kind == Target::Kind::kBoxes) {
    out.set_box_format(static_cast<v1::BoxFormat>(target.box_format));
    out.set_min_side(target.min_side);
  }
  if (target.kind == Target::Kind::kPoints) {
    out.set_point_numbers(target.point_numbers);
    out.set_item_points(target.item_points);
    out.mutable_point_pairs()->Assign(target.point_pairs.begin(), target.point_pairs.end());
  }
}

void SetField(const FieldRequest& field, v1::FieldRequest& out) {
  out.set_name(field.name);
  out.set_max_length(field.max_length);
  out.set_as_stored(field.as_stored);
  if (field.target.kind != Target::Kind::kNone) SetTarget(field.target, *out.mutable_target());
}

void SetState(const State& state, v1::FeedState& out) {
  out.set_epoch(state.epoch);
  out.set_consumed(state.consumed);
  out.set_seed(state.seed);
  out.set_fingerprint(state.fingerprint);
  out.set_quarantine_version(state.quarantine_version);
}

// Which of the dataset's samples, and the width of the shuffle.
void SetSamples(const SessionOptions& options, v1::FeedSpec& feed) {
  if (options.range) {
    feed.mutable_range()->set_first(options.range->first);
    feed.mutable_range()->set_count(options.range->count);
  }
  if (options.given_by) {
    feed.mutable_given_by()->set_rank(options.given_by->rank);
    feed.mutable_given_by()->set_ranks(options.given_by->ranks);
  }
  if (!options.shuffle_window) return;
  feed.mutable_shuffle_window()->set_shard_samples(options.shuffle_window->shard_samples);
  feed.mutable_shuffle_window()->set_shards(options.shuffle_window->shards);
}

void SetPython(const PythonFeed& python, v1::PythonFeed& feed) {
  feed.set_max_batch_bytes(python.max_batch_bytes);
  feed.set_workers(python.workers);
  feed.set_timeout_ms(static_cast<uint64_t>(python.timeout.count()));
  feed.set_streams(python.streams);
  feed.set_digest(python.digest);
  feed.set_replace_bad_samples(python.replace_bad_samples);
  feed.set_keep_workers(python.keep_workers);
}

v1::HandleKind ToHandleKind(HandleKind kind) {
  switch (kind) {
    case HandleKind::kIpc:
      return v1::HANDLE_KIND_IPC;
    case HandleKind::kVmm:
      return v1::HANDLE_KIND_VMM;
    case HandleKind::kAuto:
      break;
  }
  return v1::HANDLE_KIND_UNSPECIFIED;
}

// 0 without /proc.
uint64_t PidNamespace() {
  struct stat info = {};
  return ::stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

}  // namespace

void AskFor(const Ask& ask, const DeviceRequest& device, v1::OpenSessionRequest& request) {
  constexpr size_t kMaxReasonBytes = 512;
  request.set_delivery_reason(ask.reason.substr(0, kMaxReasonBytes));
  if (ask.delivery != Delivery::kDevice) {
    request.set_delivery(ask.delivery == Delivery::kPinned ? v1::DELIVERY_PINNED
                                                           : v1::DELIVERY_HOST);
    return;
  }
  request.set_delivery(v1::DELIVERY_DEVICE);
  v1::DeviceTarget& target = *request.mutable_device();
  target.set_uuid(device.gpu.bytes.data(), device.gpu.bytes.size());
  target.set_depth(device.depth);
  target.set_handle_kind(ToHandleKind(ask.handle));
  target.set_pid(::getpid());
  target.set_pid_namespace(PidNamespace());
}

absl::Status CheckOrder(const SessionOptions& options) {
  const bool given = options.given != nullptr;
  if (given && options.order != Order::kGiven) {
    return absl::InvalidArgumentError(
        "SessionOptions: 'given' is set, but 'order' is not kGiven; set it, or leave 'given' "
        "empty");
  }
  if (options.order == Order::kGiven && (!given || options.given->empty())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "SessionOptions: 'order' is kGiven, but 'given' ", given ? "has no samples" : "is not set",
        "; fill it with the samples of an epoch"));
  }
  return absl::OkStatus();
}

absl::Status CheckPython(const SessionOptions& options) {
  if (!options.python) return absl::OkStatus();
  if (options.device != "host") {
    return absl::InvalidArgumentError(
        absl::StrCat("SessionOptions: 'device' of a Python dataset: got '", options.device,
                     "', expected 'host'; copy its batches to the GPU yourself"));
  }
  if (AsksForDecoding(options) || !options.fields.empty()) {
    return absl::InvalidArgumentError(
        "SessionOptions: crops, flips, colours and fields are not for a Python dataset, whose "
        "batches "
        "are as its workers make them; leave them out");
  }
  if (options.python->timeout < std::chrono::milliseconds(0)) {
    return absl::InvalidArgumentError(absl::StrCat("SessionOptions: 'python.timeout': got ",
                                                   options.python->timeout.count(),
                                                   " ms, expected 0 or more; 0 means an hour"));
  }
  return absl::OkStatus();
}

absl::Status CheckGpuDecoding(const SessionOptions& options) {
  if (!options.gpu_decoding) return absl::OkStatus();
  const GpuDecoding& decoding = *options.gpu_decoding;
  if (!(decoding.share > 0 && decoding.share <= 1))
    return absl::InvalidArgumentError(absl::StrCat("SessionOptions: 'gpu_decoding.share': got ",
                                                   decoding.share, ", expected above 0, up to 1"));
  if (options.device == "host" || options.delivery == Delivery::kDevice ||
      options.delivery == Delivery::kHost)
    return absl::InvalidArgumentError(absl::StrCat(
        "SessionOptions: 'gpu_decoding' with device '", options.device, "' and delivery '",
        DeliveryName(options.delivery), "': expected a GPU, and delivery 'pinned' or 'auto'"));
  if (options.whole_image || !options.steps.empty() || options.color != Color::kRgb ||
      !options.more_images.empty())
    return absl::InvalidArgumentError(
        "SessionOptions: 'gpu_decoding' makes rows by random_crop or center_crop, in RGB, with a "
        "horizontal flip, one image for each sample; leave the rest out, or decode on the CPU");
  return absl::OkStatus();
}

void AskForFiles(const SessionOptions& options, const std::string& decoder,
                 v1::OpenSessionRequest& request) {
  constexpr uint64_t kFileBytes = 384 << 10, kAlignment = 4096;
  const GpuDecoding& decoding = *options.gpu_decoding;
  const RandomResizedCrop crop = options.random_crop.value_or(RandomResizedCrop());
  const uint64_t pixels = options.center_crop
                              ? uint64_t{options.center_crop->height} * options.center_crop->width
                              : uint64_t{crop.height} * crop.width;
  const uint64_t file = decoding.file_bytes > 0 ? decoding.file_bytes : kFileBytes;
  const uint64_t place = std::max(file, 3 * pixels) + sizeof(shm::RowNote);
  v1::Undecoded& undecoded = *request.mutable_feed()->mutable_image()->mutable_undecoded();
  undecoded.set_place_bytes(static_cast<uint32_t>(
      std::min<uint64_t>((place + kAlignment - 1) / kAlignment * kAlignment, UINT32_MAX)));
  undecoded.set_share(decoding.share);
  undecoded.set_decoder(decoder);
}

size_t OrderParts(const std::vector<uint64_t>& order) {
  return (order.size() + kSamplesAPart - 1) / kSamplesAPart;
}

v1::SendOrderRequest MakeOrderPart(const std::vector<uint64_t>& order, size_t number) {
  v1::SendOrderRequest part;
  if (number == 0) part.set_length(order.size());
  const auto begin = order.begin() + static_cast<ptrdiff_t>(number * kSamplesAPart);
  const auto end = begin + std::min<ptrdiff_t>(kSamplesAPart, order.end() - begin);
  part.mutable_samples()->Add(begin, end);
  return part;
}

uint64_t SeedOf(const SessionOptions& options) {
  return options.state ? options.state->seed : options.seed;
}

v1::OpenSessionRequest MakeOpenRequest(const SessionOptions& options,
                                       const std::optional<State>& state, uint64_t epochs) {
  v1::OpenSessionRequest request;
  request.set_protocol_version(shm::kProtocolVersion);
  v1::FeedSpec& feed = *request.mutable_feed();
  feed.set_dataset(options.dataset);
  request.set_store_environment(base::StoreEnvironmentFor(options.dataset));
  request.set_store_variables(base::StoreVariableMarksFor(options.dataset));
  feed.set_order(ToOrder(options.order));
  feed.set_seed(SeedOf(options));
  if (options.python) {
    SetPython(*options.python, *feed.mutable_python());
  } else {
    SetDecoding(options, *feed.mutable_image());
    for (const MoreImage& more : options.more_images) {
      v1::MoreImage& to = *feed.add_more_images();
      to.set_name(more.name);
      SetDecoding(more.image, *to.mutable_image());
    }
    feed.set_image_by_default(!AsksForDecoding(options));
  }
  for (const FieldRequest& field : options.fields) SetField(field, *feed.add_fields());
  SetSamples(options, feed);
  request.set_rank(options.rank);
  request.set_world_size(options.world_size);
  request.set_batch_size(options.batch_size);
  request.set_window(options.window);
  request.set_remainder(ToRemainder(options));
  request.set_epochs(epochs);
  if (state) SetState(*state, *request.mutable_state());
  request.set_name(options.name);
  request.set_fail_on_bad_sample(options.fail_on_bad_sample);
  return request;
}

}  // namespace penstock::client
