// Binds the plain values of the public headers, field by field.
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "client/python/src/client.h"
#include "client/python/src/errors.h"
#include "client/python/src/gil.h"
#include "penstock/penstock.h"

namespace nb = nanobind;

namespace penstock::python {
namespace {

using Channels = std::array<float, 3>;

template <float (Finish::*kField)[3]>
Channels GetChannels(const Finish& finish) {
  Channels values;
  std::copy_n(finish.*kField, values.size(), values.begin());
  return values;
}

template <float (Finish::*kField)[3]>
void SetChannels(Finish& finish, const Channels& values) {
  std::copy(values.begin(), values.end(), finish.*kField);
}

void BindEnums(nb::module_& module) {
  nb::enum_<Order>(module, "Order")
      .value("SEQUENTIAL", Order::kSequential)
      .value("SHUFFLED", Order::kShuffled)
      .value("GIVEN", Order::kGiven)
      .value("SHUFFLED_IN_WINDOWS", Order::kShuffledInWindows);
  nb::enum_<Interpolation>(module, "Interpolation")
      .value("NEAREST", Interpolation::kNearest)
      .value("BILINEAR", Interpolation::kBilinear)
      .value("BICUBIC", Interpolation::kBicubic)
      .value("LANCZOS", Interpolation::kLanczos);
  nb::enum_<PaddingMode>(module, "PaddingMode")
      .value("CONSTANT", PaddingMode::kConstant)
      .value("EDGE", PaddingMode::kEdge)
      .value("REFLECT", PaddingMode::kReflect)
      .value("SYMMETRIC", PaddingMode::kSymmetric);
  nb::enum_<Color>(module, "Color").value("RGB", Color::kRgb).value("GRAY", Color::kGray);
  nb::enum_<Remainder>(module, "Remainder")
      .value("DEFAULT", Remainder::kDefault)
      .value("DROP", Remainder::kDrop)
      .value("PAD_BATCH", Remainder::kPadBatch)
      .value("PARTIAL", Remainder::kPartial)
      .value("PAD_RANKS", Remainder::kPadRanks);
  nb::enum_<Delivery>(module, "Delivery")
      .value("AUTO", Delivery::kAuto)
      .value("DEVICE", Delivery::kDevice)
      .value("PINNED", Delivery::kPinned)
      .value("HOST", Delivery::kHost);
  nb::enum_<HandleKind>(module, "HandleKind")
      .value("AUTO", HandleKind::kAuto)
      .value("IPC", HandleKind::kIpc)
      .value("VMM", HandleKind::kVmm);
  nb::enum_<Type>(module, "Type")
      .value("UINT8", Type::kUInt8)
      .value("FLOAT32", Type::kFloat32)
      .value("FLOAT16", Type::kFloat16)
      .value("BFLOAT16", Type::kBFloat16);
  nb::enum_<Layout>(module, "Layout").value("NHWC", Layout::kNHWC).value("NCHW", Layout::kNCHW);
}

void BindSteps(nb::module_& module) {
  nb::enum_<TransformOp>(module, "TransformOp")
      .value("HORIZONTAL_FLIP", TransformOp::kHorizontalFlip)
      .value("VERTICAL_FLIP", TransformOp::kVerticalFlip)
      .value("PAD", TransformOp::kPad)
      .value("RANDOM_CROP", TransformOp::kRandomCrop)
      .value("CENTER_CROP", TransformOp::kCenterCrop)
      .value("RESIZE", TransformOp::kResize)
      .value("RANDOM_RESIZED_CROP", TransformOp::kRandomResizedCrop)
      .value("RANDOM_SHORTEST_SIZE", TransformOp::kRandomShortestSize)
      .value("SCALE_JITTER", TransformOp::kScaleJitter)
      .value("RANDOM_RESIZE", TransformOp::kRandomResize)
      .value("ROTATION", TransformOp::kRotation)
      .value("AFFINE", TransformOp::kAffine)
      .value("PERSPECTIVE", TransformOp::kPerspective)
      .value("COLOR_JITTER", TransformOp::kColorJitter)
      .value("RANDOM_GRAYSCALE", TransformOp::kRandomGrayscale)
      .value("GAUSSIAN_BLUR", TransformOp::kGaussianBlur)
      .value("SOLARIZE", TransformOp::kSolarize)
      .value("POSTERIZE", TransformOp::kPosterize)
      .value("EQUALIZE", TransformOp::kEqualize)
      .value("AUTOCONTRAST", TransformOp::kAutocontrast)
      .value("INVERT", TransformOp::kInvert)
      .value("ADJUST_SHARPNESS", TransformOp::kAdjustSharpness)
      .value("RAND_AUGMENT", TransformOp::kRandAugment)
      .value("TRIVIAL_AUGMENT_WIDE", TransformOp::kTrivialAugmentWide)
      .value("AUTO_AUGMENT", TransformOp::kAutoAugment)
      .value("AUG_MIX", TransformOp::kAugMix)
      .value("COMPOSE", TransformOp::kCompose)
      .value("RANDOM_APPLY", TransformOp::kRandomApply)
      .value("RANDOM_CHOICE", TransformOp::kRandomChoice)
      .value("RANDOM_ORDER", TransformOp::kRandomOrder);
  nb::class_<TransformStep>(module, "TransformStep")
      .def(nb::init<>())
      .def_rw("op", &TransformStep::op)
      .def_rw("numbers", &TransformStep::numbers)
      .def_rw("probability", &TransformStep::probability)
      .def_rw("interpolation", &TransformStep::interpolation)
      .def_rw("padding_mode", &TransformStep::padding_mode)
      .def_rw("steps", &TransformStep::steps);
  nb::class_<ImageOptions>(module, "ImageOptions")
      .def(nb::init<>())
      .def_rw("random_crop", &ImageOptions::random_crop)
      .def_rw("center_crop", &ImageOptions::center_crop)
      .def_rw("whole_image", &ImageOptions::whole_image)
      .def_rw("interpolation", &ImageOptions::interpolation)
      .def_rw("flip_probability", &ImageOptions::flip_probability)
      .def_rw("steps", &ImageOptions::steps)
      .def_rw("color", &ImageOptions::color)
      .def_rw("apply_exif_orientation", &ImageOptions::apply_exif_orientation);
  nb::class_<MoreImage>(module, "MoreImage")
      .def(nb::init<>())
      .def_rw("name", &MoreImage::name)
      .def_rw("image", &MoreImage::image);
  nb::class_<WholeImage>(module, "WholeImage")
      .def(nb::init<>())
      .def_rw("height", &WholeImage::height)
      .def_rw("width", &WholeImage::width)
      .def_rw("canvas", &WholeImage::canvas);
}

void BindTargets(nb::module_& module) {
  nb::enum_<Target::Kind>(module, "TargetKind")
      .value("NONE", Target::Kind::kNone)
      .value("MASK", Target::Kind::kMask)
      .value("BOXES", Target::Kind::kBoxes)
      .value("POINTS", Target::Kind::kPoints)
      .value("WITH_BOXES", Target::Kind::kWithBoxes);
  nb::enum_<Target::BoxFormat>(module, "BoxFormat")
      .value("CORNERS", Target::BoxFormat::kCorners)
      .value("CORNER_AND_SIZE", Target::BoxFormat::kCornerAndSize)
      .value("CENTER_AND_SIZE", Target::BoxFormat::kCenterAndSize);
  nb::class_<Target>(module, "Target", "What a field is that follows its image's geometry.")
      .def(nb::init<>())
      .def_rw("kind", &Target::kind)
      .def_rw("box_format", &Target::box_format)
      .def_rw("relative", &Target::relative)
      .def_rw("fill", &Target::fill)
      .def_rw("min_side", &Target::min_side)
      .def_rw("point_pairs", &Target::point_pairs)
      .def_rw("point_numbers", &Target::point_numbers)
      .def_rw("item_points", &Target::item_points);
}

void BindStructs(nb::module_& module) {
  nb::class_<GpuDecoding>(module, "GpuDecoding", "Decoding on this process's GPU.")
      .def(
          "__init__",
          [](GpuDecoding* decoding, double share, const std::string& nvjpeg) {
            new (decoding) GpuDecoding{.share = share, .nvjpeg = nvjpeg};
          },
          nb::arg("share"), nb::arg("nvjpeg") = "")
      .def_ro("share", &GpuDecoding::share)
      .def_ro("nvjpeg", &GpuDecoding::nvjpeg);
  nb::class_<RandomResizedCrop>(module, "RandomResizedCrop")
      .def(nb::init<>())
      .def_rw("height", &RandomResizedCrop::height)
      .def_rw("width", &RandomResizedCrop::width)
      .def_rw("scale_min", &RandomResizedCrop::scale_min)
      .def_rw("scale_max", &RandomResizedCrop::scale_max)
      .def_rw("ratio_min", &RandomResizedCrop::ratio_min)
      .def_rw("ratio_max", &RandomResizedCrop::ratio_max);
  nb::class_<ResizeCenterCrop>(module, "ResizeCenterCrop")
      .def(nb::init<>())
      .def_rw("resize", &ResizeCenterCrop::resize)
      .def_rw("height", &ResizeCenterCrop::height)
      .def_rw("width", &ResizeCenterCrop::width);
  nb::class_<SampleRange>(module, "SampleRange")
      .def(nb::init<>())
      .def_rw("first", &SampleRange::first)
      .def_rw("count", &SampleRange::count);
  nb::class_<GivenBy>(module, "GivenBy")
      .def(nb::init<uint32_t, uint32_t>())
      .def_ro("rank", &GivenBy::rank)
      .def_ro("ranks", &GivenBy::ranks);
  nb::class_<ShuffleWindow>(module, "ShuffleWindow")
      .def(nb::init<>())
      .def_rw("shard_samples", &ShuffleWindow::shard_samples)
      .def_rw("shards", &ShuffleWindow::shards);
  nb::class_<Finish>(module, "Finish")
      .def(nb::init<>())
      .def_rw("type", &Finish::type)
      .def_rw("layout", &Finish::layout)
      .def_prop_rw("mean", &GetChannels<&Finish::mean>, &SetChannels<&Finish::mean>)
      .def_prop_rw("stddev", &GetChannels<&Finish::stddev>, &SetChannels<&Finish::stddev>);
  nb::class_<FieldRequest>(module, "FieldRequest")
      .def(nb::init<>())
      .def_rw("name", &FieldRequest::name)
      .def_rw("max_length", &FieldRequest::max_length)
      .def_rw("as_stored", &FieldRequest::as_stored)
      .def_rw("target", &FieldRequest::target);
  nb::class_<State>(module, "State")
      .def(nb::init<>())
      .def_rw("epoch", &State::epoch)
      .def_rw("consumed", &State::consumed)
      .def_rw("seed", &State::seed)
      .def_rw("fingerprint", &State::fingerprint)
      .def_rw("quarantine_version", &State::quarantine_version)
      .def("__repr__", &State::ToString);
}

void BindPythonFeed(nb::module_& module) {
  nb::class_<PythonFeed>(module, "PythonFeed", "How the batches of a Python dataset are made.")
      .def(nb::init<>())
      .def_rw("max_batch_bytes", &PythonFeed::max_batch_bytes, "0: 1 GiB.")
      .def_rw("workers", &PythonFeed::workers)
      .def_prop_rw(
          "timeout",
          [](const PythonFeed& feed) {
            return std::chrono::duration<double>(feed.timeout).count();
          },
          [](PythonFeed& feed, double seconds) {
            constexpr double kDay = 24 * 3600;
            feed.timeout = std::chrono::ceil<std::chrono::milliseconds>(
                std::chrono::duration<double>(std::clamp(seconds, 0.0, kDay)));
          },
          "Seconds for a sample, or to collate a batch. 0: an hour.")
      .def_rw("streams", &PythonFeed::streams)
      .def_rw("digest", &PythonFeed::digest)
      .def_rw("replace_bad_samples", &PythonFeed::replace_bad_samples)
      .def_rw("keep_workers", &PythonFeed::keep_workers);
}

// Any one-dimensional array or buffer of uint64 in host memory; copied once.
using Indices = nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void SetGiven(SessionOptions& options, const Indices& indices) {
  const uint64_t* const begin = indices.data();
  options.given = std::make_shared<const std::vector<uint64_t>>(begin, begin + indices.size());
}

using Weights = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Returns the bytes of uint64 numbers, from which Python makes an array in one step.
nb::bytes Draw(const Weights& weights, uint64_t count, uint64_t seed, uint64_t epoch) {
  Result<std::vector<uint64_t>> drawn = [&] {
    const WithoutGil released;
    return DrawWeighted({weights.data(), weights.size()}, count, seed, epoch);
  }();
  const std::vector<uint64_t> order = ValueOf(std::move(drawn));
  return nb::bytes(reinterpret_cast<const char*>(order.data()), order.size() * sizeof(uint64_t));
}

size_t GivenSize(const SessionOptions& options) {
  return options.given == nullptr ? 0 : options.given->size();
}

void BindSessionOptions(nb::module_& module) {
  nb::class_<SessionOptions>(module, "SessionOptions")
      .def(nb::init<>())
      .def_rw("dataset", &SessionOptions::dataset)
      .def_rw("batch_size", &SessionOptions::batch_size)
      .def_rw("order", &SessionOptions::order)
      .def_prop_rw("given", &GivenSize, &SetGiven,
                   "The samples of an epoch; reading returns their number.")
      .def_rw("given_by", &SessionOptions::given_by)
      .def_rw("shuffle_window", &SessionOptions::shuffle_window)
      .def_rw("range", &SessionOptions::range)
      .def_rw("seed", &SessionOptions::seed)
      .def_rw("random_crop", &SessionOptions::random_crop)
      .def_rw("center_crop", &SessionOptions::center_crop)
      .def_rw("whole_image", &SessionOptions::whole_image)
      .def_rw("interpolation", &SessionOptions::interpolation)
      .def_rw("steps", &SessionOptions::steps)
      .def_rw("more_images", &SessionOptions::more_images)
      .def_rw("color", &SessionOptions::color)
      .def_rw("apply_exif_orientation", &SessionOptions::apply_exif_orientation)
      .def_rw("flip_probability", &SessionOptions::flip_probability)
      .def_rw("rank", &SessionOptions::rank)
      .def_rw("world_size", &SessionOptions::world_size)
      .def_rw("remainder", &SessionOptions::remainder)
      .def_rw("window", &SessionOptions::window)
      .def_rw("epochs", &SessionOptions::epochs)
      .def_rw("state", &SessionOptions::state)
      .def_rw("fail_on_bad_sample", &SessionOptions::fail_on_bad_sample)
      .def_rw("fields", &SessionOptions::fields)
      .def_rw("python", &SessionOptions::python)
      .def_rw("name", &SessionOptions::name)
      .def_rw("gpu_decoding", &SessionOptions::gpu_decoding)
      .def_rw("device", &SessionOptions::device)
      .def_rw("delivery", &SessionOptions::delivery)
      .def_rw("handle", &SessionOptions::handle)
      .def_rw("device_depth", &SessionOptions::device_depth);
}

}  // namespace

void BindOptions(nb::module_& module) {
  BindEnums(module);
  BindSteps(module);
  BindTargets(module);
  BindStructs(module);
  BindPythonFeed(module);
  BindSessionOptions(module);
  module.def("draw_weighted", &Draw, nb::arg("weights"), nb::arg("count"), nb::arg("seed"),
             nb::arg("epoch"), "Samples drawn with replacement, as bytes of uint64.");
}

}  // namespace penstock::python
