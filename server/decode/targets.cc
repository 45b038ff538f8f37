#include "server/decode/targets.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "server/augment/recipe/targets.h"
#include "server/decode/mask.h"

namespace penstock::decode {
namespace {

using augment::BoundingBox;
using augment::ImageSize;
using augment::KeyPoint;
using base::BoxFormat;
using base::Fault;
using base::TargetKind;

constexpr size_t kBoxNumbers = 4;

std::span<float> FloatsOf(const TargetRow& target) {
  return {reinterpret_cast<float*>(target.row.data()), target.row.size() / sizeof(float)};
}

size_t RoomOf(const TargetRow& target) { return target.row.size() / target.item_bytes; }

// The items in the row. More than it has room for is nothing that a reader writes.
size_t ItemsOf(const TargetRow& target) {
  if (target.count.empty()) return RoomOf(target);
  int32_t count = 0;
  std::memcpy(&count, target.count.data(), sizeof count);
  return std::min(static_cast<size_t>(std::max(count, 0)), RoomOf(target));
}

void SetItems(const TargetRow& target, size_t items) {
  const auto count = static_cast<int32_t>(items);
  std::memcpy(target.count.data(), &count, sizeof count);
  const std::span<std::byte> rest = target.row.subspan(items * target.item_bytes);
  if (!rest.empty()) std::memset(rest.data(), 0, rest.size());
}

bool AllFinite(std::span<const float> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](float n) { return std::isfinite(n); });
}

BoundingBox ToCorners(const float* numbers, const base::TargetSpec& spec, ImageSize image) {
  const double width = spec.relative != 0 ? image.width : 1;
  const double height = spec.relative != 0 ? image.height : 1;
  double a = numbers[0] * width, b = numbers[1] * height;
  double c = numbers[2] * width, d = numbers[3] * height;
  if (spec.format == BoxFormat::kCenterAndSize) {
    a -= c / 2;
    b -= d / 2;
  }
  if (spec.format != BoxFormat::kCorners) {
    c += a;
    d += b;
  }
  return {static_cast<float>(a), static_cast<float>(b), static_cast<float>(c),
          static_cast<float>(d)};
}

bool IsKept(const BoundingBox& box, float min_side) {
  return box.right - box.left >= min_side && box.bottom - box.top >= min_side;
}

// Points count pixels: a mirrored x is width - 1 - x. So an image mirrors onto itself from -1 to
// its width, and no point is lost in one direction that would be kept in the other.
bool IsWithin(const KeyPoint& point, ImageSize image) {
  return point.x >= -1 && point.x <= static_cast<float>(image.width) && point.y >= -1 &&
         point.y <= static_cast<float>(image.height);
}

// Exchanges the points of an item that are named for their side.
void SwapSides(const base::TargetSpec& spec, size_t point_numbers, std::span<float> item) {
  const size_t points = item.size() / point_numbers;
  for (uint32_t i = 0; i < spec.pairs; ++i) {
    const size_t one = spec.pair[2 * i], other = spec.pair[2 * i + 1];
    if (one >= points || other >= points) continue;
    std::swap_ranges(item.begin() + one * point_numbers, item.begin() + (one + 1) * point_numbers,
                     item.begin() + other * point_numbers);
  }
}

bool GoesWithBoxes(const TargetRow& target) {
  return target.spec.kind == TargetKind::kWithBoxes ||
         (target.spec.kind == TargetKind::kPoints && !target.count.empty());
}

}  // namespace

// Boxes come first: they decide which items stay.
Fault TargetFiller::Fill(const ImageMoves& moves, std::span<const TargetRow> targets) {
  has_boxes_ = false;
  for (const TargetRow& target : targets) {
    if (target.spec.kind != TargetKind::kBoxes) continue;
    if (Fault fault = MoveAllBoxes(moves, target); fault != Fault::kNone) return fault;
  }
  for (const TargetRow& target : targets) {
    Fault fault = Fault::kNone;
    if (target.spec.kind == TargetKind::kMask) fault = FillMask(moves, target);
    if (target.spec.kind == TargetKind::kPoints) fault = MoveAllPoints(moves, target);
    if (fault == Fault::kNone && GoesWithBoxes(target)) fault = KeepItems(target);
    if (fault != Fault::kNone) return fault;
  }
  return Fault::kNone;
}

Fault TargetFiller::FillMask(const ImageMoves& moves, const TargetRow& target) {
  const auto fill = static_cast<uint8_t>(target.spec.fill);
  const augment::ImageView mask = runner_.Reserve(moves.before, 1);
  if (Fault fault = ReadMask(target.file, mask); fault != Fault::kNone) return fault;
  const std::vector<augment::RecipeAction> plan = augment::PlanForMask(moves.actions, fill);
  const ImageSize size = augment::SizeAfter(moves.actions, moves.before);
  const augment::ImageView row = {reinterpret_cast<uint8_t*>(target.row.data()), moves.row.width,
                                  moves.row.height, 1};
  return canvas_.Put(size, row, fill,
                     [&](const augment::ImageView& result) { runner_.Apply(plan, mask, result); });
}

Fault TargetFiller::MoveAllBoxes(const ImageMoves& moves, const TargetRow& target) {
  if (has_boxes_) return Fault::kMalformed;  // which of them would the values belong to?
  has_boxes_ = true;
  const size_t count = ItemsOf(target);
  const std::span<float> numbers = FloatsOf(target).first(kBoxNumbers * count);
  if (!AllFinite(numbers)) return Fault::kMalformed;
  boxes_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    boxes_[i] = ToCorners(&numbers[kBoxNumbers * i], target.spec, moves.before);
  }
  if (!augment::MoveBoxes(moves.actions, moves.before, boxes_)) return Fault::kUnfitSize;
  kept_.assign(count, true);
  size_t items = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!target.count.empty()) kept_[i] = IsKept(boxes_[i], target.spec.min_side);
    if (kept_[i]) std::memcpy(&numbers[kBoxNumbers * items++], &boxes_[i], sizeof(BoundingBox));
  }
  if (!target.count.empty()) SetItems(target, items);
  return Fault::kNone;
}

Fault TargetFiller::MoveAllPoints(const ImageMoves& moves, const TargetRow& target) {
  const size_t step = target.numbers, item = target.item_bytes / sizeof(float);
  const std::span<float> numbers = FloatsOf(target).first(item * ItemsOf(target));
  if (!AllFinite(numbers)) return Fault::kMalformed;
  const double width = target.spec.relative != 0 ? moves.before.width : 1;
  const double height = target.spec.relative != 0 ? moves.before.height : 1;
  points_.resize(numbers.size() / step);
  for (size_t i = 0; i < points_.size(); ++i) {
    points_[i] = {static_cast<float>(numbers[step * i] * width),
                  static_cast<float>(numbers[step * i + 1] * height)};
  }
  if (!augment::MovePoints(moves.actions, moves.before, points_)) return Fault::kUnfitSize;
  const ImageSize after = augment::SizeAfter(moves.actions, moves.before);
  for (size_t i = 0; i < points_.size(); ++i) {
    float* const to = &numbers[step * i];
    to[0] = points_[i].x;
    to[1] = points_[i].y;
    if (step == 2) continue;
    const bool is_seen = to[2] > 0 && IsWithin(points_[i], after);
    to[0] = is_seen ? std::max(to[0], 0.0f) : 0;
    to[1] = is_seen ? std::max(to[1], 0.0f) : 0;
    if (!is_seen) to[2] = 0;
  }
  if (!augment::Mirrors(moves.actions)) return Fault::kNone;
  for (size_t i = 0; i < numbers.size(); i += item) {
    SwapSides(target.spec, step, numbers.subspan(i, item));
  }
  return Fault::kNone;
}

// Without boxes there is nothing to leave with.
Fault TargetFiller::KeepItems(const TargetRow& target) const {
  if (!has_boxes_ || target.count.empty()) return Fault::kNone;
  if (ItemsOf(target) != kept_.size()) return Fault::kMalformed;
  size_t items = 0;
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (!kept_[i]) continue;
    std::byte* const rows = target.row.data();
    if (i != items) {
      std::memcpy(rows + items * target.item_bytes, rows + i * target.item_bytes,
                  target.item_bytes);
    }
    ++items;
  }
  SetItems(target, items);
  return Fault::kNone;
}

}  // namespace penstock::decode
