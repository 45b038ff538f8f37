#include "server/indexer/wire/annotations.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "common/base/target.h"
#include "server/indexer/wire/results.h"
#include "server/indexer/wire/take_records.h"
#include "server/source/files/python_order.h"
#include "server/source/lists/scanned_list.h"

namespace penstock::indexer {
namespace {

using source::AnnotatedImage;
using source::Annotations;
using source::ObjectColumn;
using source::ObjectValue;

struct AnnotationsHead {
  uint64_t images = 0, path_bytes = 0, objects = 0;
  uint32_t columns = 0, classes = 0, points = 0, pair_bytes = 0;
};

constexpr uint64_t kSmallestImage = 20;  // bytes of a COCO file

// What an honest answer can have.
absl::Status CheckHead(const AnnotationsHead& head, uint64_t file_bytes, uint64_t notes) {
  const uint64_t most_images = notes > 0 ? notes : file_bytes / kSmallestImage;
  if (head.images > most_images || head.path_bytes > file_bytes ||
      head.objects > file_bytes / source::kSmallestObject)
    return Lie("more than the file can hold");
  if (head.columns > source::kObjectValues || head.classes > source::kMostAnnotatedClasses ||
      head.points > source::kMostObjectPoints ||
      head.pair_bytes > 2 * uint64_t{base::kMostPointPairs})
    return Lie("too many columns, classes or points");
  return absl::OkStatus();
}

absl::Status TakeClassNames(AnswerSource& source, uint64_t count, AnswerMemory& memory,
                            std::vector<std::string>& classes) {
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t bytes = 0;
    PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, bytes));
    if (bytes > source::kLongestClassName) return Lie("a class whose name is too long");
    PENSTOCK_RETURN_IF_ERROR(memory.Take(sizeof(std::string) + bytes));
    std::string& name = classes.emplace_back(bytes, '\0');
    PENSTOCK_RETURN_IF_ERROR(source.Take(std::as_writable_bytes(std::span(name))));
  }
  return absl::OkStatus();
}

absl::Status TakeObjects(AnswerSource& source, const AnnotationsHead& head, AnswerMemory& memory,
                         std::vector<ObjectColumn>& columns) {
  for (uint32_t i = 0; i < head.columns; ++i) {
    uint32_t what = 0;
    PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, what));
    if (what >= source::kObjectValues) return Lie("an unknown value of objects");
    ObjectColumn& column = columns.emplace_back();
    column.what = static_cast<ObjectValue>(what);
    const uint64_t bytes = head.objects * source::BytesOf(column.what, head.points);
    PENSTOCK_RETURN_IF_ERROR(TakeRecords(source, bytes, bytes, memory, column.values));
  }
  return absl::OkStatus();
}

absl::Status CheckImages(const Annotations& all, uint64_t notes) {
  uint64_t bytes = 0;
  for (const AnnotatedImage& image : all.images) {
    const bool has_path = image.path_bytes > 0 && image.path_bytes <= source::kLongestListPath;
    if (notes > 0 ? image.path_bytes != 0 : !has_path)
      return Lie("a path that is empty or too long");
    bytes += image.path_bytes;
  }
  if (all.images.empty() || (notes > 0 && all.images.size() != notes))
    return Lie("another number of images");
  if (bytes != all.paths.size()) return Lie("paths of another length");
  if (!all.paths.empty() && std::memchr(all.paths.data(), '\0', all.paths.size()) != nullptr)
    return Lie("a path with a NUL byte");
  return absl::OkStatus();
}

template <typename Value, typename IsGood>
bool AllAre(const std::vector<std::byte>& values, const IsGood& is_good) {
  for (size_t at = 0; at < values.size(); at += sizeof(Value)) {
    Value value;
    std::memcpy(&value, values.data() + at, sizeof value);
    if (!is_good(value)) return false;
  }
  return true;
}

bool AreGood(const ObjectColumn& column) {
  switch (column.what) {
    case ObjectValue::kBoxes:
    case ObjectValue::kArea:
    case ObjectValue::kKeypoints:
      return AllAre<float>(column.values, [](float value) { return std::isfinite(value); });
    case ObjectValue::kDifficult:
    case ObjectValue::kTruncated:
      return AllAre<uint8_t>(column.values, [](uint8_t value) { return value <= 1; });
    case ObjectValue::kCrowd:
      return AllAre<int64_t>(column.values, [](int64_t value) { return value == 0 || value == 1; });
    case ObjectValue::kLabels:
    case ObjectValue::kId:
      return true;
  }
  return false;
}

absl::Status CheckColumns(const Annotations& all) {
  uint32_t seen = 0;
  const uint64_t objects = all.objects();
  for (const ObjectColumn& column : all.columns) {
    const uint32_t bit = 1u << static_cast<uint32_t>(column.what);
    if ((seen & bit) != 0) return Lie("a value of objects twice");
    seen |= bit;
    if (column.values.size() != objects * source::BytesOf(column.what, all.points))
      return Lie("values of another number of objects");
    if (!AreGood(column)) return Lie("a value of an object that cannot be");
  }
  const bool has_points = (seen >> static_cast<uint32_t>(ObjectValue::kKeypoints) & 1) != 0;
  if ((seen & 3) != 3 || has_points != (all.points > 0)) return Lie("other values of objects");
  return absl::OkStatus();
}

}  // namespace

absl::Status PutAnnotations(AnswerSink& sink, const Annotations& all) {
  PENSTOCK_RETURN_IF_ERROR(
      PutRecord(sink, AnnotationsHead{.images = all.images.size(),
                                      .path_bytes = all.paths.size(),
                                      .objects = all.objects(),
                                      .columns = static_cast<uint32_t>(all.columns.size()),
                                      .classes = static_cast<uint32_t>(all.classes.size()),
                                      .points = all.points,
                                      .pair_bytes = static_cast<uint32_t>(all.pairs.size())}));
  PENSTOCK_RETURN_IF_ERROR(PutText(sink, all.warning));
  PENSTOCK_RETURN_IF_ERROR(sink.Put(std::as_bytes(std::span(all.images))));
  PENSTOCK_RETURN_IF_ERROR(sink.Put(std::as_bytes(std::span(all.paths))));
  PENSTOCK_RETURN_IF_ERROR(sink.Put(std::as_bytes(std::span(all.pairs))));
  for (const std::string& name : all.classes) {
    PENSTOCK_RETURN_IF_ERROR(PutRecord(sink, static_cast<uint32_t>(name.size())));
    PENSTOCK_RETURN_IF_ERROR(sink.Put(std::as_bytes(std::span(name))));
  }
  for (const ObjectColumn& column : all.columns) {
    PENSTOCK_RETURN_IF_ERROR(PutRecord(sink, static_cast<uint32_t>(column.what)));
    PENSTOCK_RETURN_IF_ERROR(sink.Put(column.values));
  }
  return absl::OkStatus();
}

absl::StatusOr<Annotations> TakeAnnotations(AnswerSource& source, uint64_t file_bytes,
                                            uint64_t notes, AnswerMemory& memory) {
  AnnotationsHead head;
  PENSTOCK_RETURN_IF_ERROR(TakeRecord(source, head));
  PENSTOCK_RETURN_IF_ERROR(CheckHead(head, file_bytes, notes));
  Annotations all = {.points = head.points};
  PENSTOCK_ASSIGN_OR_RETURN(all.warning, TakeText(source));
  PENSTOCK_RETURN_IF_ERROR(TakeRecords(source, head.images, head.images, memory, all.images));
  PENSTOCK_RETURN_IF_ERROR(
      TakeRecords(source, head.path_bytes, head.path_bytes, memory, all.paths));
  PENSTOCK_RETURN_IF_ERROR(
      TakeRecords(source, head.pair_bytes, head.pair_bytes, memory, all.pairs));
  PENSTOCK_RETURN_IF_ERROR(TakeClassNames(source, head.classes, memory, all.classes));
  PENSTOCK_RETURN_IF_ERROR(TakeObjects(source, head, memory, all.columns));
  if (all.objects() != head.objects) return Lie("another number of objects");
  return all;
}

absl::Status CheckAnnotations(const Annotations& all, uint64_t notes) {
  PENSTOCK_RETURN_IF_ERROR(CheckImages(all, notes));
  PENSTOCK_RETURN_IF_ERROR(CheckColumns(all));
  for (const std::string& name : all.classes)
    if (!source::IsUtf8(name)) return Lie("a class whose name is not UTF-8");
  if (all.pairs.size() % 2 != 0) return Lie("half a pair of points");
  for (const uint8_t point : all.pairs)
    if (point >= all.points) return Lie("a pair of points that are none");
  return absl::OkStatus();
}

}  // namespace penstock::indexer
