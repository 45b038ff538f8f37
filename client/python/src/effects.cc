#include "client/python/src/effects.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "client/python/src/errors.h"

namespace nb = nanobind;

namespace penstock::python {
namespace {

using Values = std::array<float, 3>;
using Rows = nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// (x, y, width, height, key of the noise); width or height 0: nothing is erased.
using ErasedBox = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint64_t>;

std::vector<ErasedBox> ToBoxes(std::span<const Erasure> erasures) {
  std::vector<ErasedBox> boxes;
  for (const Erasure& erasure : erasures)
    boxes.emplace_back(erasure.box.x, erasure.box.y, erasure.box.width, erasure.box.height,
                       erasure.noise_key);
  return boxes;
}

nb::tuple ToTuple(const Mix& mix) {
  return nb::make_tuple(mix.kind, mix.share,
                        nb::make_tuple(mix.box.x, mix.box.y, mix.box.width, mix.box.height));
}

// Raises for parameters that are out of their ranges, whatever the batch.
void CheckOptions(const EffectOptions& options) {
  DrawKey key = {.view = options.view};
  if (options.erasing) {
    key.step = options.erasing->step;
    Check(DrawErasures(*options.erasing, key, {}, 1, 1).status());
  }
  if (options.mixes.empty()) return;
  key.step = options.mix_step;
  Check(DrawMix(options.mixes, options.mix_probability, key, 0, 1, 1).status());
}

// The effects that a batch gets: (boxes, (kind, share, box)).
nb::tuple DrawnOf(const EffectOptions& options, uint64_t epoch, uint64_t first, const Rows& rows,
                  uint32_t valid_rows, uint32_t height, uint32_t width) {
  DrawKey key = {.seed = options.seed, .epoch = epoch, .view = options.view};
  std::vector<ErasedBox> boxes;
  if (options.erasing) {
    key.step = options.erasing->step;
    const std::vector<uint64_t> keys =
        RowKeys(options.keying, first, {rows.data(), rows.size()}, valid_rows);
    boxes = ToBoxes(ValueOf(DrawErasures(*options.erasing, key, keys, height, width)));
  }
  key.step = options.mix_step;
  const Mix mix =
      ValueOf(DrawMix(options.mixes, options.mix_probability, key, first, height, width));
  return nb::make_tuple(boxes, ToTuple(mix));
}

void BindErasing(nb::module_& module) {
  nb::enum_<EraseFill>(module, "EraseFill")
      .value("VALUE", EraseFill::kValue)
      .value("NOISE", EraseFill::kNoise);
  nb::enum_<MixKind>(module, "MixKind")
      .value("NONE", MixKind::kNone)
      .value("MIXUP", MixKind::kMixUp)
      .value("CUTMIX", MixKind::kCutMix);
  nb::class_<RandomErasing>(module, "RandomErasing")
      .def(nb::init<>())
      .def_rw("probability", &RandomErasing::probability)
      .def_rw("scale_min", &RandomErasing::scale_min)
      .def_rw("scale_max", &RandomErasing::scale_max)
      .def_rw("ratio_min", &RandomErasing::ratio_min)
      .def_rw("ratio_max", &RandomErasing::ratio_max)
      .def_rw("fill", &RandomErasing::fill)
      .def_prop_rw(
          "value",
          [](const RandomErasing& erasing) {
            return Values{erasing.value[0], erasing.value[1], erasing.value[2]};
          },
          [](RandomErasing& erasing, const Values& values) {
            std::copy(values.begin(), values.end(), erasing.value);
          })
      .def_rw("step", &RandomErasing::step);
  nb::class_<MixChoice>(module, "MixChoice")
      .def(nb::init<MixKind, double, double>(), nb::arg("kind"), nb::arg("alpha"),
           nb::arg("weight") = 1.0)
      .def_ro("kind", &MixChoice::kind)
      .def_ro("alpha", &MixChoice::alpha)
      .def_ro("weight", &MixChoice::weight);
}

}  // namespace

Result<DrawnEffects> DrawFor(const RequestedEffects& effects, const Batch& batch,
                             Address soft_labels, uint64_t bytes) {
  if (soft_labels != 0 && (!effects || effects->classes == 0))
    return Status(Code::kInvalidArgument,
                  "soft labels: got memory for them, but no classes; set effects.classes");
  if (!effects) return DrawnEffects({}, Effects{});
  const uint64_t wanted = SoftBytes(effects, batch.rows());
  if (soft_labels != 0 && bytes < wanted)
    return Status(Code::kInvalidArgument, "soft labels: too small: got " + std::to_string(bytes) +
                                              " bytes, expected at least " +
                                              std::to_string(wanted));
  return DrawEffects(*effects, batch);
}

void BindEffects(nb::module_& module) {
  BindErasing(module);
  nb::class_<EffectOptions>(module, "EffectOptions",
                            "Erased boxes, mixes and soft labels of a feed's batches.")
      .def(nb::init<>())
      .def_rw("seed", &EffectOptions::seed, "The session's.")
      .def_rw("view", &EffectOptions::view)
      .def_rw("erasing", &EffectOptions::erasing, nb::arg().none())
      .def_rw("mixes", &EffectOptions::mixes)
      .def_rw("mix_probability", &EffectOptions::mix_probability)
      .def_rw("mix_step", &EffectOptions::mix_step)
      .def_rw("classes", &EffectOptions::classes, "Of soft labels; 0: not wanted.")
      .def_prop_rw(
          "by_position", [](const EffectOptions& options) { return options.keying.by_position; },
          [](EffectOptions& options, bool by) { options.keying.by_position = by; },
          "Whether samples may come more than once in an epoch: a given order, a mixture.")
      .def_prop_rw(
          "given_by", [](const EffectOptions& options) { return options.keying.given_by; },
          [](EffectOptions& options, const GivenBy& by) { options.keying.given_by = by; })
      .def("check", &CheckOptions, "Raises for a parameter that is out of its range.")
      .def("drawn", &DrawnOf, nb::arg("epoch"), nb::arg("first"), nb::arg("sample_ids"),
           nb::arg("valid_rows"), nb::arg("height"), nb::arg("width"),
           "What a batch gets: ([(x, y, width, height, key of the noise)] of its rows, (kind, "
           "share, (x, y, width, height))).");
}

}  // namespace penstock::python
