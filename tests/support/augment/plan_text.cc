#include "tests/support/augment/plan_text.h"

#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <iterator>

namespace penstock::augment {
namespace {

// Decimals that Python and std::strtod turn into the same double.
std::string Number(double value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

std::string Line(const std::string& name, const ImageSize& size,
                 std::initializer_list<double> parameters) {
  std::string line = name;
  line.append(" ").append(std::to_string(size.width));
  line.append(" ").append(std::to_string(size.height));
  for (const double each : parameters) line.append(" ").append(Number(each));
  return line;
}

constexpr const char* kChanges[] = {
    "hflip",    "vflip",      "grayscale", "equalize", "autocontrast", "invert",   "brightness",
    "contrast", "saturation", "sharpness", "hue",      "solarize",     "posterize"};

struct ToText {
  ImageSize size;

  std::string operator()(const ChangeBy& change) const {
    return Line(kChanges[static_cast<int>(change.what)], size, {change.value});
  }
  std::string operator()(const RotateBy& step) const {
    const Rotation& r = step.rotation;
    const Point center = r.center.value_or(Point{0, 0});
    return Line("rotate", size,
                {r.degrees, r.canvas == Canvas::kToFit ? 1.0 : 0.0, r.center ? 1.0 : 0.0, center.x,
                 center.y}) +
           Sampled(step.sampler);
  }
  std::string operator()(const AffineBy& step) const {
    const AffineArguments& a = step.arguments;
    return Line("affine", size,
                {a.center.x, a.center.y, a.angle, a.translate.x, a.translate.y, a.scale, a.shear.x,
                 a.shear.y}) +
           Sampled(step.sampler);
  }
  std::string operator()(const PerspectiveBy& step) const {
    std::string line = Line("perspective", size, {});
    for (const PixelCorner& corner : step.end) {
      line.append(" ")
          .append(std::to_string(corner.x))
          .append(" ")
          .append(std::to_string(corner.y));
    }
    for (const double each : step.coefficients.c) line.append(" ").append(Number(each));
    return line + Sampled(step.sampler);
  }
  std::string operator()(const PadBy& step) const {
    const Padding& p = step.padding;
    const auto number = [](int32_t value) { return static_cast<double>(value); };
    return Line("pad", size,
                {number(p.left), number(p.top), number(p.right), number(p.bottom),
                 static_cast<double>(step.style.mode)}) +
           Filled(step.style.fill);
  }
  std::string operator()(const ResizeBy& step) const {
    const auto number = [](uint32_t value) { return static_cast<double>(value); };
    return Line("resize", size,
                {number(step.box.x), number(step.box.y), number(step.box.width),
                 number(step.box.height), static_cast<double>(step.sampling)});
  }
  std::string operator()(const CropAt& step) const {
    return Line("crop", size,
                {static_cast<double>(step.origin.left), static_cast<double>(step.origin.top)});
  }
  std::string operator()(const Blur& blur) const {
    return Line("blur", size,
                {static_cast<double>(blur.size_x), static_cast<double>(blur.size_y), blur.sigma_x});
  }
  std::string operator()(const MixBegin& mix) const { return Line("mix", size, {mix.weight}); }
  std::string operator()(const ChainEnd& mix) const { return Line("chain", size, {mix.weight}); }
  std::string operator()(const MixEnd&) const { return Line("mixed", size, {}); }

  static std::string Filled(const Fill& fill) {
    std::string text;
    for (const uint8_t value : fill.values) text.append(" ").append(std::to_string(value));
    return text;
  }
  static std::string Sampled(const Sampler& sampler) {
    return std::string(" ").append(std::to_string(static_cast<int>(sampler.sampling))) +
           Filled(sampler.fill);
  }
};

bool ReadDouble(std::istream& in, double* value) {
  std::string word;
  if (!(in >> word)) return false;
  *value = std::strtod(word.c_str(), nullptr);
  return true;
}

}  // namespace

bool ReadStep(std::istream& in, Step* step) {
  double numbers[10] = {};
  for (double& number : numbers) {
    if (!ReadDouble(in, &number)) return false;
  }
  step->op = static_cast<Op>(static_cast<uint32_t>(numbers[0]));
  step->children = static_cast<uint32_t>(numbers[1]);
  step->interpolation = static_cast<uint8_t>(numbers[2]);
  step->mode = static_cast<uint8_t>(numbers[3]);
  step->flags = static_cast<uint8_t>(numbers[4]);
  for (int i = 0; i < 3; ++i) step->fill.values[i] = static_cast<uint8_t>(numbers[5 + i]);
  step->probability = numbers[8];
  step->weight = numbers[9];
  for (double& argument : step->args) {
    if (!ReadDouble(in, &argument)) return false;
  }
  return true;
}

std::string TextOf(const RecipeAction& action) {
  return std::visit(ToText{action.size}, action.what);
}

}  // namespace penstock::augment
