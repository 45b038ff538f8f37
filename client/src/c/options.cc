#include "client/src/c/options.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

#include "client/src/c/boundary.h"

namespace penstock::c {
namespace {

// The numbers of the C API are the C++ client's where 0 means the same.
static_assert(PENSTOCK_INVALID_ARGUMENT == int{static_cast<int>(Code::kInvalidArgument)});
static_assert(PENSTOCK_UNAVAILABLE == static_cast<int>(Code::kUnavailable));
static_assert(PENSTOCK_END_OF_EPOCH == static_cast<int>(Code::kEndOfEpoch));
static_assert(PENSTOCK_CANCELLED == static_cast<int>(Code::kCancelled));
static_assert(PENSTOCK_BOOL == static_cast<int>(DType::kBool));
static_assert(PENSTOCK_UINT8 == static_cast<int>(DType::kUInt8));
static_assert(PENSTOCK_FLOAT64 == static_cast<int>(DType::kFloat64));
static_assert(PENSTOCK_REMAINDER_DEFAULT == static_cast<int>(Remainder::kDefault));
static_assert(PENSTOCK_PAD_RANKS == static_cast<int>(Remainder::kPadRanks));
static_assert(PENSTOCK_NEAREST == static_cast<int>(Interpolation::kNearest));
static_assert(PENSTOCK_LANCZOS == static_cast<int>(Interpolation::kLanczos));
static_assert(PENSTOCK_DELIVERY_AUTO == static_cast<int>(Delivery::kAuto));
static_assert(PENSTOCK_DELIVERY_HOST == static_cast<int>(Delivery::kHost));
static_assert(PENSTOCK_HANDLE_VMM == static_cast<int>(HandleKind::kVmm));

constexpr Order kOrders[] = {Order::kShuffled, Order::kSequential, Order::kGiven,
                             Order::kShuffledInWindows};

Status OutOfRange(const char* what, int64_t got, int64_t first, int64_t last) {
  return {Code::kInvalidArgument, std::string(what) + ": got " + std::to_string(got) +
                                      ", expected " + std::to_string(first) + " to " +
                                      std::to_string(last)};
}

struct EnumField {
  const char* what;
  int32_t value;
  int32_t last;
};

// The first of these fields whose value is not one of 0 to `last`.
Status CheckEnums(std::initializer_list<EnumField> fields) {
  for (const EnumField& field : fields) {
    if (field.value < 0 || field.value > field.last)
      return OutOfRange(field.what, field.value, 0, field.last);
  }
  return {};
}

template <typename T>
T Or(T value, T fallback) {
  return value == T{} ? fallback : value;
}

std::string Text(const char* text) { return text == nullptr ? "" : text; }

Status CheckSessionEnums(const penstock_session_options& options) {
  return CheckEnums({{"order", options.order, PENSTOCK_SHUFFLED_IN_WINDOWS},
                     {"remainder", options.remainder, PENSTOCK_PAD_RANKS},
                     {"decode", options.decode, PENSTOCK_WHOLE_IMAGE},
                     {"interpolation", options.interpolation, PENSTOCK_LANCZOS},
                     {"delivery", options.delivery, PENSTOCK_DELIVERY_HOST},
                     {"handle", options.handle, PENSTOCK_HANDLE_VMM},
                     {"reserved", options.reserved, 0}});
}

// An option that the others give no meaning would be ignored in silence.
Status CheckUnused(const penstock_session_options& c) {
  const bool crops = c.decode == PENSTOCK_RANDOM_RESIZED_CROP;
  const std::pair<bool, const char*> unused[] = {
      {c.decode == PENSTOCK_DECODE_DEFAULT && (c.height != 0 || c.width != 0),
       "height and width need `decode`"},
      {c.decode != PENSTOCK_CENTER_CROP && c.resize != 0,
       "resize needs decode = PENSTOCK_CENTER_CROP"},
      {!crops && (c.scale_min != 0 || c.scale_max != 0 || c.ratio_min != 0 || c.ratio_max != 0),
       "scale and ratio need decode = PENSTOCK_RANDOM_RESIZED_CROP"},
      {c.decode != PENSTOCK_WHOLE_IMAGE && c.canvas != 0,
       "canvas needs decode = PENSTOCK_WHOLE_IMAGE"},
      {c.order != PENSTOCK_GIVEN && (c.given_count != 0 || c.given_ranks != 0),
       "given needs order = PENSTOCK_GIVEN"},
      {c.order == PENSTOCK_GIVEN && (c.given == nullptr || c.given_count == 0),
       "order = PENSTOCK_GIVEN needs given and given_count"},
      {c.order != PENSTOCK_SHUFFLED_IN_WINDOWS && (c.shard_samples != 0 || c.window_shards != 0),
       "shard_samples and window_shards need order = PENSTOCK_SHUFFLED_IN_WINDOWS"},
      {c.range_count == 0 && c.range_first != 0, "range_first needs range_count"},
      {c.fields == nullptr && c.field_count != 0, "fields is NULL, and field_count is not 0"},
  };
  for (const auto& [wrong, words] : unused) {
    if (wrong) return {Code::kInvalidArgument, words};
  }
  return {};
}

void SetDecoding(const penstock_session_options& c, SessionOptions& options) {
  const uint32_t height = Or(c.height, 224u), width = Or(c.width, 224u);
  if (c.decode == PENSTOCK_RANDOM_RESIZED_CROP) {
    options.random_crop = RandomResizedCrop{.height = height,
                                            .width = width,
                                            .scale_min = Or(c.scale_min, 0.08),
                                            .scale_max = Or(c.scale_max, 1.0),
                                            .ratio_min = Or(c.ratio_min, 3.0 / 4.0),
                                            .ratio_max = Or(c.ratio_max, 4.0 / 3.0)};
  }
  if (c.decode == PENSTOCK_CENTER_CROP) {
    options.center_crop =
        ResizeCenterCrop{.resize = Or(c.resize, 256u), .height = height, .width = width};
  }
  if (c.decode == PENSTOCK_WHOLE_IMAGE)
    options.whole_image = WholeImage{.height = height, .width = width, .canvas = c.canvas != 0};
  options.flip_probability = c.flip_probability;
  options.interpolation =
      static_cast<Interpolation>(Or(c.interpolation, int32_t{PENSTOCK_BILINEAR}));
  options.color = c.gray != 0 ? Color::kGray : Color::kRgb;
  options.apply_exif_orientation = c.apply_exif_orientation != 0;
}

void SetOrder(const penstock_session_options& c, SessionOptions& options) {
  options.order = kOrders[c.order];
  if (c.order == PENSTOCK_GIVEN)
    options.given = std::make_shared<const std::vector<uint64_t>>(c.given, c.given + c.given_count);
  if (c.given_ranks != 0) options.given_by = GivenBy{.rank = c.given_rank, .ranks = c.given_ranks};
  if (c.order == PENSTOCK_SHUFFLED_IN_WINDOWS) {
    options.shuffle_window =
        ShuffleWindow{.shard_samples = c.shard_samples, .shards = Or(c.window_shards, 16u)};
  }
  if (c.range_count != 0)
    options.range = SampleRange{.first = c.range_first, .count = c.range_count};
  options.seed = c.seed;
  options.epochs = c.epochs;
  options.rank = c.rank;
  options.world_size = Or(c.world_size, 1u);
  options.remainder = static_cast<Remainder>(c.remainder);
}

Status SetFields(const penstock_session_options& c, SessionOptions& options) {
  for (size_t i = 0; i < c.field_count; ++i) {
    if (c.fields[i].name == nullptr) return Missing("penstock_field_request.name");
    options.fields.push_back({.name = c.fields[i].name,
                              .max_length = c.fields[i].max_length,
                              .as_stored = c.fields[i].as_stored != 0});
  }
  return {};
}

}  // namespace

Result<ClientOptions> ToClientOptions(const penstock_client_options* given) {
  ClientOptions options;
  if (given == nullptr) return options;
  penstock_client_options c;
  if (Status read = ReadStruct("penstock_client_options", given, c); !read.ok()) return read;
  options.address = Text(c.address);
  options.name = Text(c.name);
  options.start_private = c.start_private != 0;
  options.only_private = c.only_private != 0;
  if (c.interrupted != nullptr) {
    options.interrupted = [call = c.interrupted, argument = c.interrupted_argument] {
      return call(argument) != 0;
    };
  }
  return options;
}

Result<SessionOptions> ToSessionOptions(const penstock_session_options* given) {
  penstock_session_options c;
  if (Status read = ReadStruct("penstock_session_options", given, c); !read.ok()) return read;
  if (c.dataset == nullptr) return Missing("penstock_session_options.dataset");
  if (Status checked = CheckSessionEnums(c); !checked.ok()) return checked;
  if (Status checked = CheckUnused(c); !checked.ok()) return checked;
  if (c.open_timeout_ms < 0) return OutOfRange("open_timeout_ms", c.open_timeout_ms, 0, INT64_MAX);
  SessionOptions options;
  options.dataset = c.dataset;
  options.name = Text(c.name);
  if (c.device != nullptr) options.device = c.device;
  options.batch_size = Or(c.batch_size, 1u);
  options.window = Or(c.window, 4u);
  options.fail_on_bad_sample = c.fail_on_bad_sample != 0;
  options.delivery = static_cast<Delivery>(c.delivery);
  options.handle = static_cast<HandleKind>(c.handle);
  options.device_depth = c.device_depth;
  if (c.open_timeout_ms != 0) options.open_timeout = std::chrono::milliseconds(c.open_timeout_ms);
  if (c.state != nullptr) {
    Result<State> state = ToState(c.state);
    if (!state) return state.status();
    options.state = *state;
  }
  SetOrder(c, options);
  SetDecoding(c, options);
  if (Status set = SetFields(c, options); !set.ok()) return set;
  return options;
}

Result<Finish> ToFinish(const penstock_finish* given) {
  penstock_finish c;
  if (Status read = ReadStruct("penstock_finish", given, c); !read.ok()) return read;
  constexpr std::pair<int32_t, Type> kTypes[] = {{0, Type::kFloat32},
                                                 {PENSTOCK_FLOAT32, Type::kFloat32},
                                                 {PENSTOCK_UINT8, Type::kUInt8},
                                                 {PENSTOCK_FLOAT16, Type::kFloat16},
                                                 {PENSTOCK_BFLOAT16, Type::kBFloat16}};
  const auto* const type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                        [&](const auto& pair) { return pair.first == c.type; });
  if (type == std::end(kTypes)) {
    return Status(Code::kInvalidArgument,
                  "penstock_finish.type: got " + std::to_string(c.type) +
                      ", expected PENSTOCK_FLOAT32, _UINT8, _FLOAT16 or _BFLOAT16");
  }
  if (Status checked = CheckEnums({{"penstock_finish.layout", c.layout, PENSTOCK_NHWC}});
      !checked.ok())
    return checked;
  Finish finish{.type = type->second,
                .layout = c.layout == PENSTOCK_NHWC ? Layout::kNHWC : Layout::kNCHW};
  std::copy(std::begin(c.mean), std::end(c.mean), finish.mean);
  const bool set =
      std::any_of(std::begin(c.stddev), std::end(c.stddev), [](float value) { return value != 0; });
  if (set) std::copy(std::begin(c.stddev), std::end(c.stddev), finish.stddev);
  return finish;
}

Result<State> ToState(const penstock_state* given) {
  penstock_state c;
  if (Status read = ReadStruct("penstock_state", given, c); !read.ok()) return read;
  return State{.epoch = c.epoch,
               .consumed = c.consumed,
               .seed = c.seed,
               .fingerprint = c.fingerprint,
               .quarantine_version = c.quarantine_version};
}

penstock_state FromState(const State& state) {
  return {.struct_size = sizeof(penstock_state),
          .epoch = state.epoch,
          .consumed = state.consumed,
          .seed = state.seed,
          .fingerprint = state.fingerprint,
          .quarantine_version = state.quarantine_version};
}

penstock_tensor_info FromField(const Field& field) {
  return {.struct_size = sizeof(penstock_tensor_info),
          .name = field.name.c_str(),
          .shape = field.shape.data(),
          .rank = static_cast<uint32_t>(field.shape.size()),
          .type = static_cast<int32_t>(field.type),
          .variable = field.variable,
          .element_bytes = static_cast<uint32_t>(ElementBytes(field.type))};
}

Status ToPlaces(const penstock_into* given, Places& places) {
  penstock_into c;
  if (Status read = ReadStruct("penstock_into", given, c); !read.ok()) return read;
  if (c.tensors == nullptr && c.tensor_count != 0)
    return {Code::kInvalidArgument, "penstock_into.tensors is NULL, and tensor_count is not 0"};
  for (size_t i = 0; i < c.tensor_count; ++i) {
    const penstock_tensor_into& tensor = c.tensors[i];
    if (tensor.type < PENSTOCK_BOOL || tensor.type > PENSTOCK_FLOAT64)
      return OutOfRange("penstock_tensor_into.type", tensor.type, PENSTOCK_BOOL, PENSTOCK_FLOAT64);
    places.tensors.push_back({.tensor = tensor.tensor,
                              .type = static_cast<DType>(tensor.type),
                              .data = tensor.data,
                              .bytes = tensor.bytes,
                              .lengths = tensor.lengths});
  }
  places.into = {.images = c.images,
                 .image_bytes = c.image_bytes,
                 .labels = c.labels,
                 .tensors = places.tensors};
  return {};
}

Result<std::chrono::milliseconds> ToTimeout(int64_t timeout_ms) {
  if (timeout_ms == PENSTOCK_DEFAULT_TIMEOUT) return std::chrono::milliseconds(300'000);
  if (timeout_ms < 0) return OutOfRange("timeout_ms", timeout_ms, -1, INT64_MAX);
  return std::chrono::milliseconds(timeout_ms);
}

}  // namespace penstock::c
