#include <cstdlib>
#include <iostream>

#include "server/augment/color/blur.h"
#include "server/augment/color/enhance.h"
#include "server/augment/color/tables.h"
#include "tests/support/augment/operations.h"

namespace penstock::augment {
namespace {

// For operations that work in place.
template <void (*kApply)(const ImageView&)>
void Plain(const ConstImageView&, const ImageView& image, Parameters, Scratch&) {
  kApply(image);
}

template <void (*kApply)(const ImageView&, double)>
void WithNumber(const ConstImageView&, const ImageView& image, Parameters parameters, Scratch&) {
  kApply(image, parameters[0]);
}

void ApplyBlur(const ConstImageView&, const ImageView& image, Parameters parameters,
               Scratch& scratch) {
  const Blur blur = {static_cast<int>(parameters[0]), static_cast<int>(parameters[1]),
                     parameters[2], parameters[3]};
  if (!Fits(blur, image)) {
    std::cerr << "penstock-augment-image: the image is too small for its border\n";
    std::exit(1);
  }
  GaussianBlur(image, blur, scratch);
}

constexpr Operation kColorOperations[] = {
    {"invert", 0, SameSize, Plain<Invert>},
    {"posterize", 1, SameSize,
     [](const ConstImageView&, const ImageView& image, Parameters parameters, Scratch&) {
       Posterize(image, static_cast<int>(parameters[0]));
     }},
    {"solarize", 1, SameSize, WithNumber<Solarize>},
    {"autocontrast", 0, SameSize, Plain<AutoContrast>},
    {"equalize", 0, SameSize, Plain<Equalize>},
    {"brightness", 1, SameSize, WithNumber<Brightness>},
    {"contrast", 1, SameSize, WithNumber<Contrast>},
    {"saturation", 1, SameSize, WithNumber<Saturation>},
    {"hue", 1, SameSize, WithNumber<Hue>},
    {"grayscale", 0, SameSize, Plain<Grayscale>},
    {"sharpness", 1, SameSize,
     [](const ConstImageView&, const ImageView& image, Parameters parameters, Scratch& scratch) {
       Sharpness(image, parameters[0], scratch);
     }},
    {"gaussian_blur", 4, SameSize, ApplyBlur},
};

}  // namespace

std::span<const Operation> ColorOperations() { return kColorOperations; }

}  // namespace penstock::augment
