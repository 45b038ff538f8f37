// What annotation files say of images: the objects of each, with the same values for every object.
// Plain values; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/base/dtype.h"

namespace penstock::source {

inline constexpr uint64_t kMostAnnotationBytes = uint64_t{8} << 30;  // of a COCO file
inline constexpr uint64_t kMostNoteBytes = uint64_t{4} << 20;        // of one image's own file
inline constexpr uint64_t kMostObjects = uint64_t{1} << 28;
inline constexpr size_t kMostAnnotatedClasses = 65'536;
inline constexpr size_t kLongestClassName = 256;  // bytes
inline constexpr uint32_t kMostObjectPoints = 256;
// No object is described in fewer bytes of any of these files: a line of YOLO has ten.
inline constexpr uint64_t kSmallestObject = 8;

// A value that each object may have. The numbers are those of the wire.
enum class ObjectValue : uint32_t {
  kBoxes = 0,
  kLabels = 1,
  kArea = 2,
  kCrowd = 3,
  kId = 4,
  kKeypoints = 5,
  kDifficult = 6,
  kTruncated = 7,
};
inline constexpr uint32_t kObjectValues = 8;

// What is known of it.
struct ObjectValueFacts {
  const char* name;  // of the field
  base::DType type;
  uint32_t numbers;  // per object; 0: three per point
};
const ObjectValueFacts& FactsOf(ObjectValue what);
// `points`: per object.
uint64_t BytesOf(ObjectValue what, uint32_t points);

struct ObjectColumn {
  ObjectValue what = ObjectValue::kBoxes;
  std::vector<std::byte> values = {};  // one object after another

  template <typename Value>
  void Add(const Value& value) {
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    values.insert(values.end(), begin, begin + sizeof value);
  }
};

struct AnnotatedImage {
  int64_t id = 0;           // COCO's; else 0
  uint32_t path_bytes = 0;  // COCO's; else 0
  uint32_t objects = 0;
};
static_assert(sizeof(AnnotatedImage) == 16);

struct Annotations {
  std::vector<char> paths = {};  // one after another, as the file has them
  std::vector<AnnotatedImage> images = {};
  std::vector<ObjectColumn> columns = {};  // of the objects of all images, in their order
  std::vector<std::string> classes = {};   // COCO's; else none
  uint32_t points = 0;                     // per object, with kKeypoints
  std::vector<uint8_t> pairs = {};  // the numbers of points on the left and on the right, in turn
  std::string warning = {};         // for people: what is left out, and why

  uint64_t objects() const;
};

}  // namespace penstock::source
