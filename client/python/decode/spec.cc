#include "client/python/decode/spec.h"

#include <string>

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

// What every geometry has.
struct Common {
  double flip = 0.0;
  bool gray = false;
  bool upright = false;
};

Spec SpecWith(const Common& common) {
  Spec spec;
  spec.flip_probability = common.flip;
  spec.color = common.gray ? Color::kGray : Color::kRgb;
  spec.exif = common.upright ? Exif::kApply : Exif::kIgnore;
  return spec;
}

RowSpec RandomCrop(uint32_t height, uint32_t width, double scale_min, double scale_max,
                   double ratio_min, double ratio_max, double flip, bool gray, bool upright) {
  Spec spec = SpecWith({flip, gray, upright});
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
                   bool upright) {
  Spec spec = SpecWith({flip, gray, upright});
  spec.geometry = Geometry::kResizeCenterCrop;
  spec.resize = resize;
  spec.height = height;
  spec.width = width;
  return Checked({spec, false});
}

RowSpec Whole(double flip, bool gray, bool upright) {
  return Checked({SpecWith({flip, gray, upright}), true});
}

}  // namespace

void BindSpec(nb::module_& module) {
  nb::class_<RowSpec>(module, "Spec", "How to decode an image. ValueError names a wrong number.")
      .def_static("random_crop", &RandomCrop, nb::arg("height"), nb::arg("width"),
                  nb::arg("scale_min"), nb::arg("scale_max"), nb::arg("ratio_min"),
                  nb::arg("ratio_max"), nb::kw_only(), nb::arg("flip") = 0.0,
                  nb::arg("gray") = false, nb::arg("upright") = false,
                  "A random box of the image, resized.")
      .def_static("center_crop", &CenterCrop, nb::arg("resize"), nb::arg("height"),
                  nb::arg("width"), nb::kw_only(), nb::arg("flip") = 0.0, nb::arg("gray") = false,
                  nb::arg("upright") = false, "Resizes the shorter side, then cuts out the middle.")
      .def_static("whole", &Whole, nb::kw_only(), nb::arg("flip") = 0.0, nb::arg("gray") = false,
                  nb::arg("upright") = false, "The image as it is.")
      .def_ro("is_whole", &RowSpec::whole);
}

}  // namespace penstock::python::decode
