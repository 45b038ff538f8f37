// Fills the rows of an image's targets: what lies in its plane, moved as the image was. Pure.
// **Thread safety**: one thread; it keeps its memory between images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/fault.h"
#include "server/augment/image.h"
#include "server/augment/recipe/plan.h"
#include "server/augment/recipe/runner.h"
#include "server/augment/warp/targets.h"
#include "server/decode/canvas.h"
#include "server/decode/core/target_row.h"

namespace penstock::decode {

// What happened to the image.
struct ImageMoves {
  augment::ImageSize before, row;
  std::span<const augment::RecipeAction> actions;
};

class TargetFiller {
 public:
  // **Requires**: `runner` outlives the filler.
  explicit TargetFiller(augment::RecipeRunner* runner) : runner_(*runner) {}

  // **Requires**: rows that hold floats are aligned for them; of boxes, items of 16 bytes.
  // **Errors**: kMalformed for a mask that is none or has another size than the image, numbers that
  // are not finite, and counts that differ; kUnfitSize if a target cannot follow; std::bad_alloc.
  // The rows are then unspecified.
  base::Fault Fill(const ImageMoves& moves, std::span<const TargetRow> targets);

 private:
  base::Fault FillMask(const ImageMoves& moves, const TargetRow& target);
  base::Fault MoveAllBoxes(const ImageMoves& moves, const TargetRow& target);
  base::Fault MoveAllPoints(const ImageMoves& moves, const TargetRow& target);
  // Removes the items whose boxes are gone.
  base::Fault KeepItems(const TargetRow& target) const;

  augment::RecipeRunner& runner_;
  RowCanvas canvas_;
  std::vector<augment::BoundingBox> boxes_;
  std::vector<augment::KeyPoint> points_;
  std::vector<bool> kept_;  // of the boxes
  bool has_boxes_ = false;
};

}  // namespace penstock::decode
