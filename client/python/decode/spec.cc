#include "client/python/decode/spec.h"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <vector>

#include "server/augment/recipe/numbers.h"

namespace nb = nanobind;
using penstock::decode::Color;
using penstock::decode::Exif;
using penstock::decode::Geometry;
using penstock::decode::Spec;

namespace penstock::python::decode {
namespace {

RowSpec Checked(const RowSpec& spec) {
  if (const absl::Status valid = Validate(spec.spec); !valid.ok()) {
    throw nb::value_error(std::string(valid.message()).c_str());
  }
  return spec;
}

// One step of the flat recipe: (operation, steps within it, its numbers, probability, weight,
// interpolation, padding mode).
using StepTuple =
    std::tuple<uint32_t, uint32_t, std::vector<double>, double, double, uint8_t, uint8_t>;

augment::Step StepFrom(const StepTuple& given) {
  augment::Step step;
  step.op = static_cast<augment::Op>(std::get<0>(given));
  step.children = std::get<1>(given);
  if (const absl::Status taken = augment::TakeNumbers(std::get<2>(given), step); !taken.ok()) {
    throw nb::value_error(std::string(taken.message()).c_str());
  }
  step.probability = std::get<3>(given);
  step.weight = std::get<4>(given);
  step.interpolation = std::get<5>(given);
  if (step.op == augment::Op::kPad || step.op == augment::Op::kRandomCrop)
    step.mode = std::get<6>(given);
  return step;
}

augment::TransformRecipe RecipeFrom(const std::vector<StepTuple>& steps) {
  if (steps.size() > augment::kMaxSteps) throw nb::value_error("the recipe has too many steps");
  augment::TransformRecipe recipe;
  for (const StepTuple& step : steps) recipe.steps[recipe.count++] = StepFrom(step);
  return recipe;
}

// What every geometry has.
struct Common {
  double flip = 0.0;
  bool gray = false;
  bool upright = false;
  uint32_t interpolation = 2;  // base::Interpolation
  const std::vector<StepTuple>& steps;
};

Spec SpecWith(const Common& common) {
  Spec spec;
  spec.flip_probability = common.flip;
  spec.color = common.gray ? Color::kGray : Color::kRgb;
  spec.exif = common.upright ? Exif::kApply : Exif::kIgnore;
  spec.interpolation = static_cast<base::Interpolation>(common.interpolation);
  spec.recipe = RecipeFrom(common.steps);
  return spec;
}

RowSpec RandomCrop(uint32_t height, uint32_t width, double scale_min, double scale_max,
                   double ratio_min, double ratio_max, double flip, bool gray, bool upright,
                   uint32_t interpolation, const std::vector<StepTuple>& steps) {
  Spec spec = SpecWith({flip, gray, upright, interpolation, steps});
  spec.geometry = Geometry::kRandomResizedCrop;
  spec.height = height;
  spec.width = width;
  spec.scale_min = scale_min;
  spec.scale_max = scale_max;
  spec.ratio_min = ratio_min;
  spec.ratio_max = ratio_max;
  return Checked({spec, false});
}

RowSpec CenterCrop(uint32_t resize, uint32_t height, uint32_t width, double flip, bool gray,
                   bool upright, uint32_t interpolation, const std::vector<StepTuple>& steps) {
  Spec spec = SpecWith({flip, gray, upright, interpolation, steps});
  spec.geometry = Geometry::kResizeCenterCrop;
  spec.resize = resize;
  spec.height = height;
  spec.width = width;
  return Checked({spec, false});
}

RowSpec OfRecipe(uint32_t height, uint32_t width, bool gray, bool upright,
                 const std::vector<StepTuple>& steps) {
  Spec spec = SpecWith({0.0, gray, upright, 2, steps});
  spec.geometry = Geometry::kWhole;
  spec.height = height;
  spec.width = width;
  return Checked({spec, false});
}

RowSpec Whole(double flip, bool gray, bool upright, const std::vector<StepTuple>& steps) {
  return Checked({SpecWith({flip, gray, upright, 2, steps}), true});
}

}  // namespace

void BindSpec(nb::module_& module) {
  nb::class_<RowSpec>(module, "Spec", "How to decode an image. ValueError names a wrong number.")
      .def_static("random_crop", &RandomCrop, nb::arg("height"), nb::arg("width"),
                  nb::arg("scale_min"), nb::arg("scale_max"), nb::arg("ratio_min"),
                  nb::arg("ratio_max"), nb::kw_only(), nb::arg("flip") = 0.0,
                  nb::arg("gray") = false, nb::arg("upright") = false, nb::arg("interpolation") = 2,
                  nb::arg("steps") = std::vector<StepTuple>(),
                  "A random box of the image, resized.")
      .def_static("center_crop", &CenterCrop, nb::arg("resize"), nb::arg("height"),
                  nb::arg("width"), nb::kw_only(), nb::arg("flip") = 0.0, nb::arg("gray") = false,
                  nb::arg("upright") = false, nb::arg("interpolation") = 2,
                  nb::arg("steps") = std::vector<StepTuple>(),
                  "Resizes the shorter side, then cuts out the middle.")
      .def_static("recipe", &OfRecipe, nb::arg("height"), nb::arg("width"), nb::kw_only(),
                  nb::arg("gray") = false, nb::arg("upright") = false, nb::arg("steps"),
                  "Steps that begin with the whole image.")
      .def_static("whole", &Whole, nb::kw_only(), nb::arg("flip") = 0.0, nb::arg("gray") = false,
                  nb::arg("upright") = false, nb::arg("steps") = std::vector<StepTuple>(),
                  "The image as it is, and steps that keep its size.")
      .def_ro("is_whole", &RowSpec::whole);
}

}  // namespace penstock::python::decode
