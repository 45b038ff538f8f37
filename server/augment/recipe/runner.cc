#include "server/augment/recipe/runner.h"

#include <cstring>

#include "common/base/check.h"
#include "server/augment/color/enhance.h"
#include "server/augment/color/tables.h"
#include "server/augment/warp/flip.h"
#include "server/augment/warp/transform.h"

namespace penstock::augment {
namespace {

void ApplyChange(const ChangeBy& change, const ImageView& image, Scratch& scratch) {
  switch (change.what) {
    case PixelChange::kFlipHorizontal:
      return FlipHorizontal(image, scratch);
    case PixelChange::kFlipVertical:
      return FlipVertical(image, scratch);
    case PixelChange::kGrayscale:
      return Grayscale(image);
    case PixelChange::kEqualize:
      return Equalize(image);
    case PixelChange::kAutocontrast:
      return AutoContrast(image);
    case PixelChange::kInvert:
      return Invert(image);
    case PixelChange::kBrightness:
      return Brightness(image, change.value);
    case PixelChange::kContrast:
      return Contrast(image, change.value);
    case PixelChange::kSaturation:
      return Saturation(image, change.value);
    case PixelChange::kSharpness:
      return Sharpness(image, change.value, scratch);
    case PixelChange::kHue:
      return Hue(image, change.value);
    case PixelChange::kSolarize:
      return Solarize(image, change.value);
    case PixelChange::kPosterize:
      return Posterize(image, static_cast<int>(change.value));
  }
}

}  // namespace

// One run: the current image, and where the next one goes.
class Application {
 public:
  Application(RecipeRunner& runner, const ImageView& image, const ImageView& row)
      : runner_(runner), scratch_(runner.scratch_), given_(image), row_(row), now_(image) {}

  void Run(const std::vector<RecipeAction>& actions) {
    for (const RecipeAction& action : actions) {
      next_size_ = action.size;
      std::visit(*this, action.what);
    }
    PENSTOCK_CHECK(now_.width == row_.width && now_.height == row_.height);
    if (now_.data != row_.data) memcpy(row_.data, now_.data, row_.bytes());
  }

  void operator()(const ChangeBy& change) { ApplyChange(change, now_, scratch_); }
  void operator()(const Blur& blur) { GaussianBlur(now_, blur, scratch_); }

  void operator()(const RotateBy& step) {
    const RotationPlan plan = PlanRotation({now_.width, now_.height}, step.rotation);
    if (plan.kind == RotationKind::kCopy) return;
    const ImageView next = Next();
    Rotate(now_, next, plan, step.sampler, scratch_);
    now_ = next;
  }

  void operator()(const AffineBy& step) {
    const ImageView next = Next();
    Affine(now_, next, InverseAffineMatrix(step.arguments), step.sampler, scratch_);
    now_ = next;
  }

  void operator()(const PerspectiveBy& step) {
    const ImageView next = Next();
    Perspective(now_, next, step.coefficients, step.sampler);
    now_ = next;
  }

  void operator()(const PadBy& step) {
    const ImageView next = Next();
    Pad(now_, next, step.padding, step.style, scratch_);
    now_ = next;
  }

  void operator()(const ResizeBy& step) {
    PENSTOCK_CHECK(runner_.resizer_ != nullptr);
    const ImageView next = Next();
    runner_.resizer_->Resize(now_, step.box, next, step.sampling);
    now_ = next;
  }

  void operator()(const CropAt& step) {
    const ImageView next = Next();
    Crop(now_, next, step.origin);
    now_ = next;
  }

  // Floats, each rounded after its product and after its sum, and cut at the end.
  void operator()(const MixBegin& mix) {
    runner_.original_.assign(now_.data, now_.data + now_.bytes());
    runner_.mix_.resize(now_.bytes());
    const uint8_t* const in = now_.data;
    float* const sums = runner_.mix_.data();
    for (size_t i = 0; i < now_.bytes(); ++i) sums[i] = mix.weight * static_cast<float>(in[i]);
  }

  void operator()(const ChainEnd& chain) {
    const uint8_t* const in = now_.data;
    float* const sums = runner_.mix_.data();
    for (size_t i = 0; i < now_.bytes(); ++i) sums[i] += chain.weight * static_cast<float>(in[i]);
    memcpy(now_.data, runner_.original_.data(), now_.bytes());
  }

  void operator()(const MixEnd&) {
    const float* const sums = runner_.mix_.data();
    for (size_t i = 0; i < now_.bytes(); ++i) {
      now_.data[i] = static_cast<uint8_t>(static_cast<int>(sums[i]));
    }
  }

 private:
  // Memory for the next image: the row or the given image where the size fits, else a spare.
  ImageView Next() {
    const ImageView next = {nullptr, next_size_.width, next_size_.height, now_.channels};
    for (const ImageView* known : {&row_, &given_}) {
      if (known->bytes() == next.bytes() && known->data != now_.data) return At(known->data, next);
    }
    base::AlignedBuffer& spare = runner_.spare_[now_.data == runner_.spare_[0].data() ? 1 : 0];
    spare.Reserve(next.bytes());
    return At(spare.data(), next);
  }

  static ImageView At(uint8_t* data, ImageView view) {
    view.data = data;
    return view;
  }

  RecipeRunner& runner_;
  Scratch& scratch_;
  const ImageView given_, row_;
  ImageView now_;
  ImageSize next_size_ = {};
};

RecipeOutcome RecipeRunner::Run(const TransformRecipe& recipe, const base::DrawSource& source,
                                const ImageView& image, const ImageView& row) {
  const RecipeOutcome outcome =
      MakePlan(recipe, source, {image.width, image.height}, limits_, &actions_);
  if (outcome == RecipeOutcome::kDone) Apply(actions_, image, row);
  return outcome;
}

void RecipeRunner::Apply(const std::vector<RecipeAction>& actions, const ImageView& image,
                         const ImageView& row) {
  Application(*this, image, row).Run(actions);
}

ImageView RecipeRunner::Reserve(ImageSize size, uint32_t channels) {
  const ImageView image = {nullptr, size.width, size.height, channels};
  loaded_.Reserve(image.bytes());
  return {loaded_.data(), size.width, size.height, channels};
}

}  // namespace penstock::augment
