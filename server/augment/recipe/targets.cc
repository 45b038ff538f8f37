#include "server/augment/recipe/targets.h"

#include <algorithm>

namespace penstock::augment {
namespace {

// ---- Masks ----

// Whether an action moves pixels. AugMix is refused with targets.
struct Moves {
  bool operator()(const ChangeBy& change) const {
    return change.what == PixelChange::kFlipHorizontal || change.what == PixelChange::kFlipVertical;
  }
  bool operator()(const Blur&) const { return false; }
  bool operator()(const MixBegin&) const { return false; }
  bool operator()(const ChainEnd&) const { return false; }
  bool operator()(const MixEnd&) const { return false; }
  template <typename Geometry>
  bool operator()(const Geometry&) const {
    return true;
  }
};

struct ReadNearest {
  Fill fill;

  template <typename Sampled>
  requires requires(Sampled& action) { action.sampler; }
  void operator()(Sampled& action) const { action.sampler = {Sampling::kNearest, fill}; }
  void operator()(PadBy& action) const { action.style.fill = fill; }
  void operator()(ResizeBy& action) const { action.sampling = Sampling::kNearest; }
  void operator()(ChangeBy&) const {}
  void operator()(CropAt&) const {}
  void operator()(Blur&) const {}
  void operator()(MixBegin&) const {}
  void operator()(ChainEnd&) const {}
  void operator()(MixEnd&) const {}
};

// ---- Boxes and points ----

void CropTo(std::span<BoundingBox> boxes, CropOrigin origin, ImageSize size) {
  Crop(boxes, origin, size);
}
void CropTo(std::span<KeyPoint> points, CropOrigin origin, ImageSize) { Crop(points, origin); }

template <typename Matrix>
void MapTo(std::span<BoundingBox> boxes, const Matrix& forward, ImageSize size) {
  Map(boxes, forward, size);
}
template <typename Matrix>
void MapTo(std::span<KeyPoint> points, const Matrix& forward, ImageSize) {
  Map(points, forward);
}

void Scale(BoundingBox& box, double x, double y) {
  box = {static_cast<float>(box.left * x), static_cast<float>(box.top * y),
         static_cast<float>(box.right * x), static_cast<float>(box.bottom * y)};
}
void Scale(KeyPoint& point, double x, double y) {
  point = {static_cast<float>(point.x * x), static_cast<float>(point.y * y)};
}

// Moves boxes or points through one action after another.
template <typename Item>
class Mover {
 public:
  Mover(ImageSize before, std::span<Item> items) : size_(before), items_(items) {}

  bool Move(std::span<const RecipeAction> actions) {
    for (const RecipeAction& action : actions) {
      next_ = action.size;
      std::visit(*this, action.what);
      size_ = next_;
    }
    return possible_;
  }

  void operator()(const ChangeBy& change) {
    if (change.what == PixelChange::kFlipHorizontal) FlipHorizontal(items_, size_);
    if (change.what == PixelChange::kFlipVertical) FlipVertical(items_, size_);
  }
  void operator()(const RotateBy& step) {
    MapTo(items_, ForwardRotation(size_, step.rotation), next_);
  }
  void operator()(const AffineBy& step) {
    MapTo(items_, ForwardAffineMatrix(step.arguments), next_);
  }
  void operator()(const PerspectiveBy& step) {
    const auto forward = Inverse(step.coefficients);
    possible_ = possible_ && forward.has_value();
    if (forward) MapTo(items_, *forward, next_);
  }
  void operator()(const PadBy& step) {
    CropTo(items_, {-int64_t{step.padding.left}, -int64_t{step.padding.top}}, next_);
  }
  void operator()(const CropAt& step) { CropTo(items_, step.origin, next_); }
  void operator()(const ResizeBy& step) {
    CropTo(items_, {step.box.x, step.box.y}, {step.box.width, step.box.height});
    const double width = next_.width, height = next_.height;

    for (Item& item : items_) Scale(item, width / step.box.width, height / step.box.height);
  }
  void operator()(const Blur&) {}
  void operator()(const MixBegin&) {}
  void operator()(const ChainEnd&) {}
  void operator()(const MixEnd&) {}

 private:
  ImageSize size_, next_ = {};
  const std::span<Item> items_;
  bool possible_ = true;
};

}  // namespace

std::vector<RecipeAction> PlanForMask(std::span<const RecipeAction> actions, uint8_t fill) {
  std::vector<RecipeAction> plan;
  for (const RecipeAction& action : actions) {
    if (!std::visit(Moves{}, action.what)) continue;
    plan.push_back(action);
    std::visit(ReadNearest{{{fill, fill, fill}}}, plan.back().what);
  }
  return plan;
}

bool MoveBoxes(std::span<const RecipeAction> actions, ImageSize before,
               std::span<BoundingBox> boxes) {
  Crop(boxes, {0, 0}, before);  // clips
  return Mover(before, boxes).Move(actions);
}

bool MovePoints(std::span<const RecipeAction> actions, ImageSize before,
                std::span<KeyPoint> points) {
  return Mover(before, points).Move(actions);
}

bool Mirrors(std::span<const RecipeAction> actions) {
  return std::count_if(actions.begin(), actions.end(),
                       [](const RecipeAction& action) {
                         const auto* change = std::get_if<ChangeBy>(&action.what);
                         return change != nullptr && change->what == PixelChange::kFlipHorizontal;
                       }) %
             2 ==
         1;
}

ImageSize SizeAfter(std::span<const RecipeAction> actions, ImageSize before) {
  return actions.empty() ? before : actions.back().size;
}

}  // namespace penstock::augment
